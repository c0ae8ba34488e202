// Runs scripts of the model editing language on a model and shows the result.
#pragma once

#include "ActionsLib/Mel/MelEditor.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLib/Ndl/NdlParser.h"
#include "Common/Error.h"
#include "Common/Log.h"
#include "CommonTests/TemporaryFolder.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

inline constexpr const char* c_macros = R"(
BFF(x, rows, cols)
[
    B=Parameter(rows, 1, init=fixedValue, value=0)
    W=Parameter(rows, cols)
    FF=FeedForward(x, W, B)
]
FeedForward(x, W, B)
[
    T=Times(W, x)
    P=Plus(T, B)
]
RBFF(x, rows, cols)
[
    BFF=BFF(x, rows, cols)
    RL=RectifiedLinear(BFF)
]
SMBFF(x, rows, cols, labels)
[
    BFF=BFF(x, rows, cols)
    SM=CrossEntropyWithSoftmax(labels, BFF)
]
)";

// The model of the book's example (4.2.1).
inline constexpr const char* c_model = R"(
features=Input(3, tag=feature)
labels=Input(2, tag=label)
L1=RBFF(features, 4, 3)
L2=RBFF(L1, 4, 4)
L3=RBFF(L2, 4, 4)
CE=SMBFF(L3, 2, 4, labels, tag=criteria)
Err=ErrorPrediction(labels, CE.BFF, tag=eval)
OutputNodes=(CE.BFF)
)";

class MelTests : public testing::Test
{
protected:
    MelTests()
    {
        m_folder.Enter();
        m_log.RedirectTo(m_folder / "log.txt");
        const auto network = BuildNetworkFromNdlText(std::string(c_macros) + c_model, "model.ndl", DataType::Float64,
                                                     MakeCpuDevice({.threads = 1}));
        SaveModel(*network, "base.dnn");
    }

    void Run(const std::string& script, MelEditor::Mode mode = MelEditor::Mode::Run)
    {
        m_editor =
            std::make_unique<MelEditor>(DataType::Float64, MakeCpuDevice({.threads = 1}), m_context, m_log, mode);
        m_editor->DefineMacros(ParseNdl(std::make_shared<SourceText>("macros.ndl", c_macros)));
        m_editor->Run(PrepareMel(std::make_shared<SourceText>("edit.mel", script)));
    }
    // After LoadModel as m1.
    void Edit(const std::string& script) { Run("m1=LoadModel(\"base.dnn\", format=cntk)\n" + script); }
    ComputationNetwork& Network(const std::string& name = "m1") { return *m_editor->Models().Find(name)->network; }
    std::vector<std::string> Names(const std::string& pattern, const std::string& model = "m1")
    {
        std::vector<std::string> names;
        for (const ComputationNodePtr& node : Network(model).FindPattern(pattern))
            names.push_back(node->Name());
        return names;
    }
    std::vector<std::string> Inputs(const std::string& node, const std::string& model = "m1")
    {
        std::vector<std::string> names;
        for (const ComputationNodePtr& input : Network(model).Require(node)->Inputs())
            names.push_back(input ? input->Name() : "-");
        return names;
    }
    std::vector<double> Values(const std::string& node, const std::string& model = "m1")
    {
        return std::dynamic_pointer_cast<LearnableParameterNode>(Network(model).Require(node))->Values().ToHost();
    }
    float Multiplier(const std::string& node)
    {
        return std::dynamic_pointer_cast<LearnableParameterNode>(Network().Require(node))->LearningRateMultiplier();
    }
    std::vector<std::string> Group(NodeGroup group)
    {
        std::vector<std::string> names;
        for (const ComputationNodePtr& node : Network().Group(group))
            names.push_back(node->Name());
        return names;
    }
    std::string ErrorOf(const std::string& script)
    {
        try
        {
            Edit(script);
        }
        catch (const Error& error)
        {
            return (error.Where() ? error.Where().Location() + ": " : "") + error.Message();
        }
        return "no error";
    }

    TemporaryFolder m_folder;
    Log m_log;
    NdlContext m_context;
    std::unique_ptr<MelEditor> m_editor;
};

} // namespace cntk
