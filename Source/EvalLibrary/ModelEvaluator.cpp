// Samples are read in place where the columns of the minibatch are the samples in their order and type.
#include "EvalLibrary/ModelEvaluator.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "Math/Operations.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace cntk
{

namespace
{

bool IsOneOf(const ComputationNode& node, std::initializer_list<std::string_view> types)
{
    return std::find(types.begin(), types.end(), node.TypeName()) != types.end();
}

// Returns true if a value depends on later samples of its sequence.
bool LooksAhead(const ComputationNode& node)
{
    const NodeTraits& traits = node.Type().traits;
    return (traits.isDelay && traits.delayDirection < 0) || traits.makesLayout || traits.inputsReadWhole != 0 ||
           IsOneOf(node, {"TimeReverse", "PackedIndex", "GatherPacked", "ScatterPacked", "SequenceDecoderNode", "CRF",
                          "SequenceWithSoftmax", "PairNetwork"});
}

// Returns true if a value depends on earlier samples of its sequence, or joins or splits steps.
bool ReadsSequences(const ComputationNode& node)
{
    return node.Type().traits.isDelay || dynamic_cast<const RecurrentState*>(&node) != nullptr ||
           IsOneOf(node, {"LegacyReshape"}) || LooksAhead(node);
}

// Nodes below the roots that are evaluated: inputs of a computed statistic are not read.
std::vector<ComputationNode*> EvaluatedNodes(const std::vector<ComputationNodePtr>& roots)
{
    std::vector<ComputationNode*> nodes;
    std::unordered_set<const ComputationNode*> seen;
    std::vector<ComputationNode*> open;
    for (size_t i = roots.size(); i-- > 0;)
        open.push_back(roots[i].get());
    while (!open.empty())
    {
        ComputationNode* const node = open.back();
        open.pop_back();
        if (!seen.insert(node).second)
            continue;
        nodes.push_back(node);
        if (node->ReadsInputs())
            for (size_t i = node->InputCount(); i-- > 0;)
                open.push_back(node->Input(i).get());
    }
    return nodes;
}

template <class To, class From>
void Convert(const From* from, size_t count, To* to)
{
    std::transform(from, from + count, to, [](From value) { return To(value); });
}

template <class To>
void ConvertFrom(DataType type, const void* from, size_t count, To* to)
{
    if (count == 0) // the pointers may be null
        return;
    if (type == DataTypeOf<To>())
        std::memcpy(to, from, count * sizeof(To));
    else
        VisitType(type, [&](auto tag) { Convert(static_cast<const decltype(tag)*>(from), count, to); });
}

const void* Beyond(const void* values, size_t elements, DataType type)
{
    return static_cast<const std::byte*>(values) + elements * SizeOf(type);
}

} // namespace

// ---- creation ----

ModelEvaluator::ModelEvaluator(std::shared_ptr<const EvaluationModel> model, std::span<const char* const> outputs)
    : m_model(std::move(model))
{
    const std::vector<std::string> names = m_model->OutputNames(outputs);
    m_network = m_model->MakeNetwork(names);
    std::vector<ComputationNodePtr> roots;
    for (const std::string& name : names)
    {
        const ComputationNodePtr node = m_network->Require(name);
        m_outputs.emplace_back().node = node.get();
        if (std::find(roots.begin(), roots.end(), node) == roots.end())
            roots.push_back(node);
    }
    for (ComputationNode* node : EvaluatedNodes(roots))
    {
        if (m_looksAhead == nullptr && LooksAhead(*node))
            m_looksAhead = node;
        if (auto* const input = As<InputValueNode>(node))
            m_inputs.emplace_back().node = input;
    }
    CollectAxes();
    m_evaluator = std::make_unique<Evaluator>(*m_network, std::move(roots), EvaluatorOptions{});
}

void ModelEvaluator::CollectAxes()
{
    constexpr size_t c_farthestWithGroups = size_t(1) << 20; // steps are joined in groups of unknown size
    size_t farthest = 1;
    bool readsSequences = false;
    for (const ComputationNodePtr& node : m_network->Nodes())
    {
        readsSequences = readsSequences || ReadsSequences(*node);
        if (const auto* const delay = As<DelayNode>(node.get()))
            farthest = std::max(farthest, delay->TimeStep());
        if (IsOneOf(*node, {"LegacyReshape"}))
            farthest = c_farthestWithGroups;
    }
    const AxisSequences::Form form = !readsSequences           ? AxisSequences::Form::Frames
                                     : m_looksAhead != nullptr ? AxisSequences::Form::Packed
                                                               : AxisSequences::Form::Carried;
    for (Input& input : m_inputs)
    {
        const MBLayoutPtr& layout = input.node->GetMBLayout();
        const auto known = std::find_if(m_axes.begin(), m_axes.end(),
                                        [&](const Axis& axis) { return axis.sequences.Layout() == layout; });
        input.axis = size_t(known - m_axes.begin());
        if (known == m_axes.end())
            m_axes.push_back({input.node->DynamicAxis(), AxisSequences(layout, form, farthest)});
    }
}

const ComputationNode& ModelEvaluator::InputNode(size_t index) const
{
    if (index >= m_inputs.size())
        Fail(ErrorKind::Usage, "there is no input ", index, "; the evaluator has ", Counted(m_inputs.size(), "input"),
             ", counted from 0");
    return *m_inputs[index].node;
}

const ComputationNode& ModelEvaluator::OutputNode(size_t index) const
{
    if (index >= m_outputs.size())
        Fail(ErrorKind::Usage, "there is no output ", index, "; the evaluator has ",
             Counted(m_outputs.size(), "output"), ", counted from 0");
    return *m_outputs[index].node;
}

// ---- samples ----

void ModelEvaluator::SetSequences(const std::string& axis, std::span<const size_t> lengths)
{
    for (Axis& one : m_axes)
        if (EqualsIgnoreCase(one.name, axis))
            return one.sequences.SetLengths(lengths);
    std::vector<std::string> names;
    for (const Axis& one : m_axes)
        names.push_back(one.name.empty() ? "\"\" (the default axis)" : "'" + one.name + "'");
    Fail(ErrorKind::Usage, "no input has the dynamic axis '", axis, "'; expected one of ", Join(names, ", "));
}

namespace
{

void RequireMemory(const void* memory, std::string_view name, const ComputationNode& input)
{
    if (memory == nullptr)
        Fail(ErrorKind::Usage, name, " of input '", input.Name(), "' is NULL");
}

void CheckSparse(const GivenSamples& given, const ComputationNode& input)
{
    if (given.starts[0] < 0)
        Fail(ErrorKind::Data, "starts[0] of input '", input.Name(), "' is ", given.starts[0], "; expected 0 or more");
    for (size_t i = 0; i < given.samples; i++)
    {
        if (given.starts[i + 1] < given.starts[i])
            Fail(ErrorKind::Data, "starts[", i + 1, "] of input '", input.Name(), "' is ", given.starts[i + 1],
                 ", less than starts[", i, "], ", given.starts[i]);
        for (int32_t k = given.starts[i] + 1; k < given.starts[i + 1]; k++)
            if (given.rows[k] <= given.rows[k - 1])
                Fail(ErrorKind::Data, "the rows of sample ", i, " of input '", input.Name(),
                     "' do not ascend: ", given.rows[k], " follows ", given.rows[k - 1]);
    }
}

} // namespace

void ModelEvaluator::SetSamples(size_t index, const GivenSamples& samples)
{
    const ComputationNode& node = InputNode(index);
    m_inputs[index].given = {};
    if (samples.samples > 0)
    {
        const bool isSparse = samples.kind == GivenSamples::Kind::Sparse;
        if (isSparse)
            RequireMemory(samples.starts, "starts", node);
        const bool isEmpty = isSparse && samples.starts[samples.samples] == samples.starts[0]; // e.g. empty vectors
        if (samples.kind != GivenSamples::Kind::Dense && !isEmpty)
            RequireMemory(samples.rows, "rows", node);
        if (samples.kind != GivenSamples::Kind::Words && !isEmpty)
            RequireMemory(samples.values, "values", node);
        if (isSparse)
            CheckSparse(samples, node);
    }
    m_inputs[index].given = samples;
}

size_t ModelEvaluator::SamplesOf(const Axis& axis) const
{
    const Input* first = nullptr;
    for (const Input& input : m_inputs)
    {
        if (&m_axes[input.axis] != &axis)
            continue;
        const std::string& name = input.node->Name();
        if (input.given.kind == GivenSamples::Kind::None)
            Fail(ErrorKind::Usage, "input '", name,
                 "' has no samples; call cntk_set_dense, cntk_set_words or cntk_set_sparse before each evaluation");
        if (!axis.sequences.IsIndependent() && input.given.samples != axis.sequences.Samples())
            Fail(ErrorKind::Data, "input '", name, "' has ", Counted(input.given.samples, "sample"),
                 ", but the sequences have ", axis.sequences.Samples(), " together");
        if (first != nullptr && input.given.samples != first->given.samples)
            Fail(ErrorKind::Data, "input '", name, "' has ", Counted(input.given.samples, "sample"), ", but input '",
                 first->node->Name(), "' has ", first->given.samples);
        first = &input;
    }
    return first->given.samples;
}

void ModelEvaluator::Bind(Input& input)
{
    VisitType(m_network->GetDataType(),
              [&](auto tag)
              {
                  using T = decltype(tag);
                  input.given.kind == GivenSamples::Kind::Dense ? BindDense<T>(input) : BindSparse<T>(input);
              });
}

template <class T>
void ModelEvaluator::BindDense(Input& input)
{
    const GivenSamples& given = input.given;
    const AxisSequences& order = m_axes[input.axis].sequences;
    const size_t rows = input.node->SampleElements(), columns = order.Layout()->Columns();
    if (order.IsInOrder() && given.type == DataTypeOf<T>())
        return input.node->ReferToDense(static_cast<const T*>(given.values), rows, columns);
    input.values.resize(rows * columns * sizeof(T));
    T* const values = reinterpret_cast<T*>(input.values.data());
    if (order.IsInOrder())
        ConvertFrom(given.type, given.values, rows * columns, values);
    else
    {
        if (order.ColumnOfSample().size() < columns)
            std::fill_n(values, rows * columns, T(0));
        for (size_t i = 0; i < given.samples; i++)
            ConvertFrom(given.type, Beyond(given.values, i * rows, given.type), rows,
                        values + order.ColumnOfSample()[i] * rows);
    }
    input.node->ReferToDense(static_cast<const T*>(values), rows, columns);
}

template <class T>
void ModelEvaluator::BindSparse(Input& input)
{
    const GivenSamples& given = input.given;
    const AxisSequences& order = m_axes[input.axis].sequences;
    const size_t columns = order.Layout()->Columns();
    const bool areWords = given.kind == GivenSamples::Kind::Words;
    const auto begin = [&](size_t sample) { return areWords ? sample : size_t(given.starts[sample]); };
    const auto count = [&](size_t sample) { return begin(sample + 1) - begin(sample); };
    const auto columnOf = [&](size_t sample) { return order.IsInOrder() ? sample : order.ColumnOfSample()[sample]; };

    input.starts.assign(columns + 1, 0);
    for (size_t i = 0; i < given.samples; i++)
        input.starts[columnOf(i) + 1] = int32_t(count(i));
    for (size_t column = 0; column < columns; column++)
        input.starts[column + 1] += input.starts[column];
    const size_t elements = size_t(input.starts[columns]);
    input.rows.resize(elements);
    input.values.resize(elements * sizeof(T));
    T* const values = reinterpret_cast<T*>(input.values.data());
    for (size_t i = 0; i < given.samples; i++)
    {
        const size_t first = begin(i), to = size_t(input.starts[columnOf(i)]);
        std::copy_n(given.rows + first, count(i), input.rows.begin() + ptrdiff_t(to));
        if (areWords)
            values[to] = T(1);
        else
            ConvertFrom(given.type, Beyond(given.values, first, given.type), count(i), values + to);
    }
    input.node->SetSparse(static_cast<const T*>(values), input.rows.data(), input.starts.data(),
                          input.node->SampleElements(), columns);
}

// ---- evaluation ----

void ModelEvaluator::RequireResumable() const
{
    if (m_looksAhead != nullptr)
        Fail(ErrorKind::Model, "sequences cannot be continued: node '", m_looksAhead->Name(), "' (",
             m_looksAhead->TypeName(), ") looks ahead in time; call cntk_evaluate with whole sequences");
    for (const Axis& axis : m_axes)
    {
        const size_t now = axis.sequences.Sequences(SamplesOf(axis)), before = axis.sequences.Carried();
        if (before > 0 && now != before)
            Fail(ErrorKind::Data, "the call has ", Counted(now, "sequence"), ", but ", before,
                 " are to be continued; give as many, or call cntk_reset first");
    }
}

void ModelEvaluator::Evaluate(Beginning beginning)
{
    m_isEvaluated = false;
    size_t samples = 0;
    for (const Axis& axis : m_axes)
        samples = std::max(samples, SamplesOf(axis));
    if (beginning == Beginning::Resume)
        RequireResumable();
    else
        Reset();
    const auto forget = [&]
    {
        for (Input& input : m_inputs)
            input.given = {};
    };
    try
    {
        if (samples > 0 || m_axes.empty())
            Forward();
    }
    catch (...)
    {
        forget();
        Reset();
        throw;
    }
    for (Output& output : m_outputs)
        FindOutput(output, samples);
    forget();
    m_isEvaluated = true;
}

void ModelEvaluator::Forward()
{
    std::unique_lock<std::mutex> lock;
    if (m_model->DeviceLock() != nullptr)
        lock = std::unique_lock(*m_model->DeviceLock());
    for (Axis& axis : m_axes)
        axis.sequences.Begin(SamplesOf(axis));
    for (Input& input : m_inputs)
        Bind(input);
    m_evaluator->Forward();
    for (Axis& axis : m_axes)
        axis.sequences.End();
}

void ModelEvaluator::Reset()
{
    for (Axis& axis : m_axes)
        axis.sequences.Restart();
}

void ModelEvaluator::FindOutput(Output& output, size_t samples)
{
    output.isStaged = false;
    output.isInOrder = true;
    output.samples = 1;
    const MBLayoutPtr& layout = output.node->GetMBLayout();
    if (layout == nullptr)
        return;
    output.samples = 0;
    if (samples == 0)
        return;
    const auto axis =
        std::find_if(m_axes.begin(), m_axes.end(), [&](const Axis& one) { return one.sequences.Layout() == layout; });
    if (axis != m_axes.end())
    {
        output.isInOrder = axis->sequences.IsInOrder();
        if (!output.isInOrder)
            output.columns = axis->sequences.ColumnOfSample();
    }
    else
        output.isInOrder = ListColumnsOf(*layout, output.columns);
    output.samples = output.isInOrder ? layout->Columns() : output.columns.size();
    if (As<InputValueNode>(output.node) != nullptr) // its samples are the caller's memory
        Stage(output);
}

// ---- results ----

const ModelEvaluator::Output& ModelEvaluator::Evaluated(size_t output) const
{
    OutputNode(output);
    if (!m_isEvaluated)
        Fail(ErrorKind::Usage, "output '", m_outputs[output].node->Name(),
             "' has no values; call cntk_evaluate or cntk_evaluate_next first");
    return m_outputs[output];
}

size_t ModelEvaluator::Samples(size_t output) const
{
    return Evaluated(output).samples;
}

// Puts the samples, in their order, into kept host memory.
void ModelEvaluator::Stage(Output& output)
{
    if (output.isStaged)
        return;
    MatrixView value = output.node->Value();
    if (output.node->HasSparseForm())
    {
        const SparseView sparse = output.node->SparseValue(FrameRange::All());
        if (!output.dense.IsAllocated())
            output.dense = Matrix(0, 0, m_network->GetDataType(), m_network->GetDevice());
        output.dense.Resize(sparse.rows, sparse.columns);
        Ops::ToDense(sparse, output.dense);
        value = output.dense.View();
    }
    const size_t bytes = value.rows * SizeOf(value.type);
    Device& device = m_network->GetDevice();
    output.staged.resize(bytes * (output.isInOrder ? value.columns : output.columns.size()));
    std::byte* const staged = output.staged.data();
    if (output.isInOrder && value.IsContiguous())
        device.CopyToHost(staged, value.data, bytes * value.columns);
    else
        for (size_t i = 0; i < (output.isInOrder ? value.columns : output.columns.size()); i++)
            device.CopyToHost(staged + i * bytes, value.Columns(output.isInOrder ? i : output.columns[i], 1).data,
                              bytes);
    output.isStaged = true;
}

const void* ModelEvaluator::View(size_t index)
{
    Evaluated(index);
    Output& output = m_outputs[index];
    const bool isInPlace = !output.isStaged && output.isInOrder && !output.node->HasSparseForm() &&
                           m_network->GetDevice().IsHostMemory() && output.node->Value().IsContiguous();
    if (isInPlace)
        return output.node->Value().data;
    Stage(output);
    return output.staged.data();
}

void ModelEvaluator::Copy(size_t index, DataType type, void* values)
{
    const void* const source = View(index);
    const size_t elements = m_outputs[index].samples * m_outputs[index].node->SampleElements();
    VisitType(type, [&](auto tag)
              { ConvertFrom(m_network->GetDataType(), source, elements, static_cast<decltype(tag)*>(values)); });
}

} // namespace cntk
