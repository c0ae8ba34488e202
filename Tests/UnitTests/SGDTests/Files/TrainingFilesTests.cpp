// Names of models and checkpoints, the make mode table, obsolete checkpoints.
#include "Common/File.h"
#include "CommonTests/ThrownErrors.h"
#include "SGD/Files/TrainingFiles.h"
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

TEST_F(TrainingFilesTest, AnyNumberOfEpochsMayBeAskedFor)
{
    const size_t many = size_t(1) << 60;
    const TrainingFiles files(Path("m.dnn"), many);
    EXPECT_FALSE(files.FindResumePoint(many));
    Touch("m.dnn.0", 30);
    Touch("m.dnn.2", 20);
    Touch("m.dnn.3.ckp", 10);
    Touch("m.dnn.best", 5);
    EXPECT_EQ(files.FindResumePoint(many), 2u);
    EXPECT_EQ(files.FindResumePoint(1), 0u);
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

TEST_F(TrainingFilesTest, TheLatestTwoCheckpointsStayAndOneAtTheEnd)
{
    EXPECT_TRUE(m_files.ObsoleteCheckpoints(1, 1, false).empty());
    EXPECT_TRUE(m_files.ObsoleteCheckpoints(2, 1, false).empty());
    EXPECT_EQ(m_files.ObsoleteCheckpoints(3, 1, false), std::vector<std::string>{Path("m.dnn.1.ckp")});
    EXPECT_EQ(m_files.ObsoleteCheckpoints(3, 1, true),
              (std::vector<std::string>{Path("m.dnn.1.ckp"), Path("m.dnn.2.ckp")}));
    EXPECT_EQ(m_files.ObsoleteCheckpoints(4, 1, true),
              (std::vector<std::string>{Path("m.dnn.1.ckp"), Path("m.dnn.2.ckp"), Path("m.dnn.3.ckp")}));
}

TEST_F(TrainingFilesTest, TheCheckpointOfTheLastLookStaysUntilTheNext)
{
    const TrainingFiles files(Path("m.dnn"), 9);
    const auto stays = [&](size_t epochs, size_t epochsDone, bool isOver)
    {
        const auto obsolete = files.ObsoleteCheckpoints(epochsDone, 3, isOver);
        return std::find(obsolete.begin(), obsolete.end(), files.Checkpoint(epochs)) == obsolete.end();
    };
    // Resumed after epoch 5 (6 being damaged), epoch 6 may go back to 3.
    EXPECT_TRUE(stays(3, 4, false));
    EXPECT_TRUE(stays(3, 5, false));
    EXPECT_TRUE(stays(3, 6, false));
    EXPECT_TRUE(stays(5, 6, false));
    EXPECT_FALSE(stays(4, 6, false));
    EXPECT_TRUE(stays(6, 7, false));
    EXPECT_FALSE(stays(3, 7, false));
    EXPECT_FALSE(stays(5, 7, false));
    EXPECT_TRUE(stays(6, 8, true));
    EXPECT_FALSE(stays(7, 8, true));
    EXPECT_FALSE(stays(6, 9, true));
}

TEST_F(TrainingFilesTest, TheNewestCheckpointIsTheFinalModelsOrThatOfTheMostEpochs)
{
    EXPECT_EQ(m_files.NewestCheckpoint(), std::nullopt);
    for (const char* other : {"m.dnn.3", "m.dnn.3.ckp.tmp", "m.dnn.2.at7.ckp", "m.dnn.03.ckp", "n.dnn.3.ckp", "m.dnn"})
        Touch(other, 1);
    EXPECT_EQ(m_files.NewestCheckpoint(), std::nullopt);
    Touch("m.dnn.1.ckp", 2);
    Touch("m.dnn.2.ckp", 3);
    EXPECT_EQ(m_files.NewestCheckpoint(), 2u);
    Touch("m.dnn.ckp", 4);
    EXPECT_EQ(m_files.NewestCheckpoint(), 4u);
}

TEST_F(TrainingFilesTest, TemporariesOfThisTrainingAndNoOthersAreStale)
{
    for (const char* name : {"m.dnn.tmp", "m.dnn.ckp.tmp", "m.dnn.0.tmp", "m.dnn.34.ckp.tmp", "m.dnn.best.tmp"})
        Touch(name, 1);
    for (const char* name : {"m.dnn", "m.dnn.3", "m.dnn.ckp", "xm.dnn.tmp", "m.dnn2.tmp", "m.dnn.x.tmp", "m.dnn..tmp",
                             "m.dnn.03.tmp", "m.dnn.3.x.tmp", "m.dnn.3.tmp.tmp"})
        Touch(name, 1);
    std::filesystem::create_directory(Path("m.dnn.7.tmp"));
    auto stale = m_files.StaleTemporaries();
    std::sort(stale.begin(), stale.end());
    EXPECT_EQ(stale, (std::vector<std::string>{Path("m.dnn.0.tmp"), Path("m.dnn.34.ckp.tmp"), Path("m.dnn.best.tmp"),
                                               Path("m.dnn.ckp.tmp"), Path("m.dnn.tmp")}));
    EXPECT_TRUE(TrainingFiles(Path("gone/m.dnn"), 4).StaleTemporaries().empty());
}

TEST_F(TrainingFilesTest, PointsAreOrderedAndMovedAsideUnderNewNames)
{
    const WithinEpochPoint early{2, 10}, late{2, 500}, before{1, 900};
    EXPECT_EQ(m_files.Model(late), Path("m.dnn.2.at500"));
    EXPECT_EQ(m_files.Checkpoint(late), Path("m.dnn.2.at500.ckp"));
    int age = 20;
    for (const char* name : {"m.dnn.1.at900", "m.dnn.2", "m.dnn.2.at10", "m.dnn.2.at500"})
        for (const char* suffix : {"", ".ckp"})
            Touch(std::string(name) + suffix, age--);
    for (const char* name : {"m.dnn.2.at", "m.dnn.2.at04", "m.dnn.2.trial3.at500", "m.dnn.2.at500.old"})
        Touch(name, 1);
    EXPECT_EQ(m_files.WithinEpochPoints(), (std::vector<WithinEpochPoint>{late, early, before}));
    EXPECT_TRUE(m_files.IsUsable(late));
    // A training that resumes after two epochs is not past any point of the third one.
    EXPECT_TRUE(m_files.IsOutlived(before, 2, std::nullopt));
    EXPECT_FALSE(m_files.IsOutlived(early, 2, std::nullopt));
    EXPECT_TRUE(m_files.IsOutlived(early, 2, late));
    EXPECT_FALSE(m_files.IsOutlived(late, 2, early));

    Touch("m.dnn.2.at500.tmp", 1);
    EXPECT_EQ(m_files.StaleTemporaries(), std::vector<std::string>{Path("m.dnn.2.at500.tmp")});
    // Neither an older model nor an older checkpoint that was moved aside is overwritten.
    Touch("m.dnn.2.at10.ckp.old", 30);
    EXPECT_EQ(m_files.MoveAside(early), Path("m.dnn.2.at10.old2"));
    EXPECT_TRUE(FileExists(Path("m.dnn.2.at10.ckp.old2")));
    EXPECT_EQ(m_files.MoveAside(late), Path("m.dnn.2.at500.old2"));
    EXPECT_FALSE(FileExists(Path("m.dnn.2.at500.ckp")));
}

TEST_F(TrainingFilesTest, SeveralNetworksHaveModelsOfTheirOwnAndOneCheckpoint)
{
    const TrainingFiles files = TrainingFiles::OfNetworks(Path("m.dnn"), 4, 3);
    EXPECT_EQ(files.Networks(), 3u);
    EXPECT_EQ(files.FinalModel(), Path("m.dnn.2"));
    EXPECT_EQ(files.Model(4), Path("m.dnn.2"));
    EXPECT_EQ(files.Model(1), Path("m.dnn.2.1"));
    EXPECT_EQ(files.OfNetwork(0, files.Model(1)), Path("m.dnn.0.1"));
    EXPECT_EQ(files.OfNetwork(1, files.FinalModel()), Path("m.dnn.1"));
    EXPECT_EQ(files.OfNetwork(2, files.BestModel()), Path("m.dnn.2.best"));
    EXPECT_EQ(files.OfNetwork(0, files.BestModel()), Path("m.dnn.0.best"));
    EXPECT_EQ(files.Checkpoint(1), Path("m.dnn.1.ckp"));
    EXPECT_EQ(files.Checkpoint(4), Path("m.dnn.ckp"));
    EXPECT_EQ(files.ObsoleteCheckpoints(3, 1, false), std::vector<std::string>{Path("m.dnn.1.ckp")});

    const TrainingFiles one = TrainingFiles::OfNetworks(Path("m.dnn"), 4, 1);
    EXPECT_EQ(one.FinalModel(), Path("m.dnn"));
    EXPECT_EQ(one.OfNetwork(0, one.Model(1)), Path("m.dnn.1"));
    EXPECT_EQ(one.Checkpoint(1), Path("m.dnn.1.ckp"));
}

TEST_F(TrainingFilesTest, AnEpochOfSeveralNetworksNeedsAllModels)
{
    const TrainingFiles files = TrainingFiles::OfNetworks(Path("m.dnn"), 4, 2);
    Touch("m.dnn.1", 5); // of network 1; of a single network it were epoch 1
    EXPECT_EQ(files.FindResumePoint(), std::nullopt);
    Touch("m.dnn.0.1", 40);
    Touch("m.dnn.1.1", 40);
    Touch("m.dnn.1.2", 30); // the other network's is missing
    Touch("m.dnn.0.3", 20); // and so here
    EXPECT_EQ(files.FindResumePoint(), 1u);
    Touch("m.dnn.0.2", 30);
    EXPECT_EQ(files.FindResumePoint(), 2u);
    const WithinEpochPoint point{2, 7};
    Touch("m.dnn.1.2.at7", 8);
    Touch("m.dnn.2.at7.ckp", 7);
    EXPECT_EQ(files.WhyUnusable(point), "lacks the model of another network");
    Touch("m.dnn.0.2.at7", 9);
    EXPECT_EQ(files.WhyUnusable(point), "");
    Touch("m.dnn.0", 5);
    EXPECT_EQ(files.FindResumePoint(), 4u);
}

// Killed between the models of a point, which are written one after the other, and removed likewise.
TEST_F(TrainingFilesTest, PointsOfWhichOneNetworksModelIsThereAreOutlived)
{
    const TrainingFiles files = TrainingFiles::OfNetworks(Path("m.dnn"), 4, 2);
    Touch("m.dnn.0.1.at10", 5);
    Touch("m.dnn.0.2.at4", 5);
    Touch("m.dnn.1.3.at7", 5);
    Touch("m.dnn.2.1.at10", 5); // of a third network
    const WithinEpochPoint first{1, 10}, second{2, 4}, last{3, 7};
    EXPECT_EQ(files.WithinEpochPoints(), (std::vector<WithinEpochPoint>{last, second, first}));
    for (const WithinEpochPoint& point : {first, second, last})
    {
        EXPECT_FALSE(files.IsUsable(point));
        EXPECT_TRUE(files.IsOutlived(point, std::nullopt, std::nullopt));
    }
}

TEST_F(TrainingFilesTest, TemporariesOfAllNetworksAreStale)
{
    for (const char* name : {"m.dnn.0.tmp", "m.dnn.1.tmp", "m.dnn.0.2.tmp", "m.dnn.1.2.tmp", "m.dnn.2.ckp.tmp"})
        Touch(name, 1);
    for (const char* name : {"m.dnn.0", "m.dnn.1.2", "m.dnn.2.3.tmp", "other.0.tmp"})
        Touch(name, 1);
    auto stale = TrainingFiles::OfNetworks(Path("m.dnn"), 4, 2).StaleTemporaries();
    std::sort(stale.begin(), stale.end());
    stale.erase(std::unique(stale.begin(), stale.end()), stale.end());
    EXPECT_EQ(stale, (std::vector<std::string>{Path("m.dnn.0.2.tmp"), Path("m.dnn.0.tmp"), Path("m.dnn.1.2.tmp"),
                                               Path("m.dnn.1.tmp"), Path("m.dnn.2.ckp.tmp")}));
}

// A training that takes an unreadable folder for an empty one would start again, or remove its start model.
TEST_F(TrainingFilesTest, AFolderThatCannotBeListedIsAnError)
{
    std::filesystem::create_symlink("loop", Path("loop"));
    const TrainingFiles files(Path("loop/m.dnn"), 4);
    EXPECT_EQ(MessageOf(ErrorKind::Device, [&] { (void)files.LaterModels(0); }),
              "cannot list folder '" + Path("loop") + "', which has the models of '" + Path("loop/m.dnn") +
                  "': Too many levels of symbolic links");
    EXPECT_TRUE(TrainingFiles(Path("nosuch/m.dnn"), 4).LaterModels(0).empty());
    Touch("file", 1);
    EXPECT_TRUE(TrainingFiles(Path("file/m.dnn"), 4).LaterModels(0).empty());
}

} // namespace cntk
