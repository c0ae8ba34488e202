// The random streams of CNTK v1.1 on Linux, independent of the C library, and the seeds for them.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cntk
{

// x <- 16807 x mod 2^31-1; state = seed mod 2^31-1, 0 becomes 1.
class MinStdRand0
{
public:
    static constexpr uint32_t c_modulus = 2147483647u;
    explicit MinStdRand0(uint64_t seed = 1) : m_state(uint32_t(seed % c_modulus))
    {
        if (m_state == 0)
            m_state = 1;
    }
    uint32_t Next()
    {
        m_state = uint32_t(uint64_t(m_state) * 16807u % c_modulus);
        return m_state;
    }
    // Uniform in [0, 1): one draw for float, two for double, as GNU libstdc++ does it.
    template <class T>
    T Canonical();

private:
    uint32_t m_state;
};

template <>
inline float MinStdRand0::Canonical<float>()
{
    constexpr float range = 2147483646.0f;
    const float value = float(Next() - 1) / range;
    return value < 1.0f ? value : 0x1.fffffep-1f;
}
template <>
inline double MinStdRand0::Canonical<double>()
{
    constexpr double range = 2147483646.0;
    const double first = double(Next() - 1);
    const double second = double(Next() - 1);
    const double value = (first + second * range) / (range * range);
    return value < 1.0 ? value : 0x1.fffffffffffffp-1;
}

// Marsaglia's polar method. Returns y*f first and saves x*f for the next call.
template <class T>
class NormalDistribution
{
public:
    NormalDistribution(T mean, T standardDeviation) : m_mean(mean), m_standardDeviation(standardDeviation) {}
    T operator()(MinStdRand0& generator)
    {
        if (m_hasSaved)
        {
            m_hasSaved = false;
            return m_saved * m_standardDeviation + m_mean;
        }
        T x, y, square;
        do
        {
            x = T(2) * generator.Canonical<T>() - T(1);
            y = T(2) * generator.Canonical<T>() - T(1);
            square = x * x + y * y;
        } while (square > T(1) || square == T(0));
        const T factor = std::sqrt(T(-2) * std::log(square) / square);
        m_saved = x * factor;
        m_hasSaved = true;
        return y * factor * m_standardDeviation + m_mean;
    }

private:
    T m_mean;
    T m_standardDeviation;
    T m_saved = 0;
    bool m_hasSaved = false;
};

// glibc's rand(): additive feedback, 31 words; RAND_MAX = 2^31-1.
class GlibcRand
{
public:
    static constexpr uint32_t c_max = 2147483647u;
    explicit GlibcRand(uint32_t seed = 1);
    uint32_t Next()
    {
        if (m_next == c_words)
            MakeWords();
        return m_words[m_next++] >> 1;
    }
    // Draw of the readers in [begin, end), which must not be empty: r1*RAND_MAX + r2 in 32-bit wrap-around,
    // sign-extended, modulo the width.
    size_t Draw(size_t begin, size_t end)
    {
        const uint32_t first = Next();
        const uint32_t second = Next();
        const int32_t wrapped = int32_t(first * c_max + second);
        return begin + size_t(uint64_t(int64_t(wrapped)) % uint64_t(end - begin));
    }

private:
    static constexpr size_t c_degree = 31;
    static constexpr size_t c_words = 6 * c_degree;
    void MakeWords();

    std::array<uint32_t, c_words> m_words{}; // the previous c_degree words, then the next words
    size_t m_next = c_words;
};

// The seeds of one purpose (initial values, dropout, noise, order of the data). Where CNTK v1.1 seeds a generator with
// n, the stream gives the seed of number n. Without a trainingSeed this seed is n. With a trainingSeed, seeds of
// different purposes, numbers and trainingSeeds are independent.
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

    // 1 to 2^31-2 with a trainingSeed: all generators give different streams for these seeds.
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
