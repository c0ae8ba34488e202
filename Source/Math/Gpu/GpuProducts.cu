// Products of dense matrices by cuBLAS, and inner products of columns.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"

#include <array>

namespace cntk
{

namespace
{

constexpr size_t c_alphaAt = 2;
constexpr size_t c_betaAt = 3;

template <class T>
constexpr std::array<T, 4> c_initialFactors = {0, 1, 0, 0};

template <class T>
__global__ void SetFactors(T* factors, T alpha, T beta)
{
    factors[c_alphaAt] = alpha;
    factors[c_betaAt] = beta;
}

// c = f(c + bias)
template <class T>
__global__ void AddBiasActivate(const DeviceMatrix<T> c, const T* bias, ElementwiseOp activation)
{
    for (size_t index = FirstElement(); index < c.Elements(); index += ElementStep())
    {
        T& value = c.At(index);
        value = EvaluateElementwise(activation, value + bias[index % c.rows], T(0), T(0));
    }
}

} // namespace

GpuFactors::GpuFactors(GpuContext& context)
    : m_context(context), m_floats(context, std::span<const float>(c_initialFactors<float>)),
      m_doubles(context, std::span<const double>(c_initialFactors<double>))
{
}

template <class T>
GpuFactors::Pointers GpuFactors::PointersIn(T* factors, double alpha, double beta)
{
    const auto isConstant = [](double value) { return value == 0 || value == 1; };
    if (!isConstant(alpha) || !isConstant(beta))
        Launch("SetFactors", m_context.Stream(), 1, 1, SetFactors<T>, factors, T(alpha), T(beta));
    const auto pointerTo = [&](double value, size_t otherwise)
    { return factors + (isConstant(value) ? size_t(value) : otherwise); };
    return {pointerTo(alpha, c_alphaAt), pointerTo(beta, c_betaAt)};
}

GpuFactors::Pointers GpuFactors::Of(DataType type, double alpha, double beta)
{
    return type == DataType::Float32 ? PointersIn(m_floats.Data(), alpha, beta)
                                     : PointersIn(m_doubles.Data(), alpha, beta);
}

void GpuKernels::Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta)
{
    if (a.Columns() == 0)
    {
        if (beta == 0)
            Fill(c, 0); // c may hold NaN
        else if (beta != 1)
            Scale(c, beta);
        return;
    }
    GpuGemm product;
    product.type = c.type;
    product.transposeA = a.transposed;
    product.transposeB = b.transposed;
    product.m = c.rows;
    product.n = c.columns;
    product.k = a.Columns();
    product.a = a.matrix.data;
    product.strideA = a.matrix.stride;
    product.b = b.matrix.data;
    product.strideB = b.matrix.stride;
    product.c = c.data;
    product.strideC = c.stride;
    const GpuFactors::Pointers factors = m_factors.Of(c.type, alpha, beta);
    product.alpha = factors.alpha;
    product.beta = factors.beta;
    if (!m_context.Repeats())
        m_blas.Multiply(product, m_context.Stream());
}

void GpuKernels::MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias,
                                      ElementwiseOp activation, const MatrixView& c)
{
    Multiply(a, Operand{b}, c, 1, 0);
    VisitType(c.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("MultiplyBiasActivate", m_context.Stream(), BlocksFor(c.Elements(), c_threads), c_threads,
                         AddBiasActivate<T>, DeviceMatrix<T>(c), bias.As<T>(), activation);
              });
}

} // namespace cntk
