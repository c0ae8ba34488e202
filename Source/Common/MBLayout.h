// The minibatch layout of the book (2.6, 5.1): a minibatch is T time steps of S parallel sequences, column = t*S + s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cntk
{

// A sequence occupies row s of the layout from begin to end-1. begin < 0: the sequence began in an earlier minibatch.
// end > T: it continues in the next minibatch (truncated back-propagation through time).
struct SequenceInfo
{
    static constexpr size_t c_gap = SIZE_MAX; // id of a gap

    size_t id = 0;
    size_t row = 0; // s, the parallel sequence
    ptrdiff_t begin = 0;
    ptrdiff_t end = 0;

    bool operator==(const SequenceInfo&) const = default;
};

// Maps the columns of a minibatch to sequences and gaps. Gaps never reach a criterion, a gradient, a statistic or a
// count. InitAsFrameMode with an unchanged size allocates nothing.
class MBLayout
{
public:
    MBLayout() = default;

    // S parallel sequences, T steps, no sequences yet.
    void Init(size_t parallelSequences, size_t timeSteps);
    // n samples, each its own sequence: S = n, T = 1, no gaps.
    void InitAsFrameMode(size_t samples);
    // Adds a sequence (its part inside [0, T) must be free) or a gap.
    void AddSequence(size_t id, size_t row, ptrdiff_t begin, ptrdiff_t end);
    void AddGap(size_t row, ptrdiff_t begin, ptrdiff_t end);

    size_t ParallelSequences() const { return m_parallelSequences; } // S
    size_t TimeSteps() const { return m_timeSteps; }                 // T
    size_t Columns() const { return m_parallelSequences * m_timeSteps; }
    // Number of columns that are not gaps.
    size_t ActualSamples() const { return Columns() - m_gapColumns; }
    bool IsFrameMode() const { return m_frameMode; }
    bool HasGaps() const { return m_gapColumns > 0; }

    // Empty in frame mode, where column n is sequence n.
    const std::vector<SequenceInfo>& Sequences() const { return m_sequences; }

    bool IsGap(size_t row, size_t time) const;
    // True if (row, time - step) is outside of the sequence at (row, time) or (row, time) is a gap. A PastValue uses
    // its initial value there.
    bool IsBeyondStart(size_t row, size_t time, size_t step) const;
    bool IsBeyondEnd(size_t row, size_t time, size_t step) const;

    // Column mask for kernels: one byte per column, 1 = data, 0 = gap. Empty if there are no gaps.
    const std::vector<uint8_t>& ColumnMask() const { return m_columnMask; }

    // Grows with each change, so that caches can detect changes cheaply.
    uint64_t Version() const { return m_version; }

    // Recurrent state continues from one minibatch to the next within a pass over the data. The provider of the data
    // (NetworkBinder) calls these functions, so that computing one minibatch several times changes no state.
    void BeginPass() { ++m_pass, ++m_minibatch; }
    void BeginMinibatch() { ++m_minibatch; }
    uint64_t Pass() const { return m_pass; }
    uint64_t Minibatch() const { return m_minibatch; }

    bool operator==(const MBLayout& other) const; // compares the sequences

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
    // Distance of each column to the first and to the last step of its sequence; -1 for gaps.
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

    // Columns of a matrix that belongs to the layout. Without a layout (a parameter) the range has all columns.
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

// Packs sequences of different lengths into rows (parallel sequences). Each sequence goes into the first row that has
// room, or else into a new row. The rest of each row is a gap. The longest sequence sets the number of time steps.
class SequencePacking
{
public:
    struct Place
    {
        uint32_t row = 0;
        uint32_t begin = 0; // time step
    };

    // Lengths are positive. If all sequences have one step, Fill makes a frame-mode layout.
    void Pack(std::span<const uint32_t> lengths);

    // Place of each sequence, in the order of the lengths.
    const std::vector<Place>& Places() const { return m_places; }
    size_t Rows() const { return m_used.size(); }
    size_t TimeSteps() const { return m_timeSteps; }
    size_t Columns() const { return m_used.size() * m_timeSteps; }

    // Adds the sequences with ids 0, 1, ... and the gaps to the layout.
    void Fill(MBLayout& layout, std::span<const uint32_t> lengths) const;

private:
    std::vector<Place> m_places;
    std::vector<uint32_t> m_used; // occupied time steps of each row
    size_t m_timeSteps = 0;
};

} // namespace cntk
