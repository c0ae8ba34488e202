// The functions that the formulas of ElementwiseOps.h call, without branches and calls, so that compilers turn loops
// over them into vector code. Accurate to 2 units in the last place over the whole range, infinities and denormals
// included.
//
// See CompiledFor.h for what may be used here.
#pragma once

#include <cstdint>

namespace cntk::simd
{
namespace
{

#define CNTK_VECTOR_FUNCTION [[maybe_unused]] [[gnu::always_inline]] inline

// ---- small pieces ---------------------------------------------------------------------------------------------------

CNTK_VECTOR_FUNCTION float Absolute(float x)
{
    return __builtin_fabsf(x);
}
CNTK_VECTOR_FUNCTION double Absolute(double x)
{
    return __builtin_fabs(x);
}
CNTK_VECTOR_FUNCTION float SquareRoot(float x)
{
    return __builtin_sqrtf(x);
}
CNTK_VECTOR_FUNCTION double SquareRoot(double x)
{
    return __builtin_sqrt(x);
}
CNTK_VECTOR_FUNCTION float CopySign(float x, float sign)
{
    return __builtin_copysignf(x, sign);
}
CNTK_VECTOR_FUNCTION double CopySign(double x, double sign)
{
    return __builtin_copysign(x, sign);
}
// Not vectorised: rare, and argument reduction for large arguments is libm's business.
CNTK_VECTOR_FUNCTION float CosineOf(float x)
{
    return __builtin_cosf(x);
}
CNTK_VECTOR_FUNCTION double CosineOf(double x)
{
    return __builtin_cos(x);
}
CNTK_VECTOR_FUNCTION float SineOf(float x)
{
    return __builtin_sinf(x);
}
CNTK_VECTOR_FUNCTION double SineOf(double x)
{
    return __builtin_sin(x);
}

// 1/x with |x| kept at or above 1e-30; zero counts as negative.
template <class T>
CNTK_VECTOR_FUNCTION T ClippedInverse(T x)
{
    const T floor = T(1e-30);
    const T nearest = x > T(0) ? floor : -floor;
    return T(1) / (Absolute(x) < floor ? nearest : x);
}

// ---- exp ------------------------------------------------------------------------------------------------------------
// x = n ln 2 + r, |r| <= ln 2 / 2; exp(x) = 2^n exp(r). Adding 1.5 * 2^(mantissa bits) rounds to an integer and leaves
// it in the low bits.

template <class T>
struct ReducedExponential
{
    T value;   // exp(r)
    T n;       // a whole number
    T shifted; // n in its low bits
};

CNTK_VECTOR_FUNCTION ReducedExponential<float> ReduceExponential(float x)
{
    const float shift = 12582912.0f;
    const float shifted = x * 1.44269504088896341f + shift;
    const float n = shifted - shift;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f; // ln 2 in two parts; n * the first is exact
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return {1.0f + (r + r * r * p), n, shifted};
}

CNTK_VECTOR_FUNCTION ReducedExponential<double> ReduceExponential(double x)
{
    const double shift = 6755399441055744.0;
    const double shifted = x * 1.44269504088896338700 + shift;
    const double n = shifted - shift;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    // The Taylor series: |r| <= 0.347 makes the first term left out smaller than 1e-17.
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    return {1.0 + (r + r * r * p), n, shifted};
}

// 2^(n + offset) of a number that carries n in its low bits; the power must be a normal number. What lies above the low
// bits is shifted out.
CNTK_VECTOR_FUNCTION float PowerOfTwo(float shifted, int32_t offset)
{
    return __builtin_bit_cast(float, (__builtin_bit_cast(uint32_t, shifted) + uint32_t(127 + offset)) << 23);
}
CNTK_VECTOR_FUNCTION double PowerOfTwo(double shifted, int32_t offset)
{
    return __builtin_bit_cast(double, (__builtin_bit_cast(uint64_t, shifted) + uint64_t(1023 + offset)) << 52);
}

// The power is applied in two factors, so that results may be denormal or infinite and only the last product rounds.
CNTK_VECTOR_FUNCTION float Exponential(float x)
{
    // Beyond these the results are 0 and infinity anyway. NaN passes the comparisons.
    float clamped = x < -104.0f ? -104.0f : x;
    clamped = clamped > 89.0f ? 89.0f : clamped;
    const ReducedExponential<float> reduced = ReduceExponential(clamped);
    const int32_t n = __builtin_bit_cast(int32_t, reduced.shifted) - 0x4b400000;
    const int32_t half = n >> 1;
    const float first = __builtin_bit_cast(float, uint32_t(half + 127) << 23);
    const float second = __builtin_bit_cast(float, uint32_t(n - half + 127) << 23);
    return reduced.value * first * second;
}

CNTK_VECTOR_FUNCTION double Exponential(double x)
{
    double clamped = x < -746.0 ? -746.0 : x;
    clamped = clamped > 710.0 ? 710.0 : clamped;
    const ReducedExponential<double> reduced = ReduceExponential(clamped);
    const double shift = 6755399441055744.0;
    const double shiftedHalf = reduced.n * 0.5 + shift;
    const double shiftedRest = (reduced.n - (shiftedHalf - shift)) + shift;
    return reduced.value * PowerOfTwo(shiftedHalf, 0) * PowerOfTwo(shiftedRest, 0);
}

// exp(x) for x <= 0: one power will do where the other is a constant that lifts results out of the denormals.
CNTK_VECTOR_FUNCTION float ExponentialOfNegative(float x)
{
    const ReducedExponential<float> reduced = ReduceExponential(x < -104.0f ? -104.0f : x);
    return reduced.value * PowerOfTwo(reduced.shifted, 64) * 0x1p-64f;
}
CNTK_VECTOR_FUNCTION double ExponentialOfNegative(double x)
{
    const ReducedExponential<double> reduced = ReduceExponential(x < -746.0 ? -746.0 : x);
    return reduced.value * PowerOfTwo(reduced.shifted, 512) * 0x1p-512;
}

// exp(x) for 0 <= x; beyond 64 it stays as it is there.
template <class T>
CNTK_VECTOR_FUNCTION T ExponentialUpTo64(T x)
{
    const ReducedExponential<T> reduced = ReduceExponential(x > T(64) ? T(64) : x);
    return reduced.value * PowerOfTwo(reduced.shifted, 0);
}

// ---- log ------------------------------------------------------------------------------------------------------------
// x = 2^e m, sqrt(1/2) <= m < sqrt(2); log x = e ln 2 + log m. Arguments below 1e-37f give -85.1f in both precisions
// (c_logFloor), so denormal arguments need no care.

// Requires a positive number that is finite and not denormal.
CNTK_VECTOR_FUNCTION float LogOfNormal(float x)
{
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const int32_t exponent = int32_t(bits - 0x3f3504f3u) >> 23;
    const float m = __builtin_bit_cast(float, bits - (uint32_t(exponent) << 23));
    const float e = float(exponent);
    const float f = m - 1.0f;
    const float square = f * f;
    // In pairs: a chain of nine steps would be waited for.
    const float low =
        (-2.4999993993e-1f * f + 3.3333331174e-1f) +
        ((-1.6668057665e-1f * f + 2.0000714765e-1f) + (-1.2420140846e-1f * f + 1.4249322787e-1f) * square) * square;
    const float high = 7.0376836292e-2f * square + (-1.1514610310e-1f * f + 1.1676998740e-1f);
    const float p = high * (square * square * square) + low;
    const float tail = p * (f * square) + (e * -2.12194440e-4f - 0.5f * square);
    return (f + tail) + e * 0.693359375f;
}

CNTK_VECTOR_FUNCTION double LogOfNormal(double x)
{
    const uint64_t bits = __builtin_bit_cast(uint64_t, x);
    // Biased by 1024, so that a logical shift will do; or-ing it into 2^52 makes it a number.
    const uint64_t biased = (bits - 0x3fe6a09e667f3bcdull + (uint64_t(1024) << 52)) >> 52;
    const double m = __builtin_bit_cast(double, bits - ((biased - 1024) << 52));
    const double e = __builtin_bit_cast(double, biased | 0x4330000000000000ull) - (4503599627370496.0 + 1024.0);
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double p = 1.479819860511658591e-01;
    p = p * z + 1.531383769920937332e-01;
    p = p * z + 1.818357216161805012e-01;
    p = p * z + 2.222219843214978396e-01;
    p = p * z + 2.857142874366239149e-01;
    p = p * z + 3.999999999940941908e-01;
    p = p * z + 6.666666666666735130e-01;
    const double halfSquare = 0.5 * f * f;
    const double tail = s * (halfSquare + p * z) + e * 1.90821492927058770002e-10;
    return e * 6.93147180369123816490e-01 - ((halfSquare - tail) - f);
}

CNTK_VECTOR_FUNCTION float ClippedLog(float x)
{
    const float finite = x < __builtin_inff() ? LogOfNormal(x) : x; // infinity and NaN stay
    return x < 1e-37f ? -85.1f : finite;
}
CNTK_VECTOR_FUNCTION double ClippedLog(double x)
{
    const double finite = x < __builtin_inf() ? LogOfNormal(x) : x;
    return x < double(1e-37f) ? double(-85.1f) : finite;
}

// ---- sine and cosine of at most pi/4 --------------------------------------------------------------------------------

CNTK_VECTOR_FUNCTION float SineOfOctant(float x)
{
    const float z = x * x;
    float p = -1.9515295891e-4f;
    p = p * z + 8.3321608736e-3f;
    p = p * z - 1.6666654611e-1f;
    return p * (z * x) + x;
}
CNTK_VECTOR_FUNCTION double SineOfOctant(double x)
{
    const double z = x * x;
    double p = 1.58962301576546568060e-10;
    p = p * z - 2.50507477628578072866e-8;
    p = p * z + 2.75573136213857245213e-6;
    p = p * z - 1.98412698295895385996e-4;
    p = p * z + 8.33333333332211858878e-3;
    p = p * z - 1.66666666666666307295e-1;
    return p * (z * x) + x;
}
CNTK_VECTOR_FUNCTION float CosineOfOctant(float x)
{
    const float z = x * x;
    float p = 2.443315711809948e-5f;
    p = p * z - 1.388731625493765e-3f;
    p = p * z + 4.166664568298827e-2f;
    return p * (z * z) + (1.0f - 0.5f * z);
}
CNTK_VECTOR_FUNCTION double CosineOfOctant(double x)
{
    const double z = x * x;
    double p = -1.13585365213876817300e-11;
    p = p * z + 2.08757008419747316778e-9;
    p = p * z - 2.75573141792967388112e-7;
    p = p * z + 2.48015872888517045348e-5;
    p = p * z - 1.38888888888730564116e-3;
    p = p * z + 4.16666666666665929218e-2;
    return p * (z * z) + (1.0 - 0.5 * z);
}

// ---- sigmoid and tanh -----------------------------------------------------------------------------------------------

// x < 0 ? negative : other, by bits: of a condition compilers make two divisions in Logistic, one for either value. (Of
// -0 it is the former.)
CNTK_VECTOR_FUNCTION float ChooseBySign(float x, float negative, float other)
{
    const uint32_t sign = uint32_t(__builtin_bit_cast(int32_t, x) >> 31);
    return __builtin_bit_cast(float, (__builtin_bit_cast(uint32_t, negative) & sign) |
                                         (__builtin_bit_cast(uint32_t, other) & ~sign));
}
CNTK_VECTOR_FUNCTION double ChooseBySign(double x, double negative, double other)
{
    const uint64_t sign = uint64_t(__builtin_bit_cast(int64_t, x) >> 63);
    return __builtin_bit_cast(double, (__builtin_bit_cast(uint64_t, negative) & sign) |
                                          (__builtin_bit_cast(uint64_t, other) & ~sign));
}

// Both in two steps, exponential and quotient: loops may take one after the other (Steps in
// VectorElementwiseTemplates.h).

// y = 1 / (1 + exp(-x)), and exp(x) / (1 + exp(x)) for negative x, where the former would lose small results.
struct LogisticSteps
{
    template <class T>
    CNTK_VECTOR_FUNCTION static T Exponential(T x)
    {
        return ExponentialOfNegative(-Absolute(x));
    }
    template <class T>
    CNTK_VECTOR_FUNCTION static T Quotient(T x, T e)
    {
        const T sum = T(1) + e;
        const T lost = e - (sum - T(1)); // what rounding the sum left out
        const T quotient = ChooseBySign(x, e, T(1)) / sum;
        const T inverse = x < T(0) ? T(1) - quotient : quotient; // of the sum
        return quotient - quotient * lost * inverse;
    }
};

struct TangentSteps
{
    template <class T>
    CNTK_VECTOR_FUNCTION static T Exponential(T x)
    {
        return ExponentialUpTo64(T(2) * Absolute(x));
    }
    CNTK_VECTOR_FUNCTION static float Quotient(float x, float e)
    {
        const float magnitude = Absolute(x);
        const float z = x * x;
        float p = -5.70498872745e-3f;
        p = p * z + 2.06390887954e-2f;
        p = p * z - 5.37397155531e-2f;
        p = p * z + 1.33314422036e-1f;
        p = p * z - 3.33332819422e-1f;
        const float near = magnitude + p * z * magnitude;
        const float far = 1.0f - 2.0f / (e + 1.0f);
        return CopySign(magnitude < 0.625f ? near : far, x);
    }
    CNTK_VECTOR_FUNCTION static double Quotient(double x, double e)
    {
        const double magnitude = Absolute(x);
        const bool isNear = magnitude < 0.625;
        const double z = x * x;
        double p = -9.64399179425052238628e-1;
        p = p * z - 9.92877231001918586564e1;
        p = p * z - 1.61468768441708447952e3;
        double q = z + 1.12811678491632931402e2;
        q = q * z + 2.23548839060100448583e3;
        q = q * z + 4.84406305325125486048e3;
        // One division serves both ranges.
        const double numerator = isNear ? p * z : -2.0;
        const double quotient = numerator / (isNear ? q : e + 1.0);
        return CopySign(isNear ? magnitude + magnitude * quotient : 1.0 + quotient, x);
    }
};

template <class T>
CNTK_VECTOR_FUNCTION T Logistic(T x)
{
    return LogisticSteps::Quotient(x, LogisticSteps::Exponential(x));
}
template <class T>
CNTK_VECTOR_FUNCTION T HyperbolicTangent(T x)
{
    return TangentSteps::Quotient(x, TangentSteps::Exponential(x));
}

} // namespace
} // namespace cntk::simd
