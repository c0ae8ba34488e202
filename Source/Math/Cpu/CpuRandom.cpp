// The original's random streams. Compiled once, without FMA, which would change the last bits.
#include "Common/Random.h"
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ThreadPool.h"

#include <algorithm>

namespace cntk
{

namespace
{

// a * b mod 2^31 - 1 for factors below that.
uint32_t MultiplyModulo(uint64_t a, uint64_t b)
{
    return uint32_t(a * b % MinStdRand0::c_modulus);
}

uint32_t PowerModulo(uint64_t base, uint64_t exponent)
{
    uint32_t power = 1;
    uint32_t square = uint32_t(base % MinStdRand0::c_modulus);
    for (; exponent > 0; exponent >>= 1)
    {
        if (exponent & 1)
            power = MultiplyModulo(power, square);
        square = MultiplyModulo(square, square);
    }
    return power;
}

// The stream of MinStdRand0 from some position on, several numbers at a time: lane i holds x[n + i] and steps by
// 16807^lanes.
class RandomLanes
{
public:
    static constexpr size_t c_lanes = 16;

    RandomLanes(uint64_t seed, uint64_t position) : m_step(PowerModulo(16807, c_lanes))
    {
        uint32_t state = uint32_t(seed % MinStdRand0::c_modulus);
        state = MultiplyModulo(state == 0 ? 1 : state, PowerModulo(16807, position + 1));
        for (uint64_t& lane : m_states)
        {
            lane = state;
            state = MultiplyModulo(state, 16807);
        }
    }

    // The next c_lanes outputs, less 1.
    void Next(int32_t* outputs)
    {
#pragma omp simd
        for (size_t lane = 0; lane < c_lanes; ++lane)
        {
            outputs[lane] = int32_t(uint32_t(m_states[lane]) - 1);
            // Folding at bit 31: 2^31 = 1 modulo 2^31 - 1.
            const uint64_t product = uint64_t(uint32_t(m_states[lane])) * m_step;
            uint64_t folded = (product & MinStdRand0::c_modulus) + (product >> 31);
            folded = (folded & MinStdRand0::c_modulus) + (folded >> 31);
            m_states[lane] = folded;
        }
    }

private:
    // In 1 .. 2^31 - 2: the modulus is prime and the first state is not 0.
    alignas(64) uint64_t m_states[c_lanes];
    uint32_t m_step;
};

constexpr size_t DrawsPer(float)
{
    return 1;
}
constexpr size_t DrawsPer(double)
{
    return 2;
}

// Uniform numbers in [0, 1) from outputs of the generator, less 1; as MinStdRand0::Canonical.
void ToCanonical(const int32_t* outputs, float* values, size_t count)
{
    constexpr float range = 2147483646.0f;
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
    {
        const float value = float(outputs[i]) / range;
        values[i] = value < 1.0f ? value : 0x1.fffffep-1f;
    }
}

void ToCanonical(const int32_t* outputs, double* values, size_t count)
{
    constexpr double range = 2147483646.0;
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
    {
        const double value = (double(outputs[2 * i]) + double(outputs[2 * i + 1]) * range) / (range * range);
        values[i] = value < 1.0 ? value : 0x1.fffffffffffffp-1;
    }
}

// Calls convert(values, count, target) with uniform numbers for ranges of each column, in the stream's order.
template <class T, class Convert>
void FillFromStream(const MatrixView& output, uint64_t seed, ThreadPool& pool, Convert&& convert)
{
    constexpr size_t lanes = RandomLanes::c_lanes;
    constexpr size_t perStep = lanes / DrawsPer(T());
    const size_t elements = output.Elements();
    // Each number costs about as much as four additions.
    ForEachPart(pool, elements, lanes, UsefulThreads(4 * elements, pool),
                [&](int, size_t begin, size_t end)
                {
                    RandomLanes stream(seed, begin * DrawsPer(T()));
                    alignas(64) int32_t outputs[lanes];
                    alignas(64) T values[perStep];
                    size_t row = begin % output.rows;
                    T* column = output.As<T>() + begin / output.rows * output.stride;
                    for (size_t at = begin; at < end; at += perStep)
                    {
                        stream.Next(outputs);
                        ToCanonical(outputs, values, perStep);
                        const size_t available = std::min(perStep, end - at);
                        for (size_t used = 0; used < available;)
                        {
                            const size_t count = std::min(available - used, output.rows - row);
                            convert(values + used, count, column + row);
                            used += count;
                            row += count;
                            if (row == output.rows)
                            {
                                row = 0;
                                column += output.stride;
                            }
                        }
                    }
                });
}

} // namespace

void CpuKernels::FillUniform(const MatrixView& output, double low, double high, uint64_t seed)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const T width = T(high) - T(low);
                  FillFromStream<T>(output, seed, m_pool,
                                    [&](const T* values, size_t count, T* target)
                                    {
                                        for (size_t i = 0; i < count; ++i)
                                            target[i] = values[i] * width + T(low);
                                    });
              });
}

// Rejection makes the position in the stream depend on the numbers before: one thread.
void CpuKernels::FillGaussian(const MatrixView& output, double mean, double standardDeviation, uint64_t seed)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  MinStdRand0 generator(seed);
                  NormalDistribution<T> normal{T(mean), T(standardDeviation)};
                  for (size_t column = 0; column < output.columns; ++column)
                      for (size_t row = 0; row < output.rows; ++row)
                          output.As<T>()[column * output.stride + row] = normal(generator);
              });
}

void CpuKernels::FillDropoutMask(const MatrixView& output, double rate, double scale, uint64_t seed)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  FillFromStream<T>(output, seed, m_pool,
                                    [&](const T* values, size_t count, T* target)
                                    {
                                        for (size_t i = 0; i < count; ++i)
                                            target[i] = values[i] <= T(rate) ? T(0) : T(scale);
                                    });
              });
}

} // namespace cntk
