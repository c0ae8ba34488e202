// Builds the network of a gradient sample and fills it with reproducible numbers.
#include "NodeCase.h"

#include "Common/Error.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "TestNetwork.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cntk::Testing
{

namespace
{

const char* NameOf(Layout layout)
{
    switch (layout)
    {
    case Layout::Frames:
        return "Frames";
    case Layout::Ragged:
        return "Ragged";
    case Layout::Dirty:
        return "Dirty";
    case Layout::Empty:
        break;
    }
    return "Empty";
}

} // namespace

std::string Describe(const NodeType& type, size_t sample, Layout layout)
{
    return Concat(type.name, ", sample ", sample, ", ", NameOf(layout));
}

NodeCase::NodeCase(const NodeType& type, const GradientSample& sample, Layout layout, DataType dataType,
                   std::shared_ptr<Device> device, const NodeRegistry& registry)
    : m_type(&type), m_sample(&sample),
      m_garbage(layout == Layout::Dirty ? 7 : std::numeric_limits<double>::quiet_NaN()), m_device(std::move(device))
{
    m_network = std::make_unique<ComputationNetwork>(dataType, m_device, registry);
    SetLayout(layout);
    for (size_t i = 0; i < sample.inputs.size(); i++)
        m_inputs.push_back(AddInput(i, sample.inputs[i]));
    NodeParameters parameters;
    for (const auto& [name, value] : sample.parameters)
        parameters.Set(name, value);
    m_node = m_network->Add(type.name, "node", m_inputs, parameters);
    const ComputationNodePtr twin = m_network->Add(type.name, "twin", m_inputs, parameters);
    m_network->Validate();
    for (size_t i = 0; i < sample.inputs.size(); i++)
        if (auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(m_inputs[i]))
            parameter->Values().FromHost(
                Draw(sample.inputs[i], parameter->ValueRows(), parameter->ValueColumns())); // its shape may be inferred
    m_criterion = m_network->Add("Plus", "criterion", {AddWeighted(m_node, "node"), AddWeighted(twin, "twin")});
    m_network->Validate();
    for (const ComputationNodePtr& statistic : {m_node, twin})
        if (auto* precompute = dynamic_cast<PrecomputeNode*>(statistic.get()))
            precompute->BeginPrecompute();
    for (const ComputationNodePtr& node : {m_node, twin})
        if (sample.prepare)
            sample.prepare(*node, *m_network->Layout());
}

void NodeCase::SetLayout(Layout layout)
{
    MBLayout& minibatch = *m_network->Layout();
    if (layout == Layout::Frames || layout == Layout::Empty)
        return minibatch.InitAsFrameMode(layout == Layout::Frames ? 4 : 0);
    minibatch.Init(3, 4);
    minibatch.AddSequence(0, 0, 0, 4);
    minibatch.AddSequence(1, 1, 0, 2);
    minibatch.AddGap(1, 2, 3);
    minibatch.AddSequence(2, 1, 3, 4);
    minibatch.AddSequence(3, 2, 0, 3);
    minibatch.AddGap(2, 3, 4);
}

std::vector<double> NodeCase::Draw(const GradientSample::Input& described, size_t rows, size_t columns)
{
    if (!described.values.empty())
        return described.values;
    std::vector<double> values(rows * columns);
    if (described.oneHot)
    {
        for (size_t column = 0; column < columns; column++)
            values[column * rows + std::uniform_int_distribution<size_t>(0, rows - 1)(m_random)] = 1;
        return values;
    }
    for (double& value : values)
        do
            value = described.sparse && Number(0, 1) < 0.5 ? 0 : Number(described.low, described.high);
        while (m_sample->kinkDistance > 0 && std::abs(value) < m_sample->kinkDistance);
    return values;
}

void NodeCase::FillGaps(std::vector<double>& values, const std::vector<uint8_t>& mask, size_t rows, double garbage)
{
    for (size_t column = 0; column < mask.size(); column++)
        if (mask[column] == 0)
            std::fill_n(values.begin() + ptrdiff_t(column * rows), rows, garbage);
}

ComputationNodePtr NodeCase::AddData(const std::string& name, const TensorShape& shape,
                                     const std::vector<double>& values, bool sparse)
{
    const ComputationNodePtr node = m_network->AddInput(name, shape, sparse);
    auto& input = dynamic_cast<InputValueNode&>(*node);
    std::vector<double> data = values;
    FillGaps(data, Mask(), shape.Elements(), sparse ? 0 : m_garbage);
    input.SetDense(data.data(), shape.Elements(), m_network->Layout()->Columns());
    return node;
}

ComputationNodePtr NodeCase::AddInput(size_t index, const GradientSample::Input& described)
{
    const std::string name = Concat("input", index);
    const bool trained = m_type->traits.differentiable && described.checkGradient;
    const size_t columns = m_network->Layout()->Columns();
    const size_t rows = described.shape.Elements();
    if (described.inLayout && !trained)
        return AddData(name, described.shape, Draw(described, rows, columns), described.sparse);

    TensorShape shape = described.shape;
    if (described.inLayout)
        shape.SetDim(shape.Rank(), std::max<size_t>(columns, 1));
    const auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(m_network->AddParameter(name, shape));
    parameter->SetLearningRateMultiplier(trained ? 1.0f : 0.0f);
    if (trained)
        m_sources.push_back(parameter);
    if (!described.inLayout)
    {
        if (!described.values.empty()) // shapes may follow from them
            parameter->Values().FromHost(described.values);
        return parameter;
    }
    // Column j of the parameter is sample j.
    parameter->Values().FromHost(Draw(described, rows, std::max<size_t>(columns, 1)));
    std::vector<double> unit(columns * columns);
    for (size_t column = 0; column < columns; column++)
        unit[column * (columns + 1)] = 1;
    const ComputationNodePtr selector =
        AddData(name + ".selector", TensorShape{std::max<size_t>(columns, 1)}, unit, false);
    NodeParameters parameters;
    parameters.Set("outputRank", std::to_string(described.shape.Rank()));
    return m_network->Add("Times", name + ".samples", {parameter, selector}, parameters);
}

ComputationNodePtr NodeCase::AddWeighted(const ComputationNodePtr& node, const std::string& name)
{
    const size_t columns = node->GetMBLayout() == m_network->Layout() ? node->GetMBLayout()->Columns() : 1;
    std::vector<double> values(node->SampleElements() * columns);
    for (double& value : values)
        value = Number(-2, 2);
    ComputationNodePtr weights;
    // A layout of the node's own is not there yet; all of its samples then get the same weights.
    if (node->HasMBLayout() && node->GetMBLayout() == m_network->Layout())
        weights = AddData(name + ".weights", node->SampleLayout(), values, false);
    else
    {
        const auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(
            m_network->AddParameter(name + ".weights", node->SampleLayout()));
        parameter->Values().FromHost(values);
        parameter->SetLearningRateMultiplier(0);
        weights = parameter;
    }
    return m_network->Add("SumElements", name + ".sum",
                          {m_network->Add("ElementTimes", name + ".weighted", {weights, node})});
}

EvaluatorOptions NodeCase::Options() const
{
    EvaluatorOptions options;
    options.training = m_type->traits.differentiable && !m_sources.empty();
    options.checkPlan = true;
    options.poisonMemory = true;
    options.keepValues = {m_node};
    return options;
}

std::vector<double> NodeCase::NodeValue() const
{
    std::vector<double> values = HostCopy(m_node->Value());
    if (m_node->HasMBLayout())
        FillGaps(values, m_node->GetMBLayout()->ColumnMask(), m_node->SampleElements(), 0);
    return values;
}

std::vector<double> NodeCase::Gradient(size_t source) const
{
    return HostCopy(m_sources[source]->Gradient());
}

} // namespace cntk::Testing
