// convertdbn: files of dbn.exe become networks that compute what the layers say; exportdbn: the way back.
#include "ActionsLib/Action.h"
#include "ActionsLib/Actions/DbnFile.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <cmath>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using testing::HasSubstr;

class DbnText
{
public:
    DbnText& Raw(std::string_view text)
    {
        m_bytes += text;
        return *this;
    }
    DbnText& Text(std::string_view text)
    {
        m_bytes += text;
        m_bytes += '\0';
        return *this;
    }
    DbnText& Number(int32_t number) { return Value(number); }
    DbnText& Matrix(std::string_view name, int32_t rows, int32_t columns, const std::vector<float>& values)
    {
        Raw("BMAT").Text(name).Number(rows).Number(columns);
        for (const float value : values)
            Value(value);
        return Raw("EMAT");
    }
    DbnText& Head(int32_t layers) { return Raw("DBN\n").Text("made by hand").Raw("BDBN").Number(0).Number(layers); }
    void Save(const std::string& path) const
    {
        AtomicFile file(path);
        file.Write(m_bytes);
        file.Commit();
    }

private:
    template <class T>
    DbnText& Value(T value)
    {
        m_bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
        return *this;
    }
    std::string m_bytes;
};

// Four inputs (two frames of two features), three sigmoids, two linear units, two classes.
DbnText ThreeLayers()
{
    DbnText text;
    text.Head(3).Matrix("gmean", 2, 1, {1, -1}).Matrix("gstddev", 2, 1, {2, 0.5F}).Raw("BNET");
    text.Text("rbmgaussbernoulli")
        .Matrix("W", 4, 3, {0.1F, 0.2F, 0.3F, 0.4F, -0.1F, 0, 0.5F, 0.25F, 1, -1, 0.5F, -0.5F})
        .Matrix("a", 3, 1, {0.5F, 0, -0.25F})
        .Matrix("b", 4, 1, {9, 9, 9, 9});
    text.Text("rbmisalinearbernoulli")
        .Matrix("W", 3, 2, {1, 2, 3, -1, 0.5F, 0})
        .Matrix("a", 2, 1, {0.125F, -0.5F})
        .Matrix("b", 0, 0, {});
    text.Text("perceptron").Matrix("W", 2, 2, {1, 2, 3, 4}).Matrix("a", 2, 1, {0.25F, 0.75F}).Matrix("b", 0, 0, {});
    return text.Raw("ENET").Matrix("Pu", 2, 1, {0.25F, 0.75F}).Raw("EDBN");
}

class ConvertDbnActionTests : public testing::Test
{
protected:
    ConvertDbnActionTests()
    {
        m_folder.Enter();
        m_log.RedirectTo(m_folder / "log.txt");
    }

    void Run(const char* action, const std::string& options)
    {
        const auto config = ConfigParameters::Parse("c=[\n" + options + "\n]");
        ProgramContext program{m_log};
        program.dataType = DataType::Float64;
        const CommandContext command{program, "c", config->RequireBlock("c")};
        FindAction(action)->prepare(command)->Run();
    }
    DbnModel Export(const std::string& modelPath = "m.dnn")
    {
        Run("exportdbn", "modelPath=" + modelPath + "\ndbnModelPath=out/back.dbn");
        return ReadDbnFile("out/back.dbn");
    }

    std::unique_ptr<ComputationNetwork> Convert(const std::string& options = "")
    {
        Run("convertdbn", "modelPath=m.dnn\ndbnModelPath=m.dbn\n" + options);
        return LoadModel("m.dnn", DataType::Float64, MakeCpuDevice({.threads = 1}));
    }
    std::string ErrorOf(const DbnText& text, const std::string& options = "")
    {
        text.Save("m.dbn");
        try
        {
            Convert(options);
        }
        catch (const Error& error)
        {
            EXPECT_FALSE(FileExists("m.dnn"));
            return error.Message();
        }
        return "no error";
    }

    TemporaryFolder m_folder;
    Log m_log;
};

