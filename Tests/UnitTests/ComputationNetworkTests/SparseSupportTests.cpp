// Sparse operands: what a type's samples do not show as sparse, it refuses when the network is validated, with the
// node, the input and what to do instead. The samples themselves run in RegistryTests.
#include "Common/Error.h"
#include "ComputationNetworkTests/RegistryTest.h"

namespace cntk::Testing
{
namespace
{

class SparseSupportTest : public RegistryTest
{
protected:
    // Not read, whatever it is: the second input of this type gives its layout and no values.
    bool GivesLayoutOnly(size_t input) const { return Type().name == "ReconcileDynamicAxis" && input == 1; }
    bool MayBeSparse(size_t input) const
    {
        return GivesLayoutOnly(input) ||
               std::any_of(Type().samples.begin(), Type().samples.end(),
                           [&](const GradientSample& sample)
                           { return input < sample.inputs.size() && sample.inputs[input].sparse; });
    }
    // The whole report of validating the sample with one input made sparse.
    std::string ReportWithSparse(const GradientSample& sample, size_t sparseInput) const
    {
        ComputationNetwork network(DataType::Float64, MakeReferenceDevice(), Registry());
        std::vector<ComputationNodePtr> inputs;
        for (size_t i = 0; i < sample.inputs.size(); i++)
        {
            const std::string name = "input" + std::to_string(i);
            const bool isSparse = i == sparseInput || sample.inputs[i].sparse;
            inputs.push_back(sample.inputs[i].inLayout ? network.AddInput(name, sample.inputs[i].shape, isSparse)
                                                       : network.AddParameter(name, sample.inputs[i].shape));
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
        return "accepted";
    }
};

TEST_P(SparseSupportTest, WhatNoSampleShowsIsRefused)
{
    for (size_t index = 0; index < Type().samples.size(); index++)
    {
        const GradientSample& sample = Type().samples[index];
        for (size_t input = 0; input < sample.inputs.size(); input++)
        {
            if (!sample.inputs[input].inLayout || sample.inputs[input].sparse || MayBeSparse(input))
                continue;
            SCOPED_TRACE(Concat(Type().name, ", sample ", index, ", input ", input));
            const std::string report = ReportWithSparse(sample, input);
            EXPECT_NE(report.find("while validating node = " + Type().name + "("), std::string::npos) << report;
            EXPECT_NE(report.find(Concat("'input", input, "' is sparse")), std::string::npos) << report;
            EXPECT_NE(report.find("InputValue"), std::string::npos) << report;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Standard, SparseSupportTest, testing::ValuesIn(TypesOf(NodeRegistry::Standard())), NameOfType);

} // namespace
} // namespace cntk::Testing
