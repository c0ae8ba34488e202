// First-fit packing of sequences.
#include "Common/SequencePacking.h"

#include "Common/Error.h"

#include <algorithm>

namespace cntk
{

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
    size_t firstOpen = 0; // rows before it have no room for any sequence
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
