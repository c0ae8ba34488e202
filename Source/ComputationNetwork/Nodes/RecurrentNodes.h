// PastValue and FutureValue (book 2.6), which the planner must know: equal delays of one node are one.
#pragma once

#include "ComputationNetwork/ComputationNode.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// The parallel sequences of a minibatch that is computed in parts, one part after another, which a part has.
struct SequenceWindow
{
    size_t first = 0;
    size_t all = 0; // of the minibatch; 0: it is not in parts
};

// Nodes that carry something from one minibatch to the next: what the next one goes on from, as bytes behind others.
// Restored when a pass has begun and before its first minibatch; moves the position on, and does nothing at the end.
class RecurrentState
{
public:
    virtual ~RecurrentState() = default;
    // Of the next forward passes. The state is that of all sequences, so minibatches may be cut differently.
    void SetWindow(const SequenceWindow& window) { m_window = window; }
    virtual void SaveState(std::string& bytes) const = 0;
    virtual void RestoreState(const char*& position, const char* end) = 0;
    // In the next minibatch the parallel sequence s goes on from what sources[s] kept. Not for minibatches in parts.
    virtual void SelectState(std::span<const size_t> sources) = 0;

protected:
    bool IsPart() const { return m_window.all > 0; }
    // False for the other parts of a minibatch that has begun.
    bool BeginsMinibatch() const { return m_window.first == 0; }
    // Whether the minibatch that begins starts afresh, with no state of the one before: another pass has begun since,
    // unless the state is of that pass already, restored. Layouts that follow from others learn of a pass when their
    // values are computed, so the pass of the layout says nothing before.
    bool StartsAfresh(const MBLayout& layout);
    void SetRestored() { m_isRestored = true; }
    // Of each group of as many columns as there are sources, column s becomes what sources[s] was.
    static void SelectColumns(Matrix& values, std::span<const size_t> sources);
    size_t FirstSequence() const { return m_window.first; }
    void AppendWindow(std::vector<uint64_t>& key) const { key.insert(key.end(), {m_window.first, m_window.all}); }
    size_t AllSequences(const MBLayout& layout) const { return IsPart() ? m_window.all : layout.ParallelSequences(); }

private:
    SequenceWindow m_window;
    uint64_t m_pass = 0;
    bool m_isRestored = false;
};

// Those of the nodes that are such, in their order: the order of their bytes in a checkpoint.
std::vector<std::shared_ptr<RecurrentState>> RecurrentStatesOf(const std::vector<ComputationNodePtr>& nodes);

// v(t) = x(t - n) with direction +1, x(t + n) with -1, and the initial value outside the sequence. Where a sequence
// began in an earlier minibatch, a PastValue goes on from what it kept of that; a FutureValue cannot look beyond the
// minibatch and takes the initial value. Gaps get the initial value, too, so that they hold numbers.
class DelayNode final : public ComputationNode, public RecurrentState
{
public:
    explicit DelayNode(int direction) : m_isPast(direction > 0) {}

    void InferShape(ShapeInference& inference) override;
    void BeginForwardProp() override;
    void ForwardProp(const FrameRange& range) override;
    void BackpropTo(size_t input, const FrameRange& range) override;
    void EndForwardProp() override;
    void AppendStepKey(std::vector<uint64_t>& key) const override;
    std::vector<TemporarySpec> Temporaries() const override;
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override;

    int Direction() const { return m_isPast ? +1 : -1; }
    size_t TimeStep() const { return size_t(m_timeStep); }
    // The size that the description gives; 0: none.
    size_t DeclaredElements() const { return m_declaredShape.Elements(); }
    double InitialValue() const { return m_initialValue; }
    // The same value at all times.
    bool IsTwinOf(const DelayNode& other) const
    {
        return m_isPast == other.m_isPast && m_timeStep == other.m_timeStep && m_initialValue == other.m_initialValue &&
               Input(0) == other.Input(0);
    }
    // All columns of the step come from the step `source`, or all hold the initial value (c_initial); c_mixed: neither.
    static constexpr size_t c_initial = SIZE_MAX;
    static constexpr size_t c_mixed = SIZE_MAX - 1;
    // After BeginForwardProp.
    size_t SourceOfStep(size_t time) const { return m_sourceOfStep[time]; }
    // One time step of some of the parallel sequences, of an input that is not sparse.
    void ForwardSequences(size_t time, size_t firstSequence, size_t count);
    void BackpropSequences(size_t time, size_t firstSequence, size_t count);
    // Whether that does anything: of the first steps nothing flows on, all of it would go to the minibatch before.
    bool PassesGradient(size_t time) const;

    void SaveState(std::string& bytes) const override;
    void RestoreState(const char*& position, const char* end) override;
    void SelectState(std::span<const size_t> sources) override;

private:
    // The last steps of a minibatch's input, for the sequences that go on in the next one.
    struct History
    {
        Matrix values;         // timeStep * parallelSequences columns
        size_t validSteps = 0; // so many at the end
        size_t parallelSequences = 0;
    };

    // The input's value; of a sparse one the dense copy that the forward pass makes.
    MatrixView Source() const;
    void ClassifySteps();
    // A gap, or a place whose source lies outside of its sequence.
    bool IsOutside(size_t row, size_t time) const;
    void FillMixedStep(size_t time, size_t firstSequence, size_t count);
    bool GoesOn() const;
    void Keep(const History& before, History& after) const;

    bool m_isPast;
    int32_t m_timeStep = 1;
    double m_initialValue = 0.1;
    TensorShape m_declaredShape{0};

    uint64_t m_layoutVersion = UINT64_MAX;
    std::vector<size_t> m_sourceOfStep;
    // What the minibatch continues, and what the next one will; which is which turns with each.
    std::array<History, 2> m_history;
    size_t m_current = 0;
    uint64_t m_minibatch = 0;
};

} // namespace cntk
