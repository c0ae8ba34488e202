// glibc's rand() (additive feedback of type 3), so that a shuffle is the same with every C library.
// The recurrence is r[i] = r[i-3] + r[i-31] mod 2^32, the output r[i] / 2; the first 310 outputs are thrown away.
#include "Common/Random.h"

#include "Common/Error.h"

#include <tuple>

namespace cntk
{
namespace
{

constexpr size_t c_degree = 31;
constexpr size_t c_discarded = 310;

} // namespace

GlibcRand::GlibcRand(uint32_t seed)
{
    // x <- 16807 x mod 2^31-1 by Schrage's method in signed arithmetic, as glibc does it: it matters for seeds >= 2^31.
    int32_t word = seed == 0 ? 1 : int32_t(seed);
    m_words[0] = uint32_t(word);
    for (size_t i = 1; i < c_degree; ++i)
    {
        const int32_t high = word / 127773;
        const int32_t low = word % 127773;
        word = 16807 * low - 2836 * high;
        if (word < 0)
            word += int32_t(c_max);
        m_words[i] = uint32_t(word);
    }
    for (size_t i = c_degree; i < m_words.size(); ++i)
        m_words[i] = m_words[i - c_degree];
    for (size_t i = 0; i < c_discarded; ++i)
        Next();
}

uint32_t GlibcRand::Next()
{
    constexpr size_t size = std::tuple_size_v<decltype(m_words)>;
    const auto back = [this](size_t distance)
    { return m_words[m_position >= distance ? m_position - distance : m_position + size - distance]; };
    const uint32_t word = back(3) + back(c_degree);
    m_words[m_position] = word;
    m_position = m_position + 1 == size ? 0 : m_position + 1;
    return word >> 1;
}

size_t GlibcRand::Draw(size_t begin, size_t end)
{
    CNTK_ASSERT(begin < end);
    const uint32_t first = Next();
    const uint32_t second = Next();
    const int32_t wrapped = int32_t(first * c_max + second);
    return begin + size_t(uint64_t(int64_t(wrapped)) % uint64_t(end - begin));
}

} // namespace cntk