TEST_F(ConvertDbnActionTests, OutputsAreThoseOfTheLayers)
{
    ThreeLayers().Save("m.dbn");
    const auto network = Convert("applyMeanVarNorm=false\nlayerSizes=1:1"); // neither has an effect

    const double x[4] = {3, -0.5, -1, -1.5};
    const double n[4] = {(3 - 1) / 2.0, (-0.5 + 1) / 0.5, (-1 - 1) / 2.0, (-1.5 + 1) / 0.5};
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    const double h[3] = {sigmoid(0.1F * n[0] + 0.2F * n[1] + 0.3F * n[2] + 0.4F * n[3] + 0.5),
                         sigmoid(-0.1F * n[0] + 0.5 * n[2] + 0.25 * n[3]),
                         sigmoid(n[0] - n[1] + 0.5 * n[2] - 0.5 * n[3] - 0.25)};
    const double l[2] = {h[0] + 2 * h[1] + 3 * h[2] + 0.125, -h[0] + 0.5 * h[1] - 0.5};
    const double z[2] = {l[0] + 2 * l[1] + 0.25, 3 * l[0] + 4 * l[1] + 0.75};

    network->Layout()->InitAsFrameMode(1);
    std::dynamic_pointer_cast<InputValueNode>(network->Require("features"))->SetDense(x, 4, 1);
    const ComputationNodePtr last = network->Require("HLast");
    const ComputationNodePtr scaled = network->Require("ScaledLogLikelihood");
    Evaluator evaluator(*network, {last, scaled});
    evaluator.Forward();
    Matrix values(0, 0, DataType::Float64, network->GetDevice());
    values.CopyFrom(last->Value());
    EXPECT_NEAR(values.ToHost()[0], z[0], 1e-14);
    EXPECT_NEAR(values.ToHost()[1], z[1], 1e-14);
    values.CopyFrom(scaled->Value());
    EXPECT_NEAR(values.ToHost()[0], z[0] - std::log(0.25), 1e-14);
    EXPECT_NEAR(values.ToHost()[1], z[1] - std::log(0.75), 1e-14);

    for (const char* name : {"MVNormalizedFeatures", "W0*H0", "W0*H0+B0", "H1", "W1*H1+B1", "W2*H2", "LogOfPrior",
                             "labels", "CrossEntropyWithSoftmax"})
        EXPECT_TRUE(network->Find(name)) << name;
    EXPECT_EQ(network->Group(NodeGroup::Output).at(0), scaled);
    const std::string log = ReadTextFile(m_folder / "log.txt");
    EXPECT_THAT(log, HasSubstr("DBN: Reading (3 x 4) non-linear layer\nDBN: Reading (2 x 3) linear layer\nDBN: Reading "
                               "(2 x 2) perceptron\n"));
}

TEST_F(ConvertDbnActionTests, OptionsOfTheNetwork)
{
    ThreeLayers().Save("m.dbn");
    const auto network = Convert("layerTypes=Tanh\naddDropoutNodes=true\nevalCriterion=ErrorPrediction");
    EXPECT_EQ(network->Require("H1")->TypeName(), "Tanh");
    EXPECT_EQ(network->Require("W1*H1")->Input(1)->Name(), "DropH1");
    EXPECT_EQ(network->Group(NodeGroup::Evaluation).at(0)->TypeName(), "ErrorPrediction");
}

TEST_F(ConvertDbnActionTests, PretrainedLayersGetAnOutputLayer)
{
    DbnText text;
    text.Head(1).Matrix("gmean", 1, 1, {0}).Matrix("gstddev", 1, 1, {1}).Raw("BNET").Text("rbmbernoullibernoulli");
    text.Matrix("W", 2, 3, {1, 2, 3, 4, 5, 6}).Matrix("a", 3, 1, {0, 0, 0}).Matrix("b", 2, 1, {0, 0});
    text.Raw("ENETEDBN").Save("m.dbn");
    const auto network = Convert("outputLayerSize=5");
    EXPECT_EQ(network->Require("W1")->SampleLayout(), (TensorShape{5, 3}));
    EXPECT_EQ(network->Require("HLast")->Input(0)->Name(), "W1*H1");
    EXPECT_FALSE(network->Find("Prior"));
    // The classes that it adds have no prior yet.
    EXPECT_EQ(Export().prior, std::vector<double>(5, double(0.2F)));
    EXPECT_THAT(ReadTextFile(m_folder / "log.txt"),
                HasSubstr("exportdbn: the model has no prior of its classes; equal ones are written"));
    RemoveFile("m.dnn");
    // Training computes the prior, of which the file knows nothing.
    const auto withPrior = Convert("outputLayerSize=5\nneedPrior=true");
    const auto prior = std::dynamic_pointer_cast<PrecomputeNode>(withPrior->Require("Prior"));
    EXPECT_EQ(prior->Input(0), withPrior->Require("labels"));
    EXPECT_FALSE(prior->HasComputed());
    EXPECT_EQ(withPrior->Group(NodeGroup::Output).at(0)->Name(), "ScaledLogLikelihood");
    EXPECT_EQ(Export().prior, std::vector<double>(5, double(0.2F)));
    RemoveFile("m.dnn");
    EXPECT_THAT(ErrorOf(text), HasSubstr("the last layer of the DBN file is of type 'rbmbernoullibernoulli', not "
                                         "'perceptron': the size of the output layer to be added must be given"));
}

