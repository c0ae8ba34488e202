// Puts sequences of different lengths side by side: each goes, in order, into the first row (parallel sequence) that
// has room, a new row if none has; what is left are gaps. The longest sequence sets the number of time steps.
#pragma once

#include "Common/MBLayout.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cntk
{

class SequencePacking
{
public:
    struct Place
    {
        uint32_t row = 0;
        uint32_t begin = 0; // time step
    };

    // Lengths are positive. Sequences of one step each become the frames of one step (1.3 of the original's readers).
    void Pack(std::span<const uint32_t> lengths);

    // Of each sequence, in their order.
    const std::vector<Place>& Places() const { return m_places; }
    size_t Rows() const { return m_used.size(); }
    size_t TimeSteps() const { return m_timeSteps; }
    size_t Columns() const { return m_used.size() * m_timeSteps; }

    // Describes the places; ids are 0, 1, ...
    void Fill(MBLayout& layout, std::span<const uint32_t> lengths) const;

private:
    std::vector<Place> m_places;
    std::vector<uint32_t> m_used; // by row
    size_t m_timeSteps = 0;
};

} // namespace cntk
