// Factors of products: constants, and two numbers for what varies.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuScalars.h"

#include <array>

namespace cntk
{

namespace
{

constexpr size_t c_alphaAt = 2;
constexpr size_t c_betaAt = 3;

template <class T>
constexpr std::array<T, 4> c_constants = {0, 1, 0, 0};

template <class T>
__global__ void SetFactors(T* scalars, T alpha, T beta)
{
    scalars[c_alphaAt] = alpha;
    scalars[c_betaAt] = beta;
}

} // namespace

GpuScalars::GpuScalars(GpuContext& context)
    : m_context(context), m_floats(context, std::span<const float>(c_constants<float>)),
      m_doubles(context, std::span<const double>(c_constants<double>))
{
}

template <class T>
GpuScalars::Factors GpuScalars::FactorsIn(T* scalars, double alpha, double beta)
{
    const auto isConstant = [](double value) { return value == 0 || value == 1; };
    if (!isConstant(alpha) || !isConstant(beta))
        Launch("SetFactors", m_context.Stream(), 1, 1, SetFactors<T>, scalars, T(alpha), T(beta));
    const auto placeOf = [&](double value, size_t otherwise) {
        return scalars + (value == 0 ? 0 : value == 1 ? 1 : otherwise);
    };
    return {placeOf(alpha, c_alphaAt), placeOf(beta, c_betaAt)};
}

GpuScalars::Factors GpuScalars::Of(DataType type, double alpha, double beta)
{
    return type == DataType::Float32 ? FactorsIn(m_floats.Data(), alpha, beta)
                                     : FactorsIn(m_doubles.Data(), alpha, beta);
}

} // namespace cntk