TEST_F(ConvertDbnActionTests, EachLayerHasItsNonlinearity)
{
    DbnText text;
    text.Head(3).Matrix("gmean", 1, 1, {0}).Matrix("gstddev", 1, 1, {1}).Raw("BNET");
    for (const char* type : {"rbmgaussbernoulli", "rbmbernoullibernoulli", "perceptron"})
        text.Text(type).Matrix("W", 1, 1, {1}).Matrix("a", 1, 1, {0}).Matrix("b", 0, 0, {});
    text.Raw("ENET").Matrix("Pu", 1, 1, {1}).Raw("EDBN").Save("m.dbn");
    const auto network = Convert("layerTypes=Sigmoid:Tanh");
    EXPECT_EQ(network->Require("H1")->TypeName(), "Sigmoid");
    EXPECT_EQ(network->Require("H2")->TypeName(), "Tanh");
}

// exportdbn's files, which v1.1 could not read back.
TEST_F(ConvertDbnActionTests, ExportedFiles)
{
    DbnText text;
    text.Text("DBN").Raw("BDBN").Number(0).Number(1).Matrix("gmean", 1, 1, {0}).Matrix("gstddev", 1, 1, {1});
    text.Raw("BNET").Text("perceptron").Matrix("W", 2, 1, {5, 6}).Matrix("a", 1, 1, {7}).Matrix("b", 0, 0, {});
    text.Raw("ENET").Matrix("Pu", 1, 1, {1}).Raw("EDBN").Save("m.dbn");
    const auto network = Convert();
    const auto weights = std::dynamic_pointer_cast<LearnableParameterNode>(network->Require("W0"));
    EXPECT_EQ(weights->Values().ToHost(), (std::vector<double>{5, 6}));
    EXPECT_TRUE(network->Find("MVNormalizedFeatures")); // though it changes no feature
}

// The help marks options that the file makes unnecessary.
TEST_F(ConvertDbnActionTests, HelpSaysWhichOptionsCount)
{
    const std::vector<OptionInfo>& options = FindAction("convertdbn")->options;
    const auto counts = [&](std::string_view name)
    {
        const auto found =
            std::find_if(options.begin(), options.end(), [&](const auto& option) { return option.name == name; });
        return found != options.end() && !found->hasNoEffect;
    };
    EXPECT_TRUE(counts("layerTypes") && counts("outputLayerSize") && counts("dbnModelPath") && counts("modelPath"));
    EXPECT_TRUE(counts("needPrior"));
    EXPECT_FALSE(counts("layerSizes") || counts("rnnType") || counts("applyMeanVarNorm"));
}

