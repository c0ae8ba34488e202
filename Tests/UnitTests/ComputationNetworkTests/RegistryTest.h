// The generic tests of node types (RegistryTests.cpp) as a suite that any registry can be run through:
// INSTANTIATE_TEST_SUITE_P(Mine, RegistryTest, testing::ValuesIn(TypesOf(registry)), NameOfType);
#pragma once

#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "ComputationNetworkTests/NodeCase.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace cntk::Testing
{

// A type by name: registries are made when the tests are listed, and stay.
struct RegisteredType
{
    const NodeRegistry* registry;
    std::string name;
};

inline std::ostream& operator<<(std::ostream& out, const RegisteredType& type)
{
    return out << type.name;
}

inline std::string NameOfType(const testing::TestParamInfo<RegisteredType>& info)
{
    return info.param.name;
}

// All types, or those that another registry does not have.
std::vector<RegisteredType> TypesOf(const NodeRegistry& registry, const NodeRegistry* without = nullptr);

class RegistryTest : public testing::TestWithParam<RegisteredType>
{
protected:
    const NodeRegistry& Registry() const { return *GetParam().registry; }
    const NodeType& Type() const { return *Registry().Find(GetParam().name); }
    // One device for all networks: each has memory in work that takes longer to make than most of them to be evaluated.
    static const std::shared_ptr<Device>& Cpu()
    {
        static const std::shared_ptr<Device> cpu = MakeCpuDevice();
        return cpu;
    }

    // body(case factory) for each sample and each layout that makes a difference to it.
    template <class Body>
    void ForEachCase(std::initializer_list<Layout> layouts, Body&& body) const
    {
        for (size_t index = 0; index < Type().samples.size(); index++)
        {
            const GradientSample& sample = Type().samples[index];
            const bool hasData = std::any_of(sample.inputs.begin(), sample.inputs.end(),
                                             [](const GradientSample::Input& input) { return input.inLayout; });
            for (const Layout layout : layouts)
            {
                if (!hasData && layout != *layouts.begin())
                    continue;
                SCOPED_TRACE(Describe(Type(), index, layout));
                body(sample, layout);
            }
        }
    }

    struct Results
    {
        double criterion = 0;
        std::vector<double> value;
        std::vector<std::vector<double>> gradients;
    };

    static Results Run(NodeCase& node, const EvaluatorOptions& options)
    {
        Evaluator evaluator(node.Network(), {node.Criterion()}, options);
        evaluator.Forward();
        if (auto* precompute = dynamic_cast<PrecomputeNode*>(node.Node().get()))
            precompute->MarkComputed();
        Results results{node.CriterionValue(), node.NodeValue(), {}};
        if (options.training)
        {
            evaluator.Backward(node.Criterion());
            for (size_t source = 0; source < node.Sources().size(); source++)
                results.gradients.push_back(node.Gradient(source));
        }
        return results;
    }

    // A device computes what the CPU does, forward and backward.
    void ExpectAgreement(const std::function<std::shared_ptr<Device>()>& makeDevice) const
    {
        for (const auto& [dataType, tolerance] : {std::pair(DataType::Float64, 1e-12), {DataType::Float32, 2e-5}})
            ForEachCase({Layout::Frames, Layout::Ragged},
                        [&, dataType = dataType, tolerance = tolerance](const GradientSample& sample, Layout layout)
                        {
                            SCOPED_TRACE(cntk::NameOf(dataType));
                            NodeCase cpu(Type(), sample, layout, dataType, Cpu(), Registry());
                            NodeCase other(Type(), sample, layout, dataType, makeDevice(), Registry());
                            ExpectNear(Run(cpu, cpu.Options()), Run(other, other.Options()), tolerance);
                        });
    }

    static void ExpectNear(const Results& a, const Results& b, double tolerance)
    {
        const auto compare = [&](const std::vector<double>& x, const std::vector<double>& y, const char* what)
        {
            ASSERT_EQ(x.size(), y.size()) << what;
            for (size_t i = 0; i < x.size(); i++)
                ASSERT_NEAR(x[i], y[i], tolerance * std::max({1.0, std::abs(x[i]), std::abs(y[i])}))
                    << what << ", element " << i;
        };
        compare({a.criterion}, {b.criterion}, "criterion");
        compare(a.value, b.value, "value");
        ASSERT_EQ(a.gradients.size(), b.gradients.size());
        for (size_t source = 0; source < a.gradients.size(); source++)
            compare(a.gradients[source], b.gradients[source], "gradient");
    }
};

} // namespace cntk::Testing
