// Memory for operands in work, at the boundary of a cache line.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace cntk
{

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

// Grows and is kept: a steady state allocates nothing. What it held is lost where it grows.
class GrowingMemory
{
public:
    template <class T>
    T* Of(size_t elements)
    {
        const size_t bytes = elements * sizeof(T);
        if (bytes > m_bytes)
        {
            m_memory.reset(); // before the new one is there
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
