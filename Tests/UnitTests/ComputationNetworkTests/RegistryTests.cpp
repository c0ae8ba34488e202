// Tests of all registered node types: gradients, accumulation, gaps, traits, frames, devices, files, documentation.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "CudaEmulation/CuDnnEmulation.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "ReferenceBackend/ReferenceDevice.h"
#include "RegistryTest.h"
#include "TestNetwork.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace cntk::Testing
{

std::vector<RegisteredType> TypesOf(const NodeRegistry& registry, const NodeRegistry* without)
{
    std::vector<RegisteredType> types;
    for (const NodeType& type : registry.Types())
        if (without == nullptr || without->Find(type.name) == nullptr)
            types.push_back({&registry, type.name});
    return types;
}

namespace
{

INSTANTIATE_TEST_SUITE_P(Types, RegistryTest, testing::ValuesIn(TypesOf(NodeRegistry::Standard())), NameOfType);

TEST_P(RegistryTest, IsDocumented)
{
    EXPECT_FALSE(Type().doc.empty());
    EXPECT_TRUE(Type().create);
    EXPECT_LE(Type().inputs.min, Type().inputs.max);
    EXPECT_EQ(Type().inputNames.size(), Type().inputs.max == Arity::c_any ? 1 : Type().inputs.max);
    std::set<std::string> names;
    for (const NodeParameterInfo& parameter : Type().parameters)
    {
        EXPECT_FALSE(parameter.doc.empty()) << parameter.name;
        EXPECT_TRUE(names.insert(ToLower(parameter.name)).second) << parameter.name;
        for (const std::string& alias : parameter.aliases)
            EXPECT_TRUE(names.insert(ToLower(alias)).second) << alias;
    }
    EXPECT_TRUE(Type().traits.isLeaf || !Type().samples.empty()) << "a type needs samples for the generic tests";
}

// Two instances share the inputs, so a gradient that is not added to what is there comes out wrong.
TEST_P(RegistryTest, GradientsAgreeWithDifferences)
{
    ForEachCase({Layout::Frames, Layout::Ragged, Layout::Dirty},
                [&](const GradientSample& sample, Layout layout)
                {
                    NodeCase node(Type(), sample, layout, DataType::Float64, Cpu(), Registry());
                    if (!node.Options().training)
                        return;
                    Evaluator evaluator(node.Network(), {node.Criterion()}, node.Options());
                    evaluator.Forward();
                    evaluator.Backward(node.Criterion());
                    std::vector<std::vector<double>> gradients;
                    for (size_t source = 0; source < node.Sources().size(); source++)
                        gradients.push_back(node.Gradient(source));
                    for (size_t source = 0; source < node.Sources().size(); source++)
                    {
                        Matrix& matrix = node.Sources()[source]->Values();
                        const std::vector<double> values = matrix.ToHost();
                        const auto criterionAt = [&](size_t element, double offset)
                        {
                            std::vector<double> moved = values;
                            moved[element] += offset;
                            matrix.FromHost(moved);
                            evaluator.Forward();
                            return node.CriterionValue();
                        };
                        constexpr double step = 1e-5;
                        for (size_t element = 0; element < values.size(); element++)
                        {
                            const double expected =
                                (criterionAt(element, step) - criterionAt(element, -step)) / (2 * step);
                            ASSERT_NEAR(gradients[source][element], expected,
                                        sample.tolerance * std::max(1.0, std::abs(expected)))
                                << node.Sources()[source]->Name() << ", element " << element;
                        }
                        matrix.FromHost(values);
                    }
                });
}

// The gradients of a minibatch take the place of those of the one before; those of its parts add up.
TEST_P(RegistryTest, GradientsOfPartsAddUpAndThoseOfMinibatchesDoNot)
{
    ForEachCase({Layout::Frames, Layout::Ragged, Layout::Dirty},
                [&](const GradientSample& sample, Layout layout)
                {
                    NodeCase node(Type(), sample, layout, DataType::Float64, Cpu(), Registry());
                    if (!node.Options().training)
                        return;
                    Evaluator evaluator(node.Network(), {node.Criterion()}, node.Options());
                    std::vector<std::vector<double>> first;
                    for (const double times : {1, 1, 2, 3, 1})
                    {
                        evaluator.Forward();
                        if (times == 1)
                            evaluator.Backward(node.Criterion());
                        else
                            evaluator.BackwardAccumulate(node.Criterion());
                        for (size_t source = 0; source < node.Sources().size(); source++)
                        {
                            const std::vector<double> gradient = node.Gradient(source);
                            if (first.size() == source)
                                first.push_back(gradient);
                            for (size_t element = 0; element < gradient.size(); element++)
                                ASSERT_NEAR(gradient[element], times * first[source][element],
                                            1e-12 * std::max(1.0, std::abs(gradient[element])))
                                    << node.Sources()[source]->Name() << ", element " << element;
                        }
                    }
                });
}

// Poisons what Backward claims not to read.
TEST_P(RegistryTest, TraitsAreTrue)
{
    const NodeTraits& traits = Type().traits;
    ForEachCase({Layout::Frames, Layout::Ragged},
                [&](const GradientSample& sample, Layout layout)
                {
                    NodeCase node(Type(), sample, layout, DataType::Float64, Cpu(), Registry());
                    if (!node.Options().training)
                        return;
                    EvaluatorOptions options = node.Options();
                    options.poisonMemory = false;
                    const Results expected = Run(node, options);

                    options.shareMemory = false;
                    Evaluator evaluator(node.Network(), {node.Criterion()}, options);
                    evaluator.Forward();
                    const double noNumber = std::numeric_limits<double>::quiet_NaN();
                    if (!traits.backpropReadsOutput)
                        Ops::Fill(node.Node()->Value(), noNumber);
                    for (size_t i = 0; i < node.Inputs().size(); i++)
                        if (!traits.BackpropReads(i) && !node.Inputs()[i]->IsSparse())
                            Ops::Fill(node.Inputs()[i]->Value(), noNumber);
                    evaluator.Backward(node.Criterion());
                    for (size_t source = 0; source < node.Sources().size(); source++)
                    {
                        const std::vector<double> gradient = node.Gradient(source);
                        for (size_t element = 0; element < gradient.size(); element++)
                            ASSERT_DOUBLE_EQ(gradient[element], expected.gradients[source][element]);
                    }
                });
}

TEST_P(RegistryTest, FrameByFrameEqualsWholeMinibatch)
{
    ForEachCase({Layout::Ragged, Layout::Dirty},
                [&](const GradientSample& sample, Layout layout)
                {
                    NodeCase whole(Type(), sample, layout, DataType::Float64, Cpu(), Registry());
                    NodeCase byFrame(Type(), sample, layout, DataType::Float64, Cpu(), Registry());
                    EvaluatorOptions options = byFrame.Options();
                    options.frameByFrame = true;
                    ExpectNear(Run(whole, whole.Options()), Run(byFrame, options), 1e-12);
                });
}

TEST_P(RegistryTest, DevicesAgree)
{
    ExpectAgreement(MakeReferenceDevice);
}

TEST_P(RegistryTest, EmulatedGpuAgrees)
{
    const int before = CuDnnEmulation::CallsOfThread().Work();
    ExpectAgreement([] { return MakeEmulatedGpu(); });
    if (CuDnnEmulation::CallsOfThread().Work() == before)
        return;
    SCOPED_TRACE("without cuDNN");
    ExpectAgreement(
        [] {
            return MakeEmulatedGpu(EmulatedMemory::Locked, c_emulatedMemoryBytes, WorkOrder::Late,
                                   EmulatedDnn::Missing);
        });
}

// With other numbers in the same places, seeds and counts included, as many minibatches in a row.
TEST_P(RegistryTest, RepeatedStepsEqualStepsOneByOne)
{
    size_t launches = 0;
    bool hasCases = false;
    ForEachCase({Layout::Frames, Layout::Ragged, Layout::Dirty},
                [&](const GradientSample& sample, Layout layout)
                {
                    const auto run = [&](bool graphs)
                    {
                        auto owned = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open, size_t(64) << 20);
                        const EmulatedRuntime& runtime = *owned;
                        GpuRequest request{0};
                        request.graphs = graphs;
                        NodeCase node(Type(), sample, layout, DataType::Float32,
                                      MakeEmulatedGpu(std::move(owned), request), Registry());
                        Evaluator evaluator(node.Network(), {node.Criterion()}, node.Options());
                        std::vector<std::vector<double>> results;
                        for (size_t step = 0; step < 5; step++)
                        {
                            for (const auto& source : node.Sources())
                            {
                                std::vector<double> values = source->Values().ToHost();
                                for (double& value : values)
                                    value *= step % 2 == 0 ? 1.0625 : 0.9375;
                                source->Values().FromHost(values);
                            }
                            if (step > 0)
                                node.Network().Layout()->BeginMinibatch();
                            evaluator.Forward();
                            if (auto* precompute = dynamic_cast<PrecomputeNode*>(node.Node().get()))
                                precompute->MarkComputed();
                            results.push_back({node.CriterionValue()});
                            results.push_back(node.NodeValue());
                            if (!node.Options().training)
                                continue;
                            evaluator.Backward(node.Criterion());
                            for (size_t source = 0; source < node.Sources().size(); source++)
                                results.push_back(node.Gradient(source));
                        }
                        launches += runtime.Counts().graphLaunches;
                        return results;
                    };
                    hasCases = true;
                    const auto repeated = run(true);
                    const auto oneByOne = run(false);
                    ASSERT_EQ(repeated.size(), oneByOne.size());
                    for (size_t i = 0; i < repeated.size(); i++)
                    {
                        ASSERT_EQ(repeated[i].size(), oneByOne[i].size());
                        for (size_t element = 0; element < repeated[i].size(); element++)
                            ASSERT_TRUE(repeated[i][element] == oneByOne[i][element] ||
                                        (std::isnan(repeated[i][element]) && std::isnan(oneByOne[i][element])))
                                << "result " << i << ", element " << element << ": " << repeated[i][element] << " and "
                                << oneByOne[i][element];
                    }
                });
    if (hasCases && Type().traits.isElementwise)
    {
        EXPECT_GT(launches, 0u) << "nothing of it was recorded";
    }
    RecordProperty("graphLaunches", int(launches));
}

TEST_P(RegistryTest, GpuAgrees)
{
    std::shared_ptr<Device> gpu;
    try
    {
        gpu = MakeGpuDevice(0, {.isChecked = false});
    }
    catch (const Error& error)
    {
        GTEST_SKIP() << error.Message();
    }
    ExpectAgreement([&] { return gpu; });
}

TEST_P(RegistryTest, TakesAnEmptyMinibatch)
{
    ForEachCase({Layout::Empty},
                [&](const GradientSample& sample, Layout layout)
                {
                    NodeCase node(Type(), sample, layout, DataType::Float64, Cpu(), Registry());
                    Evaluator evaluator(node.Network(), {node.Criterion()}, node.Options());
                    evaluator.Forward();
                    if (!node.Options().training)
                        return;
                    for (const auto& source : node.Sources()) // of the minibatch before
                        Ops::Fill(source->Gradient(), 7);
                    evaluator.Backward(node.Criterion());
                    const bool isOfData = node.Node()->HasMBLayout();
                    if (isOfData)
                    {
                        EXPECT_EQ(node.CriterionValue(), 0);
                    }
                    for (size_t source = 0; source < node.Sources().size(); source++)
                        for (const double gradient : node.Gradient(source))
                            EXPECT_TRUE(isOfData ? gradient == 0 : std::isfinite(gradient)) << gradient;
                });
}

TEST_P(RegistryTest, SavedAgainIsTheSame)
{
    ForEachCase({Layout::Frames},
                [&](const GradientSample& sample, Layout layout)
                {
                    const std::string folder = testing::TempDir();
                    const std::string first = folder + "registry." + Type().name + ".first.dnn";
                    const std::string second = folder + "registry." + Type().name + ".second.dnn";
                    NodeCase node(Type(), sample, layout, DataType::Float32, Cpu(), Registry());
                    SaveModel(node.Network(), first);
                    const auto loaded = LoadModel(first, DataType::Float32, Cpu(), Registry());
                    SaveModel(*loaded, second);
                    EXPECT_EQ(MappedFile(first).Text(), MappedFile(second).Text());
                    EXPECT_EQ(loaded->Require("node")->Type().name, Type().name);
                    RemoveFile(first);
                    RemoveFile(second);
                });
}

// A node without parameters has the default values that help documents.
TEST_P(RegistryTest, DefaultsAreAsDocumented)
{
    const std::string file = testing::TempDir() + "registry." + Type().name + ".default.dnn";
    const auto modelOf = [&](const GradientSample& sample, Layout layout)
    {
        NodeCase node(Type(), sample, layout, DataType::Float32, Cpu(), Registry());
        SaveModel(node.Network(), file);
        return std::string(MappedFile(file).Text()) + node.Node()->DescribeFields();
    };
    ForEachCase({Layout::Frames},
                [&](const GradientSample& sample, Layout layout)
                {
                    const std::string expected = modelOf(sample, layout);
                    for (const NodeParameterInfo& parameter : Type().parameters)
                    {
                        if (parameter.defaultText.empty() || sample.parameters.contains(parameter.name))
                            continue;
                        GradientSample told = sample;
                        told.parameters[parameter.name] = parameter.defaultText;
                        EXPECT_TRUE(modelOf(told, layout) == expected)
                            << parameter.name << "=" << parameter.defaultText << " is not the default";
                    }
                });
    RemoveFile(file);
}

// A parameter of the record is one that the node looks at.
TEST_P(RegistryTest, ParametersAreRead)
{
    for (const NodeParameterInfo& parameter : Type().parameters)
    {
        if (parameter.kind == ParameterKind::Text || Type().traits.isLeaf ||
            parameter.doc.find("without effect") != std::string::npos)
            continue;
        bool isRead = false;
        for (const GradientSample& sample : Type().samples)
        {
            GradientSample wrong = sample;
            wrong.parameters[parameter.name] = "what?";
            try
            {
                NodeCase(Type(), wrong, Layout::Frames, DataType::Float64, Cpu(), Registry());
            }
            catch (const Error& error)
            {
                isRead = isRead || error.Message().find(parameter.name) != std::string::npos;
            }
        }
        EXPECT_TRUE(isRead) << parameter.name;
    }
}

TEST(NodeRegistryTest, NamesAndAliasesAreUnique)
{
    std::set<std::string> names;
    for (const NodeType& type : NodeRegistry::Standard().Types())
    {
        EXPECT_TRUE(names.insert(ToLower(type.name)).second) << type.name;
        for (const std::string& alias : type.aliases)
            EXPECT_TRUE(names.insert(ToLower(alias)).second) << alias;
    }
}

} // namespace

} // namespace cntk::Testing
