// The random streams of CNTK v1.1, bit for bit as on the CPU. Powers of the generator's multiplier move each thread to
// its own values. Fused multiply-adds are avoided, because they would change the last bits.
#include "Common/Random.h"
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"

#include <vector>

namespace cntk
{

namespace
{

constexpr size_t c_valuesPerThread = 16;
constexpr uint32_t c_modulus = MinStdRand0::c_modulus;
constexpr uint32_t c_multiplier = 16807;

CNTK_HOST_DEVICE constexpr uint32_t MultiplyModulo(uint64_t a, uint64_t b)
{
    return uint32_t(a * b % c_modulus);
}

// The state after `draws` more draws.
CNTK_HOST_DEVICE constexpr uint32_t Advanced(uint32_t state, uint64_t draws)
{
    uint32_t square = c_multiplier;
    for (; draws > 0; draws >>= 1)
    {
        if (draws & 1)
            state = MultiplyModulo(state, square);
        square = MultiplyModulo(square, square);
    }
    return state;
}

class DeviceStream
{
public:
    __device__ DeviceStream(uint32_t state, uint64_t position) : m_state(Advanced(state, position)) {}
    // Skips as many draws as turn state 1 into `power`.
    __device__ void Skip(uint32_t power) { m_state = MultiplyModulo(m_state, power); }
    __device__ uint32_t Next()
    {
        m_state = MultiplyModulo(m_state, c_multiplier);
        return m_state;
    }
    // Same as MinStdRand0::Canonical.
    __device__ void Draw(float& value)
    {
        const float drawn = float(Next() - 1) / 2147483646.0f;
        value = drawn < 1.0f ? drawn : 0x1.fffffep-1f;
    }
    __device__ void Draw(double& value)
    {
        constexpr double range = 2147483646.0;
        const double first = double(Next() - 1);
        const double second = double(Next() - 1);
        const double drawn = __dadd_rn(first, __dmul_rn(second, range)) / (range * range);
        value = drawn < 1.0 ? drawn : 0x1.fffffffffffffp-1;
    }

private:
    uint32_t m_state;
};

__device__ inline float Scaled(float value, float width, float low)
{
    return __fadd_rn(__fmul_rn(value, width), low);
}
__device__ inline double Scaled(double value, double width, double low)
{
    return __dadd_rn(__dmul_rn(value, width), low);
}

template <class T>
struct ToRange
{
    T width;
    T low;
    __device__ T operator()(T value) const { return Scaled(value, width, low); }
};

template <class T>
struct ToMask
{
    T rate;
    T scale;
    __device__ T operator()(T value) const { return value <= rate ? T(0) : scale; }
};

// Adjacent threads write adjacent elements: each thread has one of every c_threads. A non-null deviceState overrides
// state.
template <class T, class Convert>
__global__ void FillFromStream(const DeviceMatrix<T> output, uint32_t state, const uint32_t* deviceState,
                               Convert convert)
{
    constexpr uint64_t drawsPerValue = sizeof(T) / sizeof(uint32_t);
    constexpr uint32_t toNext = Advanced(1, (c_threads - 1) * drawsPerValue);
    const size_t first = blockIdx.x * (c_threads * c_valuesPerThread) + threadIdx.x;
    const size_t last = first + c_threads * c_valuesPerThread;
    const size_t end = last < output.Elements() ? last : output.Elements();
    if (first >= end)
        return;
    DeviceStream stream(deviceState != nullptr ? *deviceState : state, first * drawsPerValue);
    for (size_t index = first; index < end; index += c_threads)
    {
        T value;
        stream.Draw(value);
        output.At(index) = convert(value);
        stream.Skip(toNext);
    }
}

uint32_t StateOf(uint64_t seed)
{
    const uint32_t state = uint32_t(seed % c_modulus);
    return state == 0 ? 1u : state;
}

template <class T, class Convert>
void LaunchFill(const char* name, GpuContext& context, const MatrixView& output, uint32_t state,
                const uint32_t* deviceState, Convert convert)
{
    const size_t perBlock = c_threads * c_valuesPerThread;
    Launch(name, context.Stream(), unsigned((output.Elements() + perBlock - 1) / perBlock), c_threads,
           FillFromStream<T, Convert>, DeviceMatrix<T>(output), state, deviceState, convert);
}

} // namespace

void GpuKernels::FillUniform(const MatrixView& output, double low, double high, uint64_t seed)
{
    m_context.NoteObstacle("it draws random values");
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  LaunchFill<T>("FillUniform", m_context, output, StateOf(seed), nullptr,
                                ToRange<T>{T(high) - T(low), T(low)});
              });
}

// Computed by the host, which is fast enough for initial values: rejection makes the position in the stream depend on
// all earlier values.
void GpuKernels::FillGaussian(const MatrixView& output, double mean, double standardDeviation, uint64_t seed)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  MinStdRand0 generator(seed);
                  NormalDistribution<T> normal{T(mean), T(standardDeviation)};
                  std::vector<T> values(output.Elements());
                  for (T& value : values)
                      value = normal(generator);
                  const GpuArray<T> drawn(m_context, std::span<const T>(values));
                  MatrixView source = output;
                  source.data = drawn.Data();
                  source.stride = source.rows;
                  Copy(source, output);
              });
}

void GpuKernels::FillDropoutMask(const MatrixView& output, double rate, double scale, uint64_t seed)
{
    const uint32_t state = StateOf(seed);
    const uint32_t* const deviceState = m_context.ChangingArgument(state);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  LaunchFill<T>("FillDropoutMask", m_context, output, state, deviceState, ToMask<T>{T(rate), T(scale)});
              });
}

} // namespace cntk
