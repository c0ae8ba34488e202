// Masks are told apart by their place in host memory, and compared: a comparison costs less than a copy.
#include "Math/Gpu/GpuMasks.h"

#include <algorithm>
#include <cstring>

namespace cntk
{

bool GpuMasks::Holds(const Mask& mask, std::span<const uint8_t> part)
{
    if (part.data() < mask.host || part.data() + part.size() > mask.host + mask.copy.size())
        return false;
    return std::memcmp(part.data(), mask.copy.data() + (part.data() - mask.host), part.size()) == 0;
}

const GpuMasks::Mask* GpuMasks::FindWhole(std::span<const uint8_t> mask) const
{
    for (const Mask& known : m_masks)
        if (Holds(known, mask))
            return &known;
    return nullptr;
}

const uint8_t* GpuMasks::Find(std::span<const uint8_t> mask) const
{
    const Mask* const whole = FindWhole(mask);
    return whole != nullptr ? whole->there + (mask.data() - whole->host) : nullptr;
}

GpuMasks::Mask* GpuMasks::Expect(std::span<const uint8_t> mask, GpuAllocator& memory)
{
    if (mask.empty())
        return nullptr;
    for (Mask& known : m_masks)
        if (std::ranges::equal(known.copy, mask))
        {
            known.host = mask.data();
            return nullptr;
        }
    Mask& oldest = m_masks[m_next];
    m_next = (m_next + 1) % m_masks.size();
    if (oldest.room < mask.size())
    {
        memory.Free(oldest.there);
        oldest.there = nullptr;
        oldest.room = 0;
        oldest.there = static_cast<uint8_t*>(memory.Allocate(mask.size()));
        oldest.room = mask.size();
    }
    oldest.copy.assign(mask.begin(), mask.end());
    oldest.host = mask.data();
    return &oldest;
}

void GpuMasks::Free(GpuAllocator& memory) noexcept
{
    for (const Mask& mask : m_masks)
        memory.Free(mask.there);
}

} // namespace cntk
