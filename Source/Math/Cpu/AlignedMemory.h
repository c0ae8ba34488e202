// Aligned memory for operands, and the arithmetic of cutting sizes into blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace cntk
{

// Blocks of a size that cover the value.
constexpr size_t PartsOf(size_t value, size_t part)
{
    return (value + part - 1) / part;
}

// The least multiple of the unit that is not below the value.
constexpr size_t RoundUp(size_t value, size_t unit)
{
    return PartsOf(value, unit) * unit;
}

constexpr size_t c_cacheLine = 64; // bytes

struct AlignedDelete
{
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t(c_cacheLine)); }
};
// Pages that are never written cost no memory.
using AlignedMemory = std::unique_ptr<std::byte, AlignedDelete>;
inline AlignedMemory MakeAlignedMemory(size_t bytes)
{
    return AlignedMemory(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(c_cacheLine))));
}

// Memory that is kept between uses, so that a steady state allocates nothing. Growing discards its content.
class GrowingMemory
{
public:
    template <class T>
    T* Of(size_t elements)
    {
        const size_t bytes = elements * sizeof(T);
        if (bytes > m_bytes)
        {
            m_memory.reset(); // frees before it allocates
            m_bytes = 0;
            m_memory = MakeAlignedMemory(bytes);
            m_bytes = bytes;
        }
        return reinterpret_cast<T*>(m_memory.get());
    }

private:
    AlignedMemory m_memory;
    size_t m_bytes = 0;
};

} // namespace cntk
