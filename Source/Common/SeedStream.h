// The seeds of one purpose (start values, dropout, noise, order of the data): the original's own, or those that a
// trainingSeed gives instead.
#pragma once

#include <cstdint>
#include <string_view>

namespace cntk
{

// Number n, where the original seeds a generator with n, becomes the seed of that number in this stream. Without a
// trainingSeed it stays n. With one, seeds of different purposes, of neighbouring numbers and of neighbouring
// trainingSeeds have nothing to do with each other.
class SeedStream
{
public:
    SeedStream() = default;
    SeedStream(uint64_t trainingSeed, std::string_view purpose) : m_isOriginal(trainingSeed == 0)
    {
        m_key = Mix(trainingSeed + c_step);
        for (const char letter : purpose)
            m_key = Mix(m_key ^ uint8_t(letter));
    }

    // 1 to 2^31-2 with a trainingSeed: all of the generators tell these seeds apart.
    uint64_t operator()(uint64_t number) const
    {
        return m_isOriginal ? number : 1 + Mix(m_key + number * c_step) % c_seeds;
    }

    bool operator==(const SeedStream&) const = default;

private:
    static constexpr uint64_t c_step = 0x9E3779B97F4A7C15u;
    static constexpr uint64_t c_seeds = 2147483646u;

    // The finishing step of splitmix64.
    static uint64_t Mix(uint64_t value)
    {
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
        return value ^ (value >> 31);
    }

    bool m_isOriginal = true;
    uint64_t m_key = 0;
};

} // namespace cntk
