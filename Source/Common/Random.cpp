// glibc's rand() (additive feedback of type 3), so that a shuffle is the same with every C library. The recurrence is
// r[i] = r[i-3] + r[i-31] mod 2^32 and the output is r[i] / 2. The first 310 outputs are discarded.
#include "Common/Random.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr size_t c_discarded = 310;

} // namespace

GlibcRand::GlibcRand(uint32_t seed)
{
    // x <- 16807 x mod 2^31-1 by Schrage's method in signed arithmetic, same as glibc; this matters for seeds >= 2^31.
    int32_t word = seed == 0 ? 1 : int32_t(seed);
    uint32_t* const words = m_words.data() + (c_words - c_degree);
    words[0] = uint32_t(word);
    for (size_t i = 1; i < c_degree; ++i)
    {
        const int32_t high = word / 127773;
        const int32_t low = word % 127773;
        word = 16807 * low - 2836 * high;
        if (word < 0)
            word += int32_t(c_max);
        words[i] = uint32_t(word);
    }
    std::rotate(words, words + 3, words + c_degree); // the first three words come last
    for (size_t i = 0; i < c_discarded; ++i)
        Next();
}

// Computes many words at once, so that a draw is cheap.
void GlibcRand::MakeWords()
{
    std::copy(m_words.end() - c_degree, m_words.end(), m_words.begin());
    for (size_t i = c_degree; i < c_words; ++i)
        m_words[i] = m_words[i - 3] + m_words[i - c_degree];
    m_next = c_degree;
}

} // namespace cntk
