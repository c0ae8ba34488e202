// Tables and pictures of confusion matrices, and the file of predictions.
#include "Report/Confusion.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

namespace cntk
{

namespace
{

using testing::HasSubstr;
using testing::Not;

ConfusionCounts ThreeClasses()
{
    ConfusionCounts counts("err", 3, {"a,b", "<c>"}); // the third has no name
    for (int i = 0; i < 8; ++i)
        counts.Add(0, 0);
    counts.Add(0, 1);
    counts.Add(0, 1);
    counts.Add(1, 1);
    return counts;
}

ConfusionCounts ManyClasses(size_t classes)
{
    ConfusionCounts counts("err", classes, {});
    for (size_t i = 0; i < classes; ++i)
        for (size_t n = 0; n <= i % 7; ++n)
            counts.Add(i, (i + 1) % classes);
    return counts;
}

} // namespace

TEST(ConfusionTest, MeasuresOfClasses)
{
    const ConfusionCounts counts = ThreeClasses();
    EXPECT_EQ(counts.Samples(), 11u);
    EXPECT_EQ(counts.Correct(), 9u);
    EXPECT_DOUBLE_EQ(*counts.Recall(0), 0.8);
    EXPECT_DOUBLE_EQ(*counts.Precision(1), 1.0 / 3);
    EXPECT_DOUBLE_EQ(*counts.F1(0), 16.0 / 18);
    EXPECT_FALSE(counts.Recall(2));
    EXPECT_FALSE(counts.Precision(2));
    EXPECT_FALSE(counts.F1(2));
    const std::vector<ConfusionCounts::Pair> errors = counts.MostFrequentErrors(5);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0], (ConfusionCounts::Pair{0, 1, 2}));
}

TEST(ConfusionTest, TableHasALineForEachLabel)
{
    EXPECT_EQ(ConfusionCsv(ThreeClasses()), "label,\"a,b\",<c>,2,samples,precision,recall,F1\n"
                                            "\"a,b\",8,2,0,10,1,0.8,0.8888888888888888\n"
                                            "<c>,0,1,0,1,0.3333333333333333,1,0.5\n"
                                            "2,0,0,0,0,,,\n");
}

TEST(ConfusionTest, TableOfManyClassesListsErrors)
{
    const std::string table = ConfusionCsv(ManyClasses(300));
    EXPECT_THAT(table, testing::StartsWith("label,predicted,samples\n6,7,7\n13,14,7\n"));
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 301);
}

TEST(ConfusionTest, HeatMapNamesAxesAndClasses)
{
    const std::string picture = ConfusionPicture(ThreeClasses()).File();
    for (const char* const text : {">predicted class<", ">label<", ">a,b<", ">&lt;c&gt;<", ">8<", ">precision<",
                                   ">recall<", ">F1<", "9 of 11 samples right, accuracy 81.8 %"})
        EXPECT_THAT(picture, HasSubstr(text));
    EXPECT_THAT(picture, Not(HasSubstr("<c>")));
}

TEST(ConfusionTest, PictureOfManyClassesListsErrorsAndWorstClasses)
{
    const std::string picture = ConfusionPicture(ManyClasses(51)).File();
    EXPECT_THAT(picture, HasSubstr("most frequent errors"));
    EXPECT_THAT(picture, HasSubstr(">6 → 7<"));
    EXPECT_THAT(ConfusionPicture(ManyClasses(50)).File(), Not(HasSubstr("most frequent errors")));
}

TEST(ConfusionTest, PredictionsAreNumberedAndNamed)
{
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "predictions.csv";
    const ConfusionCounts counts = ThreeClasses();
    {
        PredictionsFile file(path, counts);
        file.Add({.label = 0, .predicted = 1, .probability = 0.75, .sequence = "utt,1"});
        file.Add({.label = 2, .predicted = 2, .probability = 1, .sequence = "utt2"});
        EXPECT_FALSE(std::filesystem::exists(path));
        file.Commit();
    }
    std::ifstream stream(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "record,label,predicted,probability,sequence\n"
                                                                       "1,\"a,b\",<c>,0.75,\"utt,1\"\n"
                                                                       "2,2,2,1,utt2\n");
    std::filesystem::remove(path);
}

} // namespace cntk