TEST_F(ConvertDbnActionTests, Messages)
{
    EXPECT_EQ(ErrorOf(DbnText().Raw("DBN")), "DBN file 'm.dbn' ends at byte 3: expected the mark 'BDBN' (4 bytes) at "
                                             "byte 0");
    EXPECT_THAT(ErrorOf(DbnText().Raw("hello, world")), HasSubstr("DBN file 'm.dbn' is damaged at byte 0: expected the "
                                                                  "mark 'DBN', found the bytes 68 65 6c 6c"));
    EXPECT_THAT(ErrorOf(DbnText().Head(0)), HasSubstr("expected the number of layers (at least 1), found 0"));
    EXPECT_THAT(ErrorOf(DbnText().Head(1).Matrix("mean", 1, 1, {1})),
                HasSubstr("expected the matrix 'gmean', found 'mean'"));
    EXPECT_THAT(ErrorOf(DbnText().Head(1).Matrix("gmean", 1, 1, {NAN})),
                HasSubstr("expected finite numbers in the matrix 'gmean', found nan"));
    EXPECT_THAT(ErrorOf(DbnText().Head(1).Raw("BMAT").Text("gmean").Number(1 << 30).Number(1 << 30)),
                HasSubstr("expected the values of 'gmean' (4611686018427387904 bytes)"));
    EXPECT_THAT(ErrorOf(DbnText().Head(1).Raw("BMAT").Text("gmean").Number(-3)),
                HasSubstr("expected a number of rows (at least 0), found -3"));
    const auto start = [](int layers)
    {
        return DbnText()
            .Head(layers)
            .Matrix("gmean", 1, 1, {0})
            .Matrix("gstddev", 1, 1, {0})
            .Raw("BNET")
            .Text("perceptron");
    };
    EXPECT_THAT(ErrorOf(start(1).Matrix("W", 2, 1, {1, 2}).Matrix("a", 2, 1, {1, 2})),
                HasSubstr("expected a bias for each of the 1 outputs of layer 1, found 2"));
    EXPECT_THAT(ErrorOf(start(2)
                            .Matrix("W", 2, 1, {1, 2})
                            .Matrix("a", 1, 1, {1})
                            .Matrix("b", 0, 0, {})
                            .Text("perceptron")
                            .Matrix("W", 2, 1, {1, 2})),
                HasSubstr("expected as many inputs of layer 2 as layer 1 has outputs (1), found 2"));
    const DbnText whole = start(1)
                              .Matrix("W", 2, 1, {1, 2})
                              .Matrix("a", 1, 1, {1})
                              .Matrix("b", 0, 0, {})
                              .Raw("ENET")
                              .Matrix("Pu", 1, 1, {1})
                              .Raw("EDBN");
    EXPECT_THAT(ErrorOf(whole),
                HasSubstr("the deviation of feature 1 in the DBN file is 0; expected a number above 0"));
    EXPECT_EQ(ErrorOf(DbnText().Head(1).Matrix("gmean", 2, 1, {0, 0}).Matrix("gstddev", 1, 1, {1})),
              "DBN file 'm.dbn' is damaged at byte 87: expected as many values in gstddev as in gmean (2), found 1");
    EXPECT_THAT(ErrorOf(start(1)
                            .Matrix("W", 2, 1, {1, 2})
                            .Matrix("a", 1, 1, {1})
                            .Matrix("b", 0, 0, {})
                            .Raw("ENET")
                            .Matrix("Pu", 2, 1, {0.5F, 0.5F})),
                HasSubstr("expected as many values in Pu as the last layer has outputs (1), found 2"));
    DbnText odd;
    odd.Head(1).Matrix("gmean", 3, 1, {0, 0, 0}).Matrix("gstddev", 3, 1, {1, 1, 1}).Raw("BNET").Text("perceptron");
    odd.Matrix("W", 4, 1, {1, 2, 3, 4}).Matrix("a", 1, 1, {1}).Matrix("b", 0, 0, {});
    odd.Raw("ENET").Matrix("Pu", 1, 1, {1}).Raw("EDBN");
    EXPECT_EQ(ErrorOf(odd), "the network has 4 inputs, but the mean of the file has 3 values; "
                            "expected the size of one of its frames");
    whole.Save("m.dbn");
    const size_t size = std::filesystem::file_size("m.dbn");
    EXPECT_THAT(ErrorOf(DbnText(whole).Raw("DBN")),
                HasSubstr("DBN file 'm.dbn' is damaged at byte " + std::to_string(size) +
                          ": expected the end of the file after the mark 'EDBN', found 3 bytes more"));
    EXPECT_THAT(ErrorOf(DbnText(whole).Raw("\n")), HasSubstr("found 1 byte more"));
    RemoveFile("m.dbn");
    EXPECT_THROW(Convert(), Error);
}

