// Sparse operands, for each type and each of its inputs that may be data: what the samples show as sparse computes what
// the dense one does, all else is refused when the network is validated, with the node, the input and what to do
// instead.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetworkTests/RegistryTest.h"
#include "ReferenceBackend/ReferenceDevice.h"

namespace cntk::Testing
{
namespace
{

class SparseSupportTest : public RegistryTest
{
protected:
    bool IsListed(size_t input) const
    {
        const std::vector<size_t> inputs = SparseInputs(Type());
        return std::find(inputs.begin(), inputs.end(), input) != inputs.end();
    }

    // The sample with these inputs as data whose gradient nobody wants: the same numbers, half of them 0.
    static GradientSample WithData(GradientSample sample, const std::vector<size_t>& chosen, bool isSparse,
                                   size_t columns)
    {
        std::mt19937 random(7);
        for (const size_t i : chosen)
        {
            GradientSample::Input& input = sample.inputs[i];
            input.sparse = isSparse;
            input.checkGradient = false;
            if (!input.values.empty())
                continue;
            const size_t rows = input.shape.Elements();
            input.values.assign(rows * columns, 0);
            for (size_t column = 0; column < columns; column++)
                if (input.oneHot)
                    input.values[column * rows + random() % rows] = 1;
                else
                    for (size_t row = 0; row < rows; row++)
                        if (random() % 2 == 0)
                            input.values[column * rows + row] =
                                std::uniform_real_distribution<double>(input.low, input.high)(random);
        }
        return sample;
    }

    // The whole report of validating the sample; empty if it is accepted.
    std::string Report(const GradientSample& sample) const
    {
        ComputationNetwork network(DataType::Float64, MakeReferenceDevice(), Registry());
        std::vector<ComputationNodePtr> inputs;
        for (size_t i = 0; i < sample.inputs.size(); i++)
        {
            const std::string name = "input" + std::to_string(i);
            inputs.push_back(sample.inputs[i].inLayout
                                 ? network.AddInput(name, sample.inputs[i].shape, sample.inputs[i].sparse)
                                 : network.AddParameter(name, sample.inputs[i].shape));
            if (!sample.inputs[i].inLayout && !sample.inputs[i].values.empty()) // that the node may look at
                dynamic_cast<LearnableParameterNode&>(*inputs.back()).Values().FromHost(sample.inputs[i].values);
        }
        NodeParameters parameters;
        for (const auto& [name, value] : sample.parameters)
            parameters.Set(name, value);
        network.Add(Type().name, "node", inputs, parameters);
        try
        {
            network.Validate();
        }
        catch (const Error& error)
        {
            return error.Report();
        }
        return "";
    }

    void ExpectGoodMessage(const std::string& report, const std::vector<size_t>& chosen) const
    {
        EXPECT_NE(report.find("while validating node = " + Type().name + "("), std::string::npos) << report;
        const auto names = [&](size_t input)
        {
            return report.find(Concat("input 'input", input, "' is sparse, but ", Type().name, " takes ")) !=
                       std::string::npos &&
                   report.find(" values as " + InputName(Type(), input)) != std::string::npos;
        };
        EXPECT_TRUE(std::any_of(chosen.begin(), chosen.end(), names)) << report;
        EXPECT_NE(report.find("make it dense: InputValue in place of SparseInputValue"), std::string::npos) << report;
        // The message names the inputs of this type that may be sparse, or other types with sparse inputs.
        const std::string here = SparseInputNames(Type());
        EXPECT_TRUE(here.empty() || report.find("only " + here + " may be sparse; ") != std::string::npos ||
                    report.find(" only beside ") != std::string::npos)
            << report;
        EXPECT_TRUE(report.find(" go into ") != std::string::npos || report.find(" only beside ") != std::string::npos)
            << report;
    }

    // Value and gradients with sparse operands are those with dense ones.
    void ExpectSameAsDense(const GradientSample& sample, const std::vector<size_t>& chosen) const
    {
        for (const Layout layout : {Layout::Frames, Layout::Ragged, Layout::Dirty})
        {
            SCOPED_TRACE(Describe(Type(), 0, layout));
            const size_t columns = layout == Layout::Frames ? 4 : 12;
            const GradientSample sparseSample = WithData(sample, chosen, true, columns);
            const GradientSample denseSample = WithData(sample, chosen, false, columns);
            NodeCase sparse(Type(), sparseSample, layout, DataType::Float64, Cpu(), Registry());
            NodeCase dense(Type(), denseSample, layout, DataType::Float64, Cpu(), Registry());
            ExpectNear(Run(sparse, sparse.Options()), Run(dense, dense.Options()), 1e-12);
        }
    }

    static std::string NamesOf(const std::vector<size_t>& inputs)
    {
        std::string text;
        for (const size_t input : inputs)
            text += Concat(" input", input);
        return text;
    }
};

TEST_P(SparseSupportTest, WhatSamplesShowEqualsTheDenseOneAndAllElseIsRefused)
{
    std::vector<bool> accepted(20);
    for (size_t index = 0; index < Type().samples.size(); index++)
    {
        const GradientSample& sample = Type().samples[index];
        std::vector<size_t> data;
        for (size_t input = 0; input < sample.inputs.size(); input++)
            if (sample.inputs[input].inLayout)
                data.push_back(input);
        // All sets of inputs, the others as dense data or parameters.
        for (size_t set = 1; set < size_t(1) << data.size(); set++)
        {
            std::vector<size_t> chosen;
            for (size_t i = 0; i < data.size(); i++)
                if ((set >> i & 1) != 0)
                    chosen.push_back(data[i]);
            SCOPED_TRACE(Concat(Type().name, ", sample ", index, ", sparse", NamesOf(chosen)));
            GradientSample dense = sample;
            for (GradientSample::Input& input : dense.inputs)
                input.sparse = false;
            const std::string report = Report(WithData(dense, chosen, true, 0));
            if (!report.empty())
            {
                ExpectGoodMessage(report, chosen);
                continue;
            }
            for (const size_t input : chosen)
            {
                EXPECT_TRUE(IsListed(input)) << InputName(Type(), input) << " may be sparse, but no sample shows it";
                accepted[input] = true;
            }
            ExpectSameAsDense(dense, chosen);
        }
    }
    for (const size_t input : SparseInputs(Type()))
        EXPECT_TRUE(accepted[input]) << InputName(Type(), input);
}

INSTANTIATE_TEST_SUITE_P(Standard, SparseSupportTest, testing::ValuesIn(TypesOf(NodeRegistry::Standard())), NameOfType);

} // namespace
} // namespace cntk::Testing
