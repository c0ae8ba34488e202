// The element-wise formulas, each written once and compiled by g++, clang and nvcc, forward and gradient.
// X(name, arity, expression of a, b, c). T is the element type; the helper functions are in
// Math/ElementwiseFunctions.h. Numeric floors are those of the original (spec: log below 1e-37 gives -85.1, divisors
// are kept 1e-30 from zero).
#pragma once

#include <cstddef>
#include <cstdint>

namespace cntk
{

// clang-format off
#define CNTK_ELEMENTWISE_OPS(X)                                                                                        \
    /* leaves and copies */                                                                                            \
    X(Copy,                  1, a)                                                                                     \
    X(Negate,                1, -a)                                                                                    \
    X(Not,                   1, a == T(0) ? T(1) : T(0))                                                               \
    X(Abs,                   1, Absolute(a))                                                                           \
    X(Square,                1, a * a)                                                                                 \
    X(Sqrt,                  1, SquareRoot(a > T(0) ? a : T(0)))                                                       \
    X(Reciprocal,            1, a == T(0) ? T(0) : T(1) / a)                                                           \
    X(Exp,                   1, Exponential(a))                                                                        \
    X(Log,                   1, ClippedLog(a))                                                                         \
    X(Sigmoid,               1, Logistic(a))                                                                           \
    X(Tanh,                  1, HyperbolicTangent(a))                                                                  \
    X(RectifiedLinear,       1, a > T(0) ? a : T(0))                                                                   \
    X(Cosine,                1, CosineOf(a))                                                                           \
    X(Sine,                  1, SineOf(a))                                                                             \
    X(IsNotFinite,           1, (a - a) == T(0) ? T(0) : T(1))                                                         \
    /* binary */                                                                                                       \
    X(Sum,                   2, a + b)                                                                                 \
    X(Difference,            2, a - b)                                                                                 \
    X(Product,               2, a * b)                                                                                 \
    X(Quotient,              2, a * ClippedInverse(b))                                                                 \
    X(Maximum,               2, a > b ? a : b)                                                                         \
    X(Minimum,               2, a < b ? a : b)                                                                         \
    X(SquaredDifference,     2, (a - b) * (a - b))                                                                     \
    X(Greater,               2, a > b ? T(1) : T(0))                                                                   \
    X(SoftThreshold,         2, a > b ? a - b : (a < -b ? a + b : T(0)))                                               \
    /* gradients: a = gradient of the output, b = value of the output (or of the input where the name says so) */     \
    X(SigmoidGradient,       2, a * b * (T(1) - b))                                                                    \
    X(TanhGradient,          2, a * (T(1) - b * b))                                                                    \
    X(RectifiedLinearGradient, 2, b > T(0) ? a : T(0))                                                                 \
    X(LogGradient,           2, a * Exponential(-b))                                                                   \
    X(AbsGradientFromInput,  2, a * (b > T(0) ? T(1) : (b < T(0) ? T(-1) : T(0))))                                     \
    X(CosineGradientFromInput, 2, -a * SineOf(b))                                                                      \
    X(SineGradientFromInput, 2, a * CosineOf(b))                                                                       \
    X(SqrtGradient,          2, a * ClippedInverse(T(2) * b))                                                          \
    X(ReciprocalGradient,    2, -a * b * b)                                                                            \
    /* ternary */                                                                                                      \
    X(Clip,                  3, a < b ? b : (a > c ? c : a))                                                           \
    X(NormalizePerDim,       3, (a - b) * c)                                                                           \
    X(ProductOfThree,        3, a * b * c)
// clang-format on

enum class ElementwiseOp : uint8_t
{
#define CNTK_ENUM_ROW(name, arity, expression) name,
    CNTK_ELEMENTWISE_OPS(CNTK_ENUM_ROW)
#undef CNTK_ENUM_ROW
};

enum class ReduceOp : uint8_t
{
    Sum,
    Max,
    Min
};

size_t ArityOf(ElementwiseOp op);
const char* NameOf(ElementwiseOp op);

} // namespace cntk