TEST_F(ConvertDbnActionTests, WhatIsExportedIsWhatWasConverted)
{
    ThreeLayers().Save("m.dbn");
    const DbnModel model = ReadDbnFile("m.dbn");
    Convert("addDropoutNodes=true");
    const DbnModel back = Export();
    EXPECT_EQ(back.mean, (std::vector<double>{1, -1, 1, -1}));
    EXPECT_EQ(back.deviation, (std::vector<double>{2, 0.5, 2, 0.5}));
    EXPECT_EQ(back.prior, model.prior);
    EXPECT_EQ(ReadTextFile(m_folder / "log.txt").find("no prior"), std::string::npos);
    ASSERT_EQ(back.layers.size(), 3u);
    for (size_t i = 0; i < 3; i++)
    {
        EXPECT_EQ(back.layers[i].type, model.layers[i].type);
        EXPECT_EQ(back.layers[i].weights.rows, model.layers[i].weights.rows);
        EXPECT_EQ(back.layers[i].weights.values, model.layers[i].weights.values);
        EXPECT_EQ(back.layers[i].bias, model.layers[i].bias);
    }
}

// Statistics of an odd number of frames that repeat are those of one frame; a product of two parameters is two layers.
TEST_F(ConvertDbnActionTests, ExportsOneFrameAndTheLayersOfAnSvd)
{
    DbnText text;
    text.Head(1).Matrix("gmean", 2, 1, {1, -1}).Matrix("gstddev", 2, 1, {2, 0.5F}).Raw("BNET").Text("perceptron");
    text.Matrix("W", 6, 2, {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 7}).Matrix("a", 2, 1, {0.5F, 1}).Matrix("b", 0, 0, {});
    text.Raw("ENET").Matrix("Pu", 2, 1, {0.25F, 0.75F}).Raw("EDBN").Save("m.dbn");
    const auto whole = Convert();
    Run("SVD", "modelPath=m.dnn\noutputModelPath=thin.dnn\nNodeNameRegex=W0\nKeepRatio=1\nAlignedSize=1");
    const DbnModel model = Export("thin.dnn");
    EXPECT_EQ(model.mean, (std::vector<double>{1, -1}));
    ASSERT_EQ(model.layers.size(), 2u);
    EXPECT_EQ(model.layers[0].type, "rbmisalinearbernoulli");
    EXPECT_EQ(model.layers[0].bias, (std::vector<double>(2, 0)));
    EXPECT_EQ(model.layers[1].type, "perceptron");
    EXPECT_EQ(model.layers[1].bias, (std::vector<double>{0.5, 1}));
    const DbnMatrix& v = model.layers[0].weights;
    const DbnMatrix& u = model.layers[1].weights;
    const std::vector<double> w =
        std::dynamic_pointer_cast<LearnableParameterNode>(whole->Require("W0"))->Values().ToHost();
    for (size_t o = 0; o < 2; o++)
        for (size_t i = 0; i < 6; i++)
            EXPECT_NEAR(u.values[o] * v.values[2 * i] + u.values[o + 2] * v.values[1 + 2 * i], w[o + 2 * i], 1e-5);
}

// The means of three frames are the same, their deviations not. What is called prior and has another size is none.
TEST_F(ConvertDbnActionTests, ExportsAllFramesThatDiffer)
{
    DbnText text;
    text.Head(1).Matrix("gmean", 3, 1, {1, 1, 1}).Matrix("gstddev", 3, 1, {2, 2, 0.5F}).Raw("BNET").Text("perceptron");
    text.Matrix("W", 3, 2, {1, 2, 3, 4, 5, 6}).Matrix("a", 2, 1, {0.5F, 1}).Matrix("b", 0, 0, {});
    text.Raw("ENET").Matrix("Pu", 2, 1, {0.25F, 0.75F}).Raw("EDBN").Save("m.dbn");
    const auto network = Convert();
    network->AddParameter("WordPrior", TensorShape{3, 1});
    SaveModel(*network, "m.dnn");
    const DbnModel model = Export();
    EXPECT_EQ(model.mean, (std::vector<double>{1, 1, 1}));
    EXPECT_EQ(model.deviation, (std::vector<double>{2, 2, 0.5}));
    EXPECT_EQ(model.prior, (std::vector<double>{0.25, 0.75}));
}

TEST_F(ConvertDbnActionTests, SaysWhatCannotBeExported)
{
    const auto error = [&] { return MessageOf(ErrorKind::Model, [&] { Export(); }); };
    EXPECT_EQ(error(), "model file 'm.dnn' does not exist");
    ThreeLayers().Save("m.dbn");
    Convert("layerTypes=Tanh");
    EXPECT_EQ(error(), "'H1' (Tanh) cannot be written: the layers of a DBN are linear or end in a Sigmoid");
    EXPECT_FALSE(FileExists("out/back.dbn"));
}

} // namespace
} // namespace cntk
