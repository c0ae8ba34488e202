// A column that no sequence covers is a gap. Each column stores its distances to both ends of its sequence, so that
// recurrent nodes find them in constant time.
#include "Common/MBLayout.h"

#include "Common/Error.h"

#include <algorithm>

namespace cntk
{

void MBLayout::Init(size_t parallelSequences, size_t timeSteps)
{
    m_parallelSequences = parallelSequences;
    m_timeSteps = timeSteps;
    m_gapColumns = Columns();
    m_frameMode = false;
    ++m_version;
    m_sequences.clear();
    m_columnMask.assign(m_gapColumns, 0);
    m_fromStart.assign(m_gapColumns, -1);
    m_toEnd.assign(m_gapColumns, -1);
}

void MBLayout::InitAsFrameMode(size_t samples)
{
    if (m_frameMode && m_parallelSequences == samples)
        return;
    m_parallelSequences = samples;
    m_timeSteps = 1;
    m_gapColumns = 0;
    m_frameMode = true;
    ++m_version;
    m_sequences.clear();
    m_columnMask.clear();
    m_fromStart.clear();
    m_toEnd.clear();
}

void MBLayout::AddSequence(size_t id, size_t row, ptrdiff_t begin, ptrdiff_t end)
{
    CNTK_ASSERT(!m_frameMode && row < m_parallelSequences && begin < end && id != SequenceInfo::c_gap);
    m_sequences.push_back({id, row, begin, end});
    ++m_version;
    const ptrdiff_t last = std::min(end, ptrdiff_t(m_timeSteps));
    for (ptrdiff_t time = std::max<ptrdiff_t>(begin, 0); time < last; ++time)
    {
        const size_t column = size_t(time) * m_parallelSequences + row;
        CNTK_ASSERT(m_fromStart[column] < 0); // free so far
        m_fromStart[column] = int32_t(time - begin);
        m_toEnd[column] = int32_t(end - 1 - time);
        m_columnMask[column] = 1;
        --m_gapColumns;
    }
    if (m_gapColumns == 0)
        m_columnMask.clear();
}

void MBLayout::AddGap(size_t row, ptrdiff_t begin, ptrdiff_t end)
{
    CNTK_ASSERT(!m_frameMode && row < m_parallelSequences);
    if (begin >= end)
        return;
    m_sequences.push_back({SequenceInfo::c_gap, row, begin, end});
    ++m_version;
}

bool MBLayout::IsGap(size_t row, size_t time) const
{
    CNTK_ASSERT(row < m_parallelSequences && time < m_timeSteps);
    return m_gapColumns > 0 && m_columnMask[time * m_parallelSequences + row] == 0;
}

bool MBLayout::IsBeyondStart(size_t row, size_t time, size_t step) const
{
    CNTK_ASSERT(row < m_parallelSequences && time < m_timeSteps);
    if (m_frameMode)
        return step > 0;
    return ptrdiff_t(m_fromStart[time * m_parallelSequences + row]) < ptrdiff_t(step);
}

bool MBLayout::IsBeyondEnd(size_t row, size_t time, size_t step) const
{
    CNTK_ASSERT(row < m_parallelSequences && time < m_timeSteps);
    if (m_frameMode)
        return step > 0;
    return ptrdiff_t(m_toEnd[time * m_parallelSequences + row]) < ptrdiff_t(step);
}

namespace
{

// True if sequence n has one step in row n, as in frame mode.
bool HasFramesOnly(const MBLayout& layout)
{
    const std::vector<SequenceInfo>& sequences = layout.Sequences();
    return layout.IsFrameMode() || (layout.TimeSteps() == 1 && !layout.HasGaps() &&
                                    std::all_of(sequences.begin(), sequences.end(),
                                                [](const SequenceInfo& each)
                                                { return each.id == each.row && each.begin == 0 && each.end == 1; }));
}

} // namespace

bool MBLayout::operator==(const MBLayout& other) const
{
    if (m_parallelSequences != other.m_parallelSequences || m_timeSteps != other.m_timeSteps)
        return false;
    return m_frameMode == other.m_frameMode ? m_sequences == other.m_sequences
                                            : HasFramesOnly(*this) && HasFramesOnly(other);
}

void SequencePacking::Pack(std::span<const uint32_t> lengths)
{
    m_places.resize(lengths.size());
    m_used.clear();
    m_timeSteps = 0;
    if (lengths.empty())
        return;
    const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
    const size_t least = *shortest;
    m_timeSteps = *longest;
    size_t firstOpen = 0; // earlier rows have no room for any sequence
    for (size_t i = 0; i < lengths.size(); ++i)
    {
        size_t row = firstOpen;
        while (row < m_used.size() && m_used[row] + lengths[i] > m_timeSteps)
            ++row;
        if (row == m_used.size())
            m_used.push_back(0);
        m_places[i] = {uint32_t(row), m_used[row]};
        m_used[row] += lengths[i];
        while (firstOpen < m_used.size() && m_used[firstOpen] + least > m_timeSteps)
            ++firstOpen;
    }
}

void SequencePacking::Fill(MBLayout& layout, std::span<const uint32_t> lengths) const
{
    CNTK_ASSERT(lengths.size() == m_places.size());
    if (m_timeSteps == 1)
    {
        layout.InitAsFrameMode(lengths.size());
        return;
    }
    layout.Init(Rows(), m_timeSteps);
    for (size_t i = 0; i < lengths.size(); ++i)
    {
        const Place& place = m_places[i];
        layout.AddSequence(i, place.row, place.begin, ptrdiff_t(place.begin) + lengths[i]);
    }
    for (size_t row = 0; row < Rows(); ++row)
        layout.AddGap(row, m_used[row], ptrdiff_t(m_timeSteps));
}

} // namespace cntk
