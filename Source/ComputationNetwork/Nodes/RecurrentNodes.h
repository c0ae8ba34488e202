// PastValue and FutureValue (book 2.6). The planner uses these classes: equal delays of one node are merged.
#pragma once

#include "ComputationNetwork/Nodes/NodeInterfaces.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// The range of parallel sequences in one part of a minibatch that is computed part by part.
struct SequenceWindow
{
    size_t first = 0;
    size_t all = 0; // of the minibatch; 0: it is not divided
};

// State that nodes carry from one minibatch to the next. SaveState appends bytes. RestoreState is called after a pass
// has begun and before its first minibatch. It advances the position, and does nothing at the end.
class RecurrentState
{
public:
    virtual ~RecurrentState() = default;
    // Sets the window of the next forward passes. The state covers all sequences, so minibatches may be divided
    // differently.
    void SetWindow(const SequenceWindow& window) { m_window = window; }
    virtual void SaveState(std::string& bytes) const = 0;
    virtual void RestoreState(const char*& position, const char* end) = 0;
    // Makes parallel sequence s of the next minibatch continue from the state of sources[s]. Not for divided
    // minibatches.
    virtual void SelectState(std::span<const size_t> sources) = 0;

protected:
    bool IsPart() const { return m_window.all > 0; }
    // Returns false for all but the first part of a minibatch.
    bool BeginsMinibatch() const { return m_window.first == 0; }
    // Returns true if the starting minibatch ignores the state of the previous one, because a new pass has begun. State
    // restored for the new pass is not ignored. Derived layouts learn about a new pass only when their values are
    // computed, so the layout's own pass is not reliable before.
    bool StartsAfresh(const MBLayout& layout);
    void SetRestored() { m_isRestored = true; }
    // Moves, within each group of sources.size() columns, column sources[s] to column s.
    static void SelectColumns(Matrix& values, std::span<const size_t> sources);
    size_t FirstSequence() const { return m_window.first; }
    // Steps of a parallel sequence before the gap at its end.
    static size_t StepsOfRow(const MBLayout& layout, size_t row);
    void AppendWindow(std::vector<uint64_t>& key) const { key.insert(key.end(), {m_window.first, m_window.all}); }
    size_t AllSequences(const MBLayout& layout) const { return IsPart() ? m_window.all : layout.ParallelSequences(); }

private:
    SequenceWindow m_window;
    uint64_t m_pass = 0;
    bool m_isRestored = false;
};

// Returns the nodes with recurrent state in their order, which is the order of their bytes in a checkpoint.
std::vector<std::shared_ptr<RecurrentState>> RecurrentStatesOf(const std::vector<ComputationNodePtr>& nodes);

// Computes v(t) = x(t - n) with direction +1, x(t + n) with -1, and the initial value outside the sequence. If a
// sequence began in an earlier minibatch, a PastValue continues from the state kept. A FutureValue cannot see beyond
// the minibatch and takes the initial value. Gaps also get the initial value, so that they hold valid numbers.
class DelayNode final : public ComputationNode, public RecurrentState, public StepState
{
public:
    static constexpr NodeKind c_kind = NodeKind::Delay;
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
    // The size given in the network description; 0: none.
    size_t DeclaredElements() const { return m_declaredShape.Elements(); }
    double InitialValue() const { return m_initialValue; }
    // Returns true if both delays have the same value at all times.
    bool IsTwinOf(const DelayNode& other) const
    {
        return m_isPast == other.m_isPast && m_timeStep == other.m_timeStep && m_initialValue == other.m_initialValue &&
               Input(0) == other.Input(0);
    }
    // Source step of all columns of a step: a time, c_initial if all hold the initial value, c_mixed if they differ.
    static constexpr size_t c_initial = SIZE_MAX;
    static constexpr size_t c_mixed = SIZE_MAX - 1;
    // Call after BeginForwardProp.
    size_t SourceOfStep(size_t time) const { return m_sourceOfStep[time]; }
    // Compute one time step of some of the parallel sequences. The input must not be sparse.
    void ForwardSequences(size_t time, size_t firstSequence, size_t count);
    void BackpropSequences(size_t time, size_t firstSequence, size_t count);
    // Returns false for steps whose gradient would go to the previous minibatch: BackpropSequences does nothing there.
    bool PassesGradient(size_t time) const;

    void SaveState(std::string& bytes) const override;
    void RestoreState(const char*& position, const char* end) override;
    void SelectState(std::span<const size_t> sources) override;

private:
    // The last steps of a minibatch's input, for the sequences that continue in the next one.
    struct History
    {
        Matrix values;         // timeStep * parallelSequences columns
        size_t validSteps = 0; // valid steps at the end
        size_t parallelSequences = 0;
    };

    // Returns the input's value; for a sparse input the dense copy made by the forward pass.
    MatrixView Source() const;
    void ClassifySteps();
    // Returns true for a gap, or a place whose source lies outside of its sequence.
    bool IsOutside(size_t row, size_t time) const;
    void FillMixedStep(size_t time, size_t firstSequence, size_t count);
    bool GoesOn() const;
    void Keep(const History& before, History& after) const;
    void KeepRows(const History& before, History& after) const;

    bool m_isPast;
    int32_t m_timeStep = 1;
    double m_initialValue = 0.1;
    TensorShape m_declaredShape{0};

    uint64_t m_layoutVersion = UINT64_MAX;
    std::vector<size_t> m_sourceOfStep;
    // State of the previous minibatch and state for the next one; the roles swap with each minibatch.
    std::array<History, 2> m_history;
    size_t m_current = 0;
    uint64_t m_minibatch = 0;
};

} // namespace cntk
