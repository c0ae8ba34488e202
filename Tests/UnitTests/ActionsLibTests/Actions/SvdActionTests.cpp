// The SVD and edit actions as commands of a config.
#include "ActionsLib/Action.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using testing::HasSubstr;

class SvdActionTests : public testing::Test
{
protected:
    SvdActionTests()
    {
        m_folder.Enter();
        m_log.RedirectTo(m_folder / "log.txt");
        const auto network = BuildNetworkFromNdlText("features=Input(6, tag=feature)\nW1=Parameter(9, 6)\nB1=Parameter("
                                                     "9, 1)\nT=Times(W1, features)\nP=Plus(T, B1)\nW2=Parameter(4, "
                                                     "9)\nZ=Times(W2, P)\nOutputNodes=(Z)\n",
                                                     "m.ndl", DataType::Float64, MakeCpuDevice({.threads = 1}));
        SaveModel(*network, "m.dnn");
    }

    std::unique_ptr<Job> Prepare(const std::string& action, const std::string& block)
    {
        m_config = ConfigParameters::Parse("c=[\n" + block + "\n]");
        m_program = std::make_unique<ProgramContext>(ProgramContext{m_log});
        m_program->dataType = DataType::Float64;
        m_command = std::make_unique<CommandContext>(CommandContext{*m_program, "c", m_config->RequireBlock("c")});
        return FindAction(action)->prepare(*m_command);
    }
    std::string ErrorOf(const std::string& action, const std::string& block)
    {
        return MessageOf(ErrorKind::Config, [&] { Prepare(action, block)->Run(); });
    }
    static std::vector<double> ValuesOf(const ComputationNetwork& network, const char* name)
    {
        return std::dynamic_pointer_cast<LearnableParameterNode>(network.Require(name))->Values().ToHost();
    }
    std::unique_ptr<ComputationNetwork> Load(const char* path)
    {
        return LoadModel(path, DataType::Float64, MakeCpuDevice({.threads = 1}));
    }

    TemporaryFolder m_folder;
    Log m_log;
    std::unique_ptr<ConfigParameters> m_config;
    std::unique_ptr<ProgramContext> m_program;
    std::unique_ptr<CommandContext> m_command;
};

// Everything is kept: the product is the parameter.
TEST_F(SvdActionTests, ShareOfOneKeepsAll)
{
    Prepare("svd", "modelPath=m.dnn\noutputModelPath=s.dnn\nnodeNameRegex=\"W.\"\nkeepRatio=1")->Run();
    const auto before = Load("m.dnn");
    const auto after = Load("s.dnn");
    EXPECT_EQ(after->Find("W1"), nullptr);
    EXPECT_NE(after->Find("B1"), nullptr);
    EXPECT_EQ(after->Require("T")->Input(0)->Name(), "W1-SVD");
    EXPECT_EQ(after->Require("W1-SVD")->Input(0)->Name(), "W1-U");
    const std::vector<double> w = ValuesOf(*before, "W1"), u = ValuesOf(*after, "W1-U"), v = ValuesOf(*after, "W1-V");
    ASSERT_EQ(u.size(), 9u * 6);
    for (size_t i = 0; i < 9; ++i)
        for (size_t j = 0; j < 6; ++j)
        {
            double sum = 0;
            for (size_t k = 0; k < 6; ++k)
                sum += u[i + 9 * k] * v[k + 6 * j];
            EXPECT_NEAR(sum, w[i + 9 * j], 1e-14);
        }
    EXPECT_THAT(ReadTextFile("log.txt"), HasSubstr("keep     6 svd values (reduce to 166.7% parameters)"));
    EXPECT_EQ(ReadTextFile("log.txt").find("the model gets larger"), std::string::npos);
}

// Four singular values of 1: half of their sum is exceeded by the third. Factors learn as fast as their product did, a
// bias is no matrix, and the expression counts where a file is given, too.
TEST_F(SvdActionTests, KeepsTheFewestValuesThatExceedTheShare)
{
    const auto network = Load("m.dnn");
    const auto parameter = [&](const char* name)
    { return std::dynamic_pointer_cast<LearnableParameterNode>(network->Require(name)); };
    const auto unit = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("E1", TensorShape{4, 4}));
    unit->Values().FromHost(std::vector<double>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    unit->SetLearningRateMultiplier(0.5F);
    SaveModel(*network, "m.dnn");
    m_folder.Write("groups", "W2 0\n");
    Prepare("SVD", "modelPath=m.dnn\noutputModelPath=s.dnn\nnodeNameRegex=\"[EB]1\"\nkeepRatio=0.5\nalignedSize=1\n"
                   "svdConfig=groups")
        ->Run();
    const auto after = Load("s.dnn");
    for (const char* name : {"E1-U", "E1-V"})
    {
        const auto factor = std::dynamic_pointer_cast<LearnableParameterNode>(after->Require(name));
        EXPECT_EQ(factor->Values().Elements(), 4u * 3) << name;
        EXPECT_EQ(factor->LearningRateMultiplier(), 0.5F) << name;
    }
    EXPECT_EQ(ValuesOf(*after, "B1"), parameter("B1")->Values().ToHost());
    EXPECT_EQ(ValuesOf(*after, "W2"), parameter("W2")->Values().ToHost());
}

TEST_F(SvdActionTests, GroupsOfAFile)
{
    m_folder.Write("groups", "# comment\nW2 0\nW1\t0.3\n");
    Prepare("SVD", "modelPath=m.dnn\noutputModelPath=s.dnn\nsvdConfig=groups\nalignedSize=2")->Run();
    const auto after = Load("s.dnn");
    EXPECT_EQ(ValuesOf(*after, "W2-U").size(), 4u * 2); // one value, rounded up to two
    EXPECT_EQ(ValuesOf(*after, "W1-U").size(), 9u * 2);
    m_folder.Write("groups", "W2 x\n");
    EXPECT_EQ(
        ErrorOf("SVD", "modelPath=m.dnn\noutputModelPath=s.dnn\nsvdConfig=groups"),
        "groups:1: 'W2 x', expected a regular expression, a blank and the share of the singular values to keep, as "
        "in 'L[12].*W 0.4'");
    EXPECT_EQ(ErrorOf("SVD", "modelPath=m.dnn\noutputModelPath=s.dnn"),
              "command 'c' has neither nodeNameRegex=<regular expression> nor svdConfig=<file>");
    EXPECT_THAT(ErrorOf("SVD", "modelPath=m.dnn\nnodeNameRegex=W1"), HasSubstr("outputModelPath"));
}

TEST_F(SvdActionTests, EditKnowsItsVariables)
{
    m_folder.Write("e.mel", "m1=LoadModel($From$)\nRename(Z, $NewName$)\nSaveModel(m1, $To$)\n");
    const std::string block = "From=m.dnn\nTo=out/e.dnn\nNewName=Out\neditPath=e.mel";
    auto job = Prepare("edit", block);
    EXPECT_EQ(job->Outputs(), std::vector<std::string>{"out/e.dnn"});
    job->Check();
    EXPECT_FALSE(FileExists("out/e.dnn"));
    job->Run();
    EXPECT_NE(Load("out/e.dnn")->Find("Out"), nullptr);
    EXPECT_EQ(ErrorOf("edit", "editPath=none.mel"), "editPath: file 'none.mel' does not exist");
    m_folder.Write("bad.mel", "Renam(\n");
    EXPECT_THAT(ErrorOf("edit", "editPath=bad.mel"), HasSubstr("is not closed"));
}

} // namespace
} // namespace cntk
