// Curves: axes, ticks, gaps, thinning.
#include "Report/CurvePicture.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

size_t CountOf(const std::string& text, const std::string& part)
{
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

} // namespace

TEST(CurvePictureTest, TicksAreRound)
{
    EXPECT_THAT(Ticks(0, 1), ElementsAre(0, 0.2, 0.4, 0.6000000000000001, 0.8, 1));
    EXPECT_THAT(Ticks(1, 500), ElementsAre(100, 200, 300, 400, 500));
    EXPECT_THAT(Ticks(-3, 4), ElementsAre(-2, 0, 2, 4));
    EXPECT_THAT(LogarithmicTicks(0.001, 1), testing::SizeIs(10)); // 1, 2 and 5 times each power
    EXPECT_THAT(LogarithmicTicks(1e-8, 1), testing::SizeIs(9));
}

TEST(CurvePictureTest, NamesAxesAndCurves)
{
    const std::string picture =
        CurvePicture({"Train: <ce>", "epoch", "ce per sample", false},
                     {{"training", {{1, 0.5}, {2, 0.25}}, false}, {"validation", {{1, 0.6}, {2, 0.3}}, true}})
            .File();
    for (const char* const text : {">epoch<", ">ce per sample<", ">Train: &lt;ce&gt;<", ">training<", ">validation<"})
        EXPECT_THAT(picture, HasSubstr(text));
    EXPECT_EQ(CountOf(picture, "<circle"), 4u);
    EXPECT_EQ(CountOf(picture, "stroke-dasharray"), 2u); // the second curve, and its legend
}

TEST(CurvePictureTest, NotANumberLeavesAGap)
{
    const double nan = std::nan("");
    const std::string picture =
        CurvePicture({"t", "x", "y", false}, {{"a", {{1, 1}, {2, 2}, {3, nan}, {4, 1}, {5, 2}}, false}}).Element();
    EXPECT_EQ(CountOf(picture, "<polyline"), 3u); // two stretches and the legend
    EXPECT_THAT(picture, Not(HasSubstr("nan")));
    // All values missing: axes alone.
    EXPECT_THAT(CurvePicture({"t", "x", "y", true}, {{"a", {{1, nan}}, false}}).Element(), Not(HasSubstr("nan")));
}

TEST(CurvePictureTest, ThinningKeepsLowestAndHighest)
{
    std::vector<std::pair<double, double>> points;
    for (int i = 0; i < 10'000; ++i)
        points.emplace_back(i, i == 4321 ? 99 : i == 7777 ? -99 : std::sin(i));
    const auto thinned = Thinned(points, 2000);
    EXPECT_LE(thinned.size(), 2000u);
    EXPECT_TRUE(std::is_sorted(thinned.begin(), thinned.end()));
    EXPECT_THAT(thinned, testing::Contains(std::pair<double, double>(4321, 99)));
    EXPECT_THAT(thinned, testing::Contains(std::pair<double, double>(7777, -99)));
    EXPECT_EQ(Thinned({{1, 2}}, 2000).size(), 1u);
}

} // namespace cntk
