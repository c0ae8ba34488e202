// The outputs that earlier commands declare.
#include "ActionsLib/Action.h"
#include "CommonTests/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(DeclaredOutputs, FilesAreFoundByAnySpelling)
{
    TemporaryFolder folder;
    folder.Enter();
    DeclaredOutputs outputs;
    outputs.Add("First", {"folder/m.dnn", "out/values"});
    outputs.Add("Second", {"./folder/../folder/m.dnn"});
    EXPECT_EQ(outputs.WriterOf("folder/m.dnn"), "Second");
    EXPECT_EQ(outputs.WriterOf("folder/m.dnn.3"), "Second"); // the model of an epoch
    EXPECT_EQ(outputs.WriterOf("out/values.z"), "First");    // the values of a node
    EXPECT_EQ(outputs.WriterOf("folder/m.dnnx"), "");
    EXPECT_EQ(outputs.WriterOf("folder"), "");
    EXPECT_TRUE(outputs.WillExist("folder/m.dnn"));
    EXPECT_FALSE(outputs.WillExist("gone.txt"));
    folder.Write("there.txt", "x");
    EXPECT_TRUE(outputs.WillExist("there.txt"));
}

TEST(DeclaredOutputs, AModelOfAnEpochStartsATraining)
{
    TemporaryFolder folder;
    folder.Enter();
    DeclaredOutputs outputs;
    outputs.Add("Edit", {"m.dnn.0", "n.dnn.old", "other.dnn"});
    EXPECT_EQ(outputs.WriterOfEpochModel("./m.dnn"), "Edit");
    EXPECT_EQ(outputs.WriterOfEpochModel("n.dnn"), "");
    EXPECT_EQ(outputs.WriterOfEpochModel("other.dnn"), "");
}

} // namespace
} // namespace cntk
