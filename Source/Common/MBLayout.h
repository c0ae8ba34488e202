// The minibatch layout of the book (2.6, 5.1): a minibatch is T time steps of S parallel sequences, column = t*S + s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cntk
{

// A sequence occupies row s of the layout from begin to end-1. begin < 0: it began in an earlier minibatch; end > T: it
// goes on in the next one (truncated back-propagation through time).
struct SequenceInfo
{
    static constexpr size_t c_gap = SIZE_MAX; // the id of a stretch without data

    size_t id = 0;
    size_t row = 0; // s, the parallel sequence
    ptrdiff_t begin = 0;
    ptrdiff_t end = 0;

    bool operator==(const SequenceInfo&) const = default;
};

// Which columns of a minibatch hold data. Gaps never reach a criterion, a gradient, a statistic or a count.
// Steady state: InitAsFrameMode with an unchanged size allocates nothing.
class MBLayout
{
public:
    MBLayout() = default;

    // S parallel sequences, T steps, nothing in it yet.
    void Init(size_t parallelSequences, size_t timeSteps);
    // n samples, each a sequence of its own: S = n, T = 1, no gaps.
    void InitAsFrameMode(size_t samples);
    // Adds a sequence (its part inside [0, T) must be free) or a gap.
    void AddSequence(size_t id, size_t row, ptrdiff_t begin, ptrdiff_t end);
    void AddGap(size_t row, ptrdiff_t begin, ptrdiff_t end);

    size_t ParallelSequences() const { return m_parallelSequences; } // S
    size_t TimeSteps() const { return m_timeSteps; }                 // T
    size_t Columns() const { return m_parallelSequences * m_timeSteps; }
    // Columns that are no gaps.
    size_t ActualSamples() const { return Columns() - m_gapColumns; }
    bool IsFrameMode() const { return m_frameMode; }
    bool HasGaps() const { return m_gapColumns > 0; }

    // Empty in frame mode, where column n is sequence n.
    const std::vector<SequenceInfo>& Sequences() const { return m_sequences; }

    bool IsGap(size_t row, size_t time) const;
    // True if looking back by step from (row, time) leaves the sequence (or meets a gap): a PastValue starts anew
    // there.
    bool IsBeyondStart(size_t row, size_t time, size_t step) const;
    bool IsBeyondEnd(size_t row, size_t time, size_t step) const;

    // One byte a column, 1 = data, 0 = gap; what kernels take as a column mask. Empty when there are no gaps.
    const std::vector<uint8_t>& ColumnMask() const { return m_columnMask; }

    // Grows with each change; a cheap "has the layout changed" for caches.
    uint64_t Version() const { return m_version; }

    // Recurrent state goes on from one minibatch to the next of a pass over the data. Whoever brings the data says so
    // (NetworkBinder); computing one minibatch several times changes no state.
    void BeginPass() { ++m_pass, ++m_minibatch; }
    void BeginMinibatch() { ++m_minibatch; }
    uint64_t Pass() const { return m_pass; }
    uint64_t Minibatch() const { return m_minibatch; }

    bool operator==(const MBLayout& other) const; // of the sequences

private:
    size_t m_parallelSequences = 0;
    size_t m_timeSteps = 0;
    size_t m_gapColumns = 0;
    bool m_frameMode = false;
    uint64_t m_version = 0;
    uint64_t m_pass = 0;
    uint64_t m_minibatch = 0;
    std::vector<SequenceInfo> m_sequences;
    std::vector<uint8_t> m_columnMask;
    // For each column the distance to the first and to the last step of its sequence (0 = at it); gaps hold -1.
    std::vector<int32_t> m_fromStart;
    std::vector<int32_t> m_toEnd;
};

using MBLayoutPtr = std::shared_ptr<MBLayout>;

// A whole minibatch or one time step of it. A node is written once for both.
class FrameRange
{
public:
    static FrameRange All() { return FrameRange(); }
    static FrameRange Step(size_t time) { return FrameRange(time); }

    bool IsAll() const { return m_time == SIZE_MAX; }
    size_t Time() const { return m_time; }

    // The columns of a matrix that belongs to the layout. Without a layout (a parameter): all of its columns.
    size_t FirstColumn(const MBLayout* layout) const
    {
        return IsAll() || layout == nullptr ? 0 : m_time * layout->ParallelSequences();
    }
    size_t ColumnCount(const MBLayout* layout, size_t allColumns) const
    {
        return IsAll() || layout == nullptr ? allColumns : layout->ParallelSequences();
    }

private:
    FrameRange() = default;
    explicit FrameRange(size_t time) : m_time(time) {}

    size_t m_time = SIZE_MAX;
};

} // namespace cntk
