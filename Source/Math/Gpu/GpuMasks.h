// Masks of columns on the device: brought there once for a layout, however many operations ask for them or for a part.
#pragma once

#include "Math/Gpu/GpuAllocator.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cntk
{

class GpuMasks
{
public:
    struct Mask
    {
        const uint8_t* host = nullptr; // where the host has it; never read
        std::vector<uint8_t> copy;
        uint8_t* there = nullptr;
        size_t room = 0; // bytes there
    };

    // Takes note of a mask: null where it is there already, else what must be filled with it.
    Mask* Expect(std::span<const uint8_t> mask, GpuAllocator& memory);
    // Of a mask or a part of one; null: unknown.
    const uint8_t* Find(std::span<const uint8_t> mask) const;
    // The whole one that a mask is a part of; null: unknown.
    const Mask* FindWhole(std::span<const uint8_t> mask) const;
    void Free(GpuAllocator& memory) noexcept;

    // Whether part lies in the mask, with its numbers: memory of the host may have been used for something else.
    static bool Holds(const Mask& mask, std::span<const uint8_t> part);

private:
    std::array<Mask, 4> m_masks; // of the layouts of one network, as a rule one or two
    size_t m_next = 0;           // to be replaced
};

} // namespace cntk
