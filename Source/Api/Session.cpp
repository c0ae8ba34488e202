// Sessions: data in, values and gradients out.
#include "Api/Session.h"

#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/DropoutNode.h"
#include "Math/Operations.h"
#include "SGD/Minibatches/NetworkBinder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cntk::Api
{

namespace
{

constexpr size_t c_sessionsOfRoot = 8;              // that a root keeps
const std::string c_rootGradient = "root_gradient"; // the input for the root's gradient, and its axis

std::vector<uint64_t> NumbersOf(const std::vector<NodePtr>& nodes)
{
    std::vector<uint64_t> uids;
    for (const NodePtr& node : nodes)
        uids.push_back(node->uid);
    return uids;
}

} // namespace

Session::Key Session::KeyOf(const std::vector<NodePtr>& roots, const SessionOptions& options)
{
    return {NumbersOf(roots), NumbersOf(options.wanted), options.isTraining, options.hasRootGradient};
}

std::shared_ptr<Session> Session::Get(Context& context, const std::vector<NodePtr>& roots,
                                      const SessionOptions& options)
{
    std::vector<std::shared_ptr<Session>>& cached = roots.front()->sessions;
    const Key key = KeyOf(roots, options);
    const auto fits = [&](const std::shared_ptr<Session>& session)
    { return session->m_key == key && (!session->m_hasNamedLoops || session->m_renames == context.Renames()); };
    const auto found = std::find_if(cached.begin(), cached.end(), fits);
    if (found != cached.end())
    {
        std::rotate(cached.begin(), found, found + 1);
        return cached.front();
    }
    auto session = std::make_shared<Session>(context, roots, options);
    cached.insert(cached.begin(), session);
    if (cached.size() > c_sessionsOfRoot)
        cached.pop_back();
    return session;
}

Session::Session(Context& context, const std::vector<NodePtr>& roots, const SessionOptions& options)
    : m_key(KeyOf(roots, options)), m_renames(context.Renames())
{
    std::vector<NodePtr> all = roots;
    NodePtr loss;
    if (!options.wanted.empty())
    {
        loss = MakeLoss(context, Resolved(roots.back()), options);
        all.push_back(loss);
    }
    LoweredNetwork lowered(context, all);
    m_hasNamedLoops = lowered.HasNamedLoops();
    for (const ComputationNodePtr& node : lowered.Network().Nodes())
        m_hasNamedLoops = m_hasNamedLoops || node->IsPrecomputed(); // computed later, maybe
    m_device = lowered.GetDevice();
    CollectArguments(lowered);
    const auto outputOf = [&](const NodePtr& given)
    {
        const NodePtr node = Resolved(given);
        return Output{lowered.At(*node), *node->value.shape, node->value.axis};
    };
    std::vector<ComputationNodePtr> engineRoots;
    for (const NodePtr& root : roots)
    {
        m_roots.push_back(outputOf(root));
        engineRoots.push_back(m_roots.back().node);
    }
    if (loss)
    {
        SelectGradients(lowered, options);
        m_loss = lowered.At(*loss);
        if (std::find(engineRoots.begin(), engineRoots.end(), m_loss) == engineRoots.end())
            engineRoots.push_back(m_loss);
    }
    m_network = lowered.TakeNetwork();
    SetDropout(context, options.isTraining);
    EvaluatorOptions evaluation;
    evaluation.training = loss != nullptr;
    evaluation.backwardRoot = m_loss;
    m_evaluator = std::make_unique<Evaluator>(*m_network, engineRoots, evaluation);
    if (loss && !options.isTraining)
        m_evaluator->SetTraining(false);
}

// Returns the single number whose gradient is propagated: the root, the sum of its elements, or their sum weighted by
// the root's gradient.
NodePtr Session::MakeLoss(Context& context, const NodePtr& root, const SessionOptions& options)
{
    NodePtr weighted = root;
    if (options.hasRootGradient)
    {
        if (root->IsOpen())
            LoweredNetwork(context, {root}); // determines the shape
        const ValueType& value = root->value;
        NodePtr gradient;
        if (value.axis.empty())
            gradient = MakeConstant(context,
                                    std::make_shared<ParameterData>(context.CurrentDevice(), root->type, *value.shape,
                                                                    Parameters({{"init", "zero"}})),
                                    c_rootGradient);
        else
        {
            gradient = MakeInput(context, *value.shape, c_rootGradient, root->type, false, c_rootGradient);
            gradient = MakeOperation(context, Reconcile(), {gradient, root}, "");
        }
        weighted = MakeOperation(context, Binary("ElementTimes"), {root, gradient}, "");
    }
    const bool isNumber = weighted->value.shape && weighted->value.axis.empty() && weighted->value.shape->empty() &&
                          weighted->role == Node::Role::Operation;
    return isNumber ? weighted : MakeOperation(context, SumOfElements(), {weighted}, "");
}

void Session::CollectArguments(const LoweredNetwork& lowered)
{
    for (const NodePtr& node : lowered.Nodes())
    {
        if (node->role != Node::Role::Input)
            continue;
        Argument argument{node->uid,  node->Name(),   *node->value.shape,   node->value.axis,
                          node->type, node->isSparse, node->data != nullptr};
        if (m_key.hasRootGradient && argument.axis == c_rootGradient)
            argument.uid = 0;
        auto input = std::dynamic_pointer_cast<InputValueNode>(lowered.At(*node));
        Axis& axis = m_axes[argument.axis];
        axis.layout = input->GetMBLayout();
        axis.arguments.push_back(m_arguments.size());
        m_arguments.push_back(std::move(argument));
        m_ownData.push_back(node->data);
        m_inputs.push_back(std::move(input));
    }
    m_feeders.resize(m_arguments.size());
    m_fed.resize(m_arguments.size());
}

// Makes the wanted leaves, and no others, take a gradient.
void Session::SelectGradients(const LoweredNetwork& lowered, const SessionOptions& options)
{
    for (const NodePtr& node : lowered.Nodes())
    {
        const bool isWanted = std::find(m_key.wanted.begin(), m_key.wanted.end(), node->uid) != m_key.wanted.end();
        const ComputationNodePtr& engine = lowered.At(*node);
        if (auto* parameter = As<LearnableParameterNode>(engine.get()))
            parameter->SetLearningRateMultiplier(isWanted ? 1 : 0);
        else if (auto* input = As<InputValueNode>(engine.get()))
            input->SetTakesGradient(isWanted);
    }
    for (const NodePtr& node : options.wanted)
        m_wanted.push_back({lowered.At(*node), *node->value.shape, node->value.axis});
}

void Session::SetDropout(Context& context, bool isTraining)
{
    for (const ComputationNodePtr& node : m_network->Nodes())
        if (auto* dropout = dynamic_cast<DropoutNode*>(node.get()))
        {
            if (!isTraining)
                dropout->SetRate(0);
            dropout->SetSeed(context.NextSeed());
        }
}

// ---- data ----

std::map<std::string, uint64_t> Session::UidsOf(const std::vector<StreamInfo>& streams,
                                                const std::map<std::string, NodePtr>& mapped) const
{
    std::map<std::string, uint64_t> uids;
    for (const StreamInfo& stream : streams)
    {
        const auto found = mapped.find(stream.name);
        for (const Argument& argument : m_arguments)
            if (found != mapped.end() ? argument.uid == found->second->uid
                                      : EqualsIgnoreCase(argument.name, stream.name))
                uids[stream.name] = argument.uid;
    }
    return uids;
}

Session::Arguments ArgumentsOf(const std::vector<StreamInfo>& streams, const std::map<std::string, uint64_t>& uids,
                               std::vector<std::shared_ptr<const InputData>>& data)
{
    Session::Arguments arguments;
    for (size_t i = 0; i < data.size(); i++)
        if (const auto found = uids.find(streams[i].name); found != uids.end() && data[i])
            arguments.emplace(found->second, std::move(data[i]));
    data.clear();
    return arguments;
}

const InputData& Session::DataOf(size_t argument, const Arguments& arguments,
                                 const std::shared_ptr<const InputData>& rootGradient) const
{
    const Argument& info = m_arguments[argument];
    if (info.uid == 0)
        return *rootGradient;
    if (const auto found = arguments.find(info.uid); found != arguments.end())
        return *found->second;
    if (m_ownData[argument])
        return *m_ownData[argument];
    Fail(ErrorKind::Data, "input '", info.name, "' ", ToText(info.shape), " x ", info.axis,
         " has no data; expected values for it among the arguments");
}

void Session::Feed(const Arguments& arguments, const std::shared_ptr<const InputData>& rootGradient)
{
    std::vector<const InputData*> data;
    for (size_t i = 0; i < m_arguments.size(); i++)
    {
        data.push_back(&DataOf(i, arguments, rootGradient));
        if (data[i]->count != data[0]->count)
            Fail(ErrorKind::Data, "input '", m_arguments[0].name, "' got ", Counted(data[0]->count, "sequence"),
                 " and input '", m_arguments[i].name, "' ", data[i]->count,
                 "; expected as many for all inputs of a call");
    }
    m_samples = 0;
    for (auto& [name, axis] : m_axes)
        FeedAxis(axis, data);
    for (const std::string& name : {c_defaultAxis, c_batchAxis})
        if (const auto found = m_axes.find(name); found != m_axes.end())
        {
            m_samples = found->second.layout->ActualSamples();
            break;
        }
    for (size_t i = 0; i < m_arguments.size(); i++)
        if (const auto found = arguments.find(m_arguments[i].uid); found != arguments.end())
            m_fed[i] = found->second;
    if (rootGradient && !m_arguments.empty())
        m_fed.back() = rootGradient;
}

void Session::FeedAxis(Axis& axis, std::span<const InputData* const> data)
{
    const size_t firstInput = axis.arguments.front();
    const InputData& first = *data[firstInput];
    axis.isFrames = true;
    for (const size_t argument : axis.arguments)
    {
        const InputData& other = *data[argument];
        axis.isFrames = axis.isFrames && other.IsFrames();
        if (other.rows != 0 && other.rows != ElementsOf(m_arguments[argument].shape))
            Fail(ErrorKind::Data, "input '", m_arguments[argument].name, "' has the shape ",
                 ToText(m_arguments[argument].shape), ", but the reader's samples have ",
                 Counted(other.rows, "element"), "; expected ", ElementsOf(m_arguments[argument].shape));
        for (size_t sequence = 0; sequence < first.count; sequence++)
            if (first.LengthOf(sequence) != other.LengthOf(sequence))
                Fail(ErrorKind::Data, "inputs '", m_arguments[firstInput].name, "' and '", m_arguments[argument].name,
                     "' share the axis '", m_arguments[argument].axis, "', but sequence ", sequence, " has ",
                     Counted(first.LengthOf(sequence), "step"), " of one and ", other.LengthOf(sequence),
                     " of the other; expected equal lengths");
    }
    const bool isPacked = first.form == InputData::Form::Packed;
    for (const size_t argument : axis.arguments)
        if (const InputData& other = *data[argument];
            isPacked != (other.form == InputData::Form::Packed) || (isPacked && !(*other.layout == *first.layout)))
            Fail(ErrorKind::Data, "inputs '", m_arguments[firstInput].name, "' and '", m_arguments[argument].name,
                 "' share the axis '", m_arguments[argument].axis,
                 "', but their minibatches are packed in different ways; expected data of one reader");
    if (isPacked)
        AssignLayout(*axis.layout, *first.layout);
    else if (axis.isFrames)
    {
        if (!axis.layout->IsFrameMode() || axis.layout->Columns() != first.count)
            axis.layout->InitAsFrameMode(first.count);
    }
    else
    {
        // Some inputs may have frames beside sequences of one step each.
        const std::vector<uint32_t> lengths = first.IsFrames() ? std::vector<uint32_t>(first.count, 1) : first.lengths;
        axis.packing.Pack(lengths);
        axis.packing.Fill(*axis.layout, lengths);
    }
    first.continuesPass ? axis.layout->BeginMinibatch() : axis.layout->BeginPass();
    m_samples = std::max(m_samples, axis.layout->ActualSamples());
    for (const size_t argument : axis.arguments)
        m_feeders[argument].Feed(*m_inputs[argument], *data[argument], axis.packing);
}

// ---- values ----

ValueForm Session::FormOf(const Output& output) const
{
    ValueForm form{ValueForm::Kind::Single, output.shape, m_network->GetDataType(), {}};
    if (!output.node->HasMBLayout())
        return form;
    const auto axis = m_axes.find(output.axis);
    const bool isFrames = output.axis == c_batchAxis || (axis != m_axes.end() && axis->second.isFrames);
    form.kind = isFrames ? ValueForm::Kind::Frames : ValueForm::Kind::Sequences;
    for (const SequencePlaces::Place& place : SequencePlaces(*output.node->GetMBLayout()).places)
        form.lengths.push_back(place.length);
    return form;
}

void Session::Copy(const Output& output, const MatrixView& values, std::span<void* const> blocks) const
{
    const size_t size = SizeOf(m_network->GetDataType());
    std::vector<std::byte> host;
    const std::byte* data = static_cast<const std::byte*>(values.data);
    size_t stride = values.stride;
    if (!m_device->IsHostMemory())
    {
        Matrix copy(values.rows, values.columns, values.type, *m_device);
        Ops::Copy(values, copy);
        host.resize(values.Elements() * size);
        copy.CopyToHost(host.data());
        data = host.data();
        stride = values.rows;
    }
    const size_t bytes = values.rows * size;
    const auto copyColumn = [&](size_t column, std::byte* target)
    { std::memcpy(target, data + column * stride * size, bytes); };
    if (!output.node->HasMBLayout())
    {
        for (size_t column = 0; column < values.columns; column++)
            copyColumn(column, static_cast<std::byte*>(blocks[0]) + column * bytes);
        return;
    }
    const SequencePlaces places(*output.node->GetMBLayout());
    const bool isOneBlock = FormOf(output).kind == ValueForm::Kind::Frames;
    for (size_t sequence = 0; sequence < places.places.size(); sequence++)
    {
        const auto& [first, length] = places.places[sequence];
        std::byte* const target = isOneBlock ? static_cast<std::byte*>(blocks[0]) + sequence * bytes
                                             : static_cast<std::byte*>(blocks[sequence]);
        for (size_t step = 0; step < length; step++)
            copyColumn(first + step * places.stride, target + step * bytes);
    }
}

double Session::SumOf(const ComputationNode& node)
{
    const MatrixView value = node.Value();
    if (value.Elements() == 1 && value.device->IsHostMemory())
        return value.type == DataType::Float32 ? double(*value.As<float>()) : *value.As<double>();
    Matrix copy(value.rows, value.columns, value.type, *value.device);
    Ops::Copy(value, copy);
    const std::vector<double> values = copy.ToHost();
    const std::span<const uint8_t> mask = node.ColumnMask(FrameRange::All());
    double sum = 0;
    for (size_t column = 0; column < value.columns; column++)
        for (size_t row = 0; row < value.rows && (mask.empty() || mask[column] != 0); row++)
            sum += values[column * value.rows + row];
    return sum;
}

void Session::CopyRoot(size_t root, std::span<void* const> blocks) const
{
    const Output& output = m_roots[root];
    if (!output.node->IsSparse())
        return Copy(output, output.node->Value(), blocks);
    const SparseView sparse = output.node->SparseValue(FrameRange::All());
    Matrix dense(sparse.rows, sparse.columns, sparse.type, *m_device);
    Ops::ToDense(sparse, dense);
    Copy(output, dense, blocks);
}

void Session::CopyGradient(size_t wanted, std::span<void* const> blocks) const
{
    const Output& output = m_wanted[wanted];
    if (output.node->NeedsGradient())
        return Copy(output, output.node->Gradient(), blocks);
    Matrix zeros(output.node->ValueRows(), output.node->ValueColumns(), m_network->GetDataType(), *m_device);
    Copy(output, zeros, blocks);
}

} // namespace cntk::Api
