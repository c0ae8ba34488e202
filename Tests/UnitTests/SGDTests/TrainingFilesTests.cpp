// Names of models and checkpoints, the make mode table, obsolete checkpoints.
#include "SGD/TrainingFiles.h"
#include "SGDTests/TrainingFixture.h"

#include <filesystem>
#include <fstream>

namespace cntk
{

namespace
{

class TrainingFilesTest : public TrainingTest
{
protected:
    // age: in seconds before now.
    void Touch(const std::string& name, int age)
    {
        std::ofstream(Path(name)) << "x";
        std::filesystem::last_write_time(Path(name),
                                         std::filesystem::file_time_type::clock::now() - std::chrono::seconds(age));
    }
    TrainingFiles m_files{Path("m.dnn"), 4};
};

} // namespace

TEST_F(TrainingFilesTest, ModelsCarryTheNumberOfEpochsAndTheLastNone)
{
    EXPECT_EQ(m_files.Model(0), Path("m.dnn.0"));
    EXPECT_EQ(m_files.Model(3), Path("m.dnn.3"));
    EXPECT_EQ(m_files.Model(4), Path("m.dnn"));
    EXPECT_EQ(m_files.Checkpoint(3), Path("m.dnn.3.ckp"));
    EXPECT_EQ(m_files.Checkpoint(4), Path("m.dnn.ckp"));
}

TEST_F(TrainingFilesTest, NothingThereNothingToResume)
{
    EXPECT_EQ(m_files.FindResumePoint(), std::nullopt);
}

TEST_F(TrainingFilesTest, TheNewestOfARisingSeriesIsTaken)
{
    Touch("m.dnn.0", 30);
    EXPECT_EQ(m_files.FindResumePoint(), 0u);
    Touch("m.dnn.1", 20);
    Touch("m.dnn.2", 10);
    EXPECT_EQ(m_files.FindResumePoint(), 2u);
    EXPECT_EQ(m_files.FindResumePoint(1), 1u);
    Touch("m.dnn.3", 5);
    Touch("m.dnn", 1);
    EXPECT_EQ(m_files.FindResumePoint(), 4u);
}

TEST_F(TrainingFilesTest, AModelOlderThanTheOneBeforeItIsPassedOver)
{
    Touch("m.dnn.0", 40);
    Touch("m.dnn.1", 30);
    Touch("m.dnn.2", 50);
    EXPECT_EQ(m_files.FindResumePoint(), 1u);
}

TEST_F(TrainingFilesTest, AMissingModelBeforeItCountsAsFine)
{
    Touch("m.dnn", 1000);
    EXPECT_EQ(m_files.FindResumePoint(), 4u);
}

TEST_F(TrainingFilesTest, OnlyTheLatestCheckpointStays)
{
    EXPECT_TRUE(m_files.ObsoleteCheckpoints(1, 1).empty());
    EXPECT_EQ(m_files.ObsoleteCheckpoints(2, 1), std::vector<std::string>{Path("m.dnn.1.ckp")});
    EXPECT_EQ(m_files.ObsoleteCheckpoints(4, 1), std::vector<std::string>{Path("m.dnn.3.ckp")});
}

TEST_F(TrainingFilesTest, TheCheckpointOfTheLastLookStaysUntilTheNext)
{
    const TrainingFiles files(Path("m.dnn"), 9);
    EXPECT_TRUE(files.ObsoleteCheckpoints(1, 3).empty());
    EXPECT_EQ(files.ObsoleteCheckpoints(2, 3), std::vector<std::string>{Path("m.dnn.1.ckp")});
    EXPECT_EQ(files.ObsoleteCheckpoints(3, 3), std::vector<std::string>{Path("m.dnn.2.ckp")});
    EXPECT_TRUE(files.ObsoleteCheckpoints(4, 3).empty());
    EXPECT_EQ(files.ObsoleteCheckpoints(6, 3), (std::vector<std::string>{Path("m.dnn.5.ckp"), Path("m.dnn.3.ckp")}));
}

} // namespace cntk
