// The functions that the formulas of ElementwiseOps.h call, for one number: plain C++ that g++, clang and nvcc compile.
// The vectorised kernels have functions of the same names in Cpu/VectorMath.h.
#pragma once

#include "Math/ElementwiseOps.h"

#include <cmath>

#ifdef __CUDACC__
#define CNTK_HOST_DEVICE __host__ __device__
#else
#define CNTK_HOST_DEVICE
#endif

namespace cntk
{

// The logarithm of any argument below the floor (zero and negative ones included) is this value; NaN stays NaN. Both
// are single-precision numbers in double networks too, same as CNTK v1.1.
constexpr double c_logFloor = double(1e-37f);
constexpr double c_logOfFloor = double(-85.1f);
// Divisors are kept this far from zero.
constexpr double c_divisorFloor = 1e-30;

template <class T>
CNTK_HOST_DEVICE inline T Absolute(T x)
{
    return std::fabs(x);
}

template <class T>
CNTK_HOST_DEVICE inline T SquareRoot(T x)
{
    return std::sqrt(x);
}

template <class T>
CNTK_HOST_DEVICE inline T Exponential(T x)
{
    return std::exp(x);
}

template <class T>
CNTK_HOST_DEVICE inline T ClippedLog(T x)
{
    return x < T(c_logFloor) ? T(c_logOfFloor) : std::log(x);
}

// y = 1 / (1 + exp(-x))
template <class T>
CNTK_HOST_DEVICE inline T Logistic(T x)
{
    // e = exp(-|x|) cannot overflow, so that very small results keep their digits.
    const T e = std::exp(-std::fabs(x));
    return (x < T(0) ? e : T(1)) / (T(1) + e);
}

template <class T>
CNTK_HOST_DEVICE inline T HyperbolicTangent(T x)
{
    return std::tanh(x);
}

template <class T>
CNTK_HOST_DEVICE inline T CosineOf(T x)
{
    return std::cos(x);
}

template <class T>
CNTK_HOST_DEVICE inline T SineOf(T x)
{
    return std::sin(x);
}

// 1/x with |x| kept at or above the floor; zero counts as negative, as in the original's tensor operator.
template <class T>
CNTK_HOST_DEVICE inline T ClippedInverse(T x)
{
    const T floor = T(c_divisorFloor);
    return T(1) / (x > T(0) ? (x < floor ? floor : x) : (x > -floor ? -floor : x));
}

// One value of a formula; operands beyond the arity are not used.
template <class T>
CNTK_HOST_DEVICE inline T EvaluateElementwise(ElementwiseOp op, [[maybe_unused]] T a, [[maybe_unused]] T b,
                                              [[maybe_unused]] T c)
{
    switch (op)
    {
#define CNTK_CASE_ROW(name, arity, expression)                                                                         \
    case ElementwiseOp::name:                                                                                          \
        return expression;
        CNTK_ELEMENTWISE_OPS(CNTK_CASE_ROW)
#undef CNTK_CASE_ROW
    }
    return T(0);
}

} // namespace cntk
