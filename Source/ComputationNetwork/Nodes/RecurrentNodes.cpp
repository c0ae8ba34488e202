// Delays: PastValue and FutureValue. They run one step at a time in a loop, otherwise for the whole minibatch.
#include "ComputationNetwork/Nodes/RecurrentNodes.h"

#include "Common/Error.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace cntk
{

// ---- shape ----

// Uses the declared size until the input's is known: in a loop the input's size depends on this node's.
void DelayNode::InferShape(ShapeInference& inference)
{
    const ComputationNode& input = *Input(0);
    SetShape(input.SampleLayout().HasUnknown() ? m_declaredShape : input.SampleLayout(), input.GetMBLayout());
    if (inference.IsFinalPass() && !HasMBLayout())
        Fail(ErrorKind::Model, TypeName(), " needs minibatch data, but ", cntk::DescribeShape(input),
             " is the same at all times");
}

// ---- time ----

namespace
{

// Calls body(first, count, kind) for each run of equal kind in [first, first + count).
template <class Kind, class Body>
void ForEachRun(size_t first, size_t count, const Kind& kind, const Body& body)
{
    for (size_t begin = first, end = first + count; begin < end;)
    {
        const bool isKind = kind(begin);
        size_t next = begin + 1;
        while (next < end && kind(next) == isKind)
            next++;
        body(begin, next - begin, isKind);
        begin = next;
    }
}

} // namespace

bool DelayNode::IsOutside(size_t row, size_t time) const
{
    const MBLayout& layout = *GetMBLayout();
    return m_isPast ? layout.IsBeyondStart(row, time, TimeStep()) : layout.IsBeyondEnd(row, time, TimeStep());
}

void DelayNode::ClassifySteps()
{
    const MBLayout& layout = *GetMBLayout();
    const size_t rows = layout.ParallelSequences(), steps = layout.TimeSteps(), delay = TimeStep();
    m_sourceOfStep.resize(steps);
    for (size_t time = 0; time < steps; time++)
    {
        const bool hasSource = m_isPast ? time >= delay : time + delay < steps;
        size_t inside = 0, initial = 0;
        for (size_t row = 0; row < rows; row++)
        {
            if (IsOutside(row, time) || (!hasSource && !m_isPast))
                initial++;
            else if (hasSource)
                inside++;
        }
        m_sourceOfStep[time] = inside == rows && rows > 0 ? (m_isPast ? time - delay : time + delay)
                               : initial == rows          ? c_initial
                                                          : c_mixed;
    }
}

void DelayNode::BeginForwardProp()
{
    const MBLayout& layout = *GetMBLayout();
    if (m_layoutVersion != layout.Version())
    {
        m_layoutVersion = layout.Version();
        ClassifySteps();
    }
    if (m_minibatch != layout.Minibatch())
    {
        m_minibatch = layout.Minibatch();
        if (BeginsMinibatch())
            m_current = 1 - m_current;
    }
    if (StartsAfresh(layout))
        m_history[m_current].validSteps = 0;
}

void DelayNode::AppendStepKey(std::vector<uint64_t>& key) const
{
    AppendWindow(key);
    key.push_back(m_current);
    for (const History& history : m_history)
        key.insert(key.end(), {history.validSteps, history.parallelSequences,
                               history.values.IsAllocated() ? history.values.Columns() : 0});
}

// Copies runs of the same kind together: on a GPU each copy costs a launch.
void DelayNode::FillMixedStep(size_t time, size_t firstSequence, size_t count)
{
    const MBLayout& layout = *GetMBLayout();
    const History& history = m_history[m_current];
    const size_t rows = layout.ParallelSequences(), delay = TimeStep(), all = AllSequences(layout);
    const MatrixView output = Value(FrameRange::Step(time));
    const bool hasHistory =
        m_isPast && time < delay && history.parallelSequences == all && time + history.validSteps >= delay;
    const bool hasSource = m_isPast ? time >= delay : time + delay < layout.TimeSteps();
    ForEachRun(
        firstSequence, count, [&](size_t row) { return IsOutside(row, time); },
        [&](size_t row, size_t columns, bool isOutside)
        {
            const MatrixView to = output.Columns(row, columns);
            if (!isOutside && hasHistory)
                Ops::Copy(history.values.View().Columns(time * all + FirstSequence() + row, columns), to);
            else if (isOutside || !hasSource)
                Ops::Fill(to, m_initialValue);
            else
                Ops::Copy(Source().Columns((m_isPast ? time - delay : time + delay) * rows + row, columns), to);
        });
}

std::vector<TemporarySpec> DelayNode::Temporaries() const
{
    if (!Input(0)->IsSparse())
        return {};
    return {TemporaryForSamplesOf(*this, 0, SampleElements(), TemporarySpec::Lifetime::Forward)};
}

MatrixView DelayNode::Source() const
{
    return Input(0)->IsSparse() ? Temporary(0, FrameRange::All()) : Input(0)->Value();
}

void DelayNode::ForwardProp(const FrameRange& range)
{
    if (Input(0)->IsSparse())
        Ops::ToDense(Input(0)->SparseValue(FrameRange::All()), Temporary(0, FrameRange::All()));
    const size_t rows = GetMBLayout()->ParallelSequences();
    const size_t first = range.IsAll() ? 0 : range.Time();
    const size_t end = range.IsAll() ? GetMBLayout()->TimeSteps() : first + 1;
    for (size_t time = first; time < end;)
    {
        // Consecutive steps are copied together.
        const size_t source = m_sourceOfStep[time];
        size_t count = 1;
        if (source == c_mixed)
            FillMixedStep(time, 0, rows);
        else
        {
            while (time + count < end &&
                   m_sourceOfStep[time + count] == (source == c_initial ? source : source + count))
                count++;
            const MatrixView to = Value().Columns(time * rows, count * rows);
            if (source == c_initial)
                Ops::Fill(to, m_initialValue);
            else
                Ops::Copy(Source().Columns(source * rows, count * rows), to);
        }
        time += count;
    }
}

void DelayNode::ForwardSequences(size_t time, size_t firstSequence, size_t count)
{
    const size_t rows = GetMBLayout()->ParallelSequences();
    const size_t source = m_sourceOfStep[time];
    if (source == c_mixed)
        return FillMixedStep(time, firstSequence, count);
    const MatrixView to = Value().Columns(time * rows + firstSequence, count);
    if (source == c_initial)
        Ops::Fill(to, m_initialValue);
    else
        Ops::Copy(Input(0)->Value().Columns(source * rows + firstSequence, count), to);
}

bool DelayNode::PassesGradient(size_t time) const
{
    const bool isFromOutside = m_isPast ? time < TimeStep() : time + TimeStep() >= GetMBLayout()->TimeSteps();
    return m_sourceOfStep[time] != c_initial && !isFromOutside;
}

// Propagates the gradient. None flows to other minibatches, across sequence ends or from gaps.
void DelayNode::BackpropSequences(size_t time, size_t firstSequence, size_t count)
{
    const MBLayout& layout = *GetMBLayout();
    const size_t rows = layout.ParallelSequences(), delay = TimeStep();
    const size_t source = m_sourceOfStep[time];
    // InputGradient is not used, because it writes to the input and threads run this in parallel.
    const MatrixView inputGradient = Input(0)->Gradient();
    const auto add = [&](size_t from, size_t row, size_t columns)
    {
        Ops::Elementwise(ElementwiseOp::Copy, Gradient().Columns(time * rows + row, columns),
                         inputGradient.Columns(from * rows + row, columns), 1, 1);
    };
    if (!PassesGradient(time))
        return;
    if (source != c_mixed)
        return add(source, firstSequence, count);
    ForEachRun(
        firstSequence, count, [&](size_t row) { return IsOutside(row, time); },
        [&](size_t row, size_t columns, bool isOutside)
        {
            if (!isOutside)
                add(m_isPast ? time - delay : time + delay, row, columns);
        });
}

void DelayNode::BackpropTo(size_t, const FrameRange& range)
{
    const size_t first = range.IsAll() ? 0 : range.Time();
    const size_t end = range.IsAll() ? GetMBLayout()->TimeSteps() : first + 1;
    for (size_t time = first; time < end; time++)
        BackpropSequences(time, 0, GetMBLayout()->ParallelSequences());
}

// ---- from minibatch to minibatch ----

bool DelayNode::GoesOn() const
{
    const std::vector<SequenceInfo>& sequences = GetMBLayout()->Sequences();
    return m_isPast && std::any_of(sequences.begin(), sequences.end(),
                                   [&](const SequenceInfo& sequence)
                                   { return sequence.end > ptrdiff_t(GetMBLayout()->TimeSteps()); });
}

void DelayNode::Keep(const History& before, History& after) const
{
    const MBLayout& layout = *GetMBLayout();
    const size_t rows = layout.ParallelSequences(), steps = layout.TimeSteps(), delay = TimeStep();
    const size_t all = AllSequences(layout), first = FirstSequence();
    after.parallelSequences = all;
    if (!after.values.IsAllocated())
        after.values = Matrix(ValueRows(), delay * all, GetDataType(), GetDevice());
    if (BeginsMinibatch())
        after.values.Resize(ValueRows(), delay * all);
    if (layout.HasGaps() && !m_isTraining && !IsPart())
        return KeepRows(before, after);
    const size_t fromHere = std::min(steps, delay);
    after.validSteps = fromHere;
    // All steps are copied together; those of a part one by one.
    const size_t together = rows == all ? fromHere : 1;
    for (size_t step = 0; step < fromHere; step += together)
        Ops::Copy(Source().Columns((steps - fromHere + step) * rows, together * rows),
                  after.values.View().Columns((delay - fromHere + step) * all + first, together * rows));
    if (fromHere == delay || before.parallelSequences != all || before.validSteps == 0)
        return;
    const size_t older = delay - fromHere;
    for (size_t step = 0; step < older; step += rows == all ? older : 1)
    {
        const size_t columns = rows == all ? older * all : rows;
        Ops::Copy(before.values.View().Columns((fromHere + step) * all + first, columns),
                  after.values.View().Columns(step * all + first, columns));
    }
    after.validSteps = std::min(delay, fromHere + before.validSteps);
}

// Rows may end before the last step, and each of them may continue.
void DelayNode::KeepRows(const History& before, History& after) const
{
    const MBLayout& layout = *GetMBLayout();
    const size_t rows = layout.ParallelSequences(), delay = TimeStep();
    const bool hasBefore = before.parallelSequences == rows && before.validSteps > 0;
    for (size_t row = 0; row < rows; row++)
    {
        const size_t steps = StepsOfRow(layout, row);
        for (size_t back = 1; back <= delay; back++)
        {
            const MatrixView to = after.values.View().Columns((delay - back) * rows + row, 1);
            if (back <= steps)
                Ops::Copy(Source().Columns((steps - back) * rows + row, 1), to);
            else if (hasBefore && back - steps <= before.validSteps)
                Ops::Copy(before.values.View().Columns((delay - (back - steps)) * rows + row, 1), to);
            else
                Ops::Fill(to, m_initialValue);
        }
    }
    after.validSteps = delay;
}

void DelayNode::EndForwardProp()
{
    History& after = m_history[1 - m_current];
    if (BeginsMinibatch())
        after.validSteps = 0;
    // Sequences of another part may continue even if those of this part do not.
    if (GoesOn() || (m_isPast && IsPart()))
        Keep(m_history[m_current], after);
}

void DelayNode::SaveState(std::string& bytes) const
{
    const History& next = m_history[1 - m_current];
    const uint64_t sizes[3] = {next.validSteps, next.parallelSequences,
                               next.validSteps == 0 ? 0 : next.values.Elements()};
    bytes.append(reinterpret_cast<const char*>(sizes), sizeof sizes);
    if (sizes[2] == 0)
        return;
    const std::vector<double> values = next.values.ToHost();
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
}

void DelayNode::RestoreState(const char*& position, const char* end)
{
    uint64_t sizes[3] = {};
    if (size_t(end - position) < sizeof sizes)
        return;
    std::memcpy(sizes, position, sizeof sizes);
    position += sizeof sizes;
    const size_t columns = TimeStep() * sizes[1];
    if (sizes[2] != 0 && (sizes[2] != ValueRows() * columns || size_t(end - position) / sizeof(double) < sizes[2]))
        Fail(ErrorKind::Model, "the checkpoint's state of ", TypeName(), " '", Name(), "' does not fit; ", sizes[2],
             " numbers instead of ", ValueRows() * columns);
    History& next = m_history[1 - m_current];
    next.validSteps = sizes[0];
    next.parallelSequences = sizes[1];
    SetRestored();
    if (sizes[2] == 0)
        return;
    std::vector<double> values(sizes[2]);
    std::memcpy(values.data(), position, values.size() * sizeof(double));
    position += values.size() * sizeof(double);
    next.values = Matrix(ValueRows(), columns, GetDataType(), GetDevice());
    next.values.FromHost(values);
}

void DelayNode::SelectState(std::span<const size_t> sources)
{
    History& next = m_history[1 - m_current];
    if (next.validSteps > 0)
        SelectColumns(next.values, sources);
}

size_t RecurrentState::StepsOfRow(const MBLayout& layout, size_t row)
{
    size_t steps = layout.TimeSteps();
    while (steps > 0 && layout.IsGap(row, steps - 1))
        steps--;
    return steps;
}

bool RecurrentState::StartsAfresh(const MBLayout& layout)
{
    const bool isOtherPass = m_pass != layout.Pass();
    m_pass = layout.Pass();
    return !std::exchange(m_isRestored, false) && isOtherPass;
}

void RecurrentState::SelectColumns(Matrix& values, std::span<const size_t> sources)
{
    const size_t group = sources.size();
    Matrix selected(values.Rows(), values.Columns(), values.Type(), values.GetDevice());
    for (size_t begin = 0; begin < values.Columns(); begin += group)
        for (size_t s = 0; s < group; s++)
            Ops::Copy(values.View().Columns(begin + sources[s], 1), selected.View().Columns(begin + s, 1));
    values = std::move(selected);
}

std::vector<std::shared_ptr<RecurrentState>> RecurrentStatesOf(const std::vector<ComputationNodePtr>& nodes)
{
    std::vector<std::shared_ptr<RecurrentState>> states;
    for (const ComputationNodePtr& node : nodes)
    {
        if (auto state = std::dynamic_pointer_cast<RecurrentState>(node))
            states.push_back(std::move(state));
    }
    return states;
}

// ---- fields ----

void DelayNode::SerializeFields(ModelArchive& archive)
{
    if (!archive.IsLoading() && !SampleLayout().HasUnknown())
        m_declaredShape = SampleLayout();
    archive.Field(m_timeStep);
    if (archive.Version() >= 4)
        archive.Shape(m_declaredShape);
    else
    {
        uint64_t rows = 0, columns = 0;
        archive.Field(rows);
        archive.Field(columns);
        m_declaredShape = TensorShape{size_t(rows)};
    }
    if (archive.Version() >= 2)
        archive.ElementField(m_initialValue);
    else
        m_initialValue = 0.1; // in the network's own precision, same as CNTK v1.1
    if (archive.IsLoading() && m_timeStep < 1)
        Fail(ErrorKind::Model, "the time step is ", m_timeStep, "; expected 1 or more");
}

void DelayNode::SetParameters(const NodeParameters& parameters)
{
    const long long rows = parameters.Integer("rows", 0);
    if (rows < 0)
        Fail(ErrorKind::Config, "parameter 'rows' is ", rows, "; expected 0 (to be inferred) or more");
    m_declaredShape = TensorShape{size_t(rows)};
    const long long step = parameters.Integer("timeStep", 1);
    if (step < 1 || step > std::numeric_limits<int32_t>::max())
        Fail(ErrorKind::Config, "parameter 'timeStep' is ", step, "; expected a whole number from 1 to ",
             std::numeric_limits<int32_t>::max());
    m_timeStep = int32_t(step);
    // A single-precision constant as in CNTK v1.1, even in networks of double precision.
    m_initialValue = double(float(parameters.Real("defaultHiddenActivity", 0.1)));
}

// ---- records ----

namespace
{

NodeType DelayType(const char* name, std::vector<std::string> aliases, int direction, const char* doc)
{
    NodeType type;
    type.name = name;
    type.aliases = std::move(aliases);
    type.doc = doc;
    type.inputs = {1, 1};
    type.inputNames = {"x"};
    type.traits = {.backpropReadsInputs = false,
                   .backpropReadsOutput = false,
                   .isDelay = true,
                   .delayDirection = direction,
                   .kind = NodeKind::Delay};
    const auto parameter =
        [](const char* parameterName, ParameterKind kind, const char* defaultText, bool positional, const char* text)
    {
        NodeParameterInfo info;
        info.name = parameterName;
        info.kind = kind;
        info.defaultText = defaultText;
        info.positional = positional;
        info.doc = text;
        return info;
    };
    type.parameters = {
        parameter("rows", ParameterKind::Integer, "0", true,
                  "elements of a sample, used until the input's size is known; 0: inferred"),
        parameter("cols", ParameterKind::Integer, "0", true, "without effect"),
        parameter("timeStep", ParameterKind::Integer, "1", false, "distance in steps between the value and its source"),
        parameter("defaultHiddenActivity", ParameterKind::Real, "0.1", false, "the value outside the sequence"),
    };
    type.parameters[2].aliases = {"delayTime"};
    type.parameters[3].aliases = {"defaultPastValue"};
    type.bookSection = "4.1.4.36";
    type.create = [direction] { return std::make_shared<DelayNode>(direction); };

    GradientSample sample;
    sample.inputs.resize(1);
    sample.inputs[0].shape = TensorShape{3};
    sample.inputs[0].inLayout = true;
    for (const char* step : {"1", "2", "5"})
    {
        sample.parameters = {{"timeStep", step}, {"defaultHiddenActivity", "0.3"}};
        type.samples.push_back(sample);
    }
    sample.inputs[0].shape = TensorShape{2, 3};
    sample.parameters = {};
    type.samples.push_back(sample);
    sample.inputs[0].shape = TensorShape{4};
    sample.inputs[0].sparse = true;
    sample.inputs[0].checkGradient = false;
    type.samples.push_back(sample);
    return type;
}

} // namespace

void RegisterRecurrentNodes(NodeRegistry& registry)
{
    registry.Add(DelayType("PastValue", {"Delay"}, +1,
                           "v(t) = x(t - timeStep), or defaultHiddenActivity before the start of the sequence. Makes "
                           "loops that run forward in time."));
    registry.Add(DelayType("FutureValue", {}, -1,
                           "v(t) = x(t + timeStep), or defaultHiddenActivity after the end of the sequence. Makes "
                           "loops that run backward in time."));
}

} // namespace cntk
