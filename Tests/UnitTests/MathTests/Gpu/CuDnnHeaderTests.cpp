// Compares the emulation's declarations of cuDNN with cudnn.h, if it is installed. So tests with the emulation hold for
// the GPU library, which is compiled with cudnn.h.
#ifdef CNTK_WITH_CUDNN_HEADER
#include <cudnn.h>
#endif

#include "Math/Gpu/CuDnn.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <type_traits>

namespace
{

#ifdef CNTK_WITH_CUDNN_HEADER

// True if both types have the same kind and size; pointers also the same constness.
template <class A, class B>
constexpr bool IsSameKind()
{
    if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>)
    {
        using ToA = std::remove_pointer_t<A>;
        using ToB = std::remove_pointer_t<B>;
        if constexpr (std::is_void_v<ToA> != std::is_void_v<ToB>)
            return std::is_class_v<ToA> || std::is_class_v<ToB>; // streams: a handle in one, any pointer in the other
        else if constexpr (std::is_enum_v<ToA> || std::is_arithmetic_v<ToA>)
            return IsSameKind<std::remove_const_t<ToA>, std::remove_const_t<ToB>>() &&
                   std::is_const_v<ToA> == std::is_const_v<ToB>;
        else
            return std::is_const_v<ToA> == std::is_const_v<ToB>;
    }
    else
        return std::is_enum_v<A> == std::is_enum_v<B> && std::is_integral_v<A> == std::is_integral_v<B> &&
               std::is_pointer_v<A> == std::is_pointer_v<B> && sizeof(A) == sizeof(B);
}

template <class ResultA, class... A, class ResultB, class... B>
constexpr bool IsSameSignature(ResultA (*)(A...), ResultB (*)(B...))
{
    if constexpr (sizeof...(A) != sizeof...(B))
        return false;
    else
        return IsSameKind<ResultA, ResultB>() && (IsSameKind<A, B>() && ...);
}

#define CNTK_COMPARE_SIGNATURE(name)                                                                                   \
    static_assert(IsSameSignature(decltype (&::name)(nullptr), decltype (&CuDnnEmulation::name)(nullptr)), #name);
CNTK_CUDNN_FUNCTIONS(CNTK_COMPARE_SIGNATURE)

#define CNTK_COMPARE_PERF(name)                                                                                        \
    static_assert(sizeof(::name) == sizeof(CuDnnEmulation::name));                                                     \
    static_assert(offsetof(::name, algo) == offsetof(CuDnnEmulation::name, algo));                                     \
    static_assert(offsetof(::name, status) == offsetof(CuDnnEmulation::name, status));                                 \
    static_assert(offsetof(::name, memory) == offsetof(CuDnnEmulation::name, memory));                                 \
    static_assert(offsetof(::name, determinism) == offsetof(CuDnnEmulation::name, determinism));                       \
    static_assert(offsetof(::name, mathType) == offsetof(CuDnnEmulation::name, mathType));
CNTK_COMPARE_PERF(cudnnConvolutionFwdAlgoPerf_t)
CNTK_COMPARE_PERF(cudnnConvolutionBwdDataAlgoPerf_t)
CNTK_COMPARE_PERF(cudnnConvolutionBwdFilterAlgoPerf_t)

TEST(CuDnnHeaderTests, TheEmulationsNumbersAreThoseOfTheHeader)
{
#define CNTK_COMPARE(name) EXPECT_EQ(int(::name), int(CuDnnEmulation::name)) << #name;
    CNTK_COMPARE(CUDNN_STATUS_SUCCESS)
    CNTK_COMPARE(CUDNN_STATUS_NOT_INITIALIZED)
    CNTK_COMPARE(CUDNN_STATUS_BAD_PARAM)
    CNTK_COMPARE(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
    CNTK_COMPARE(CUDNN_STATUS_NOT_SUPPORTED)
    CNTK_COMPARE(CUDNN_STATUS_INTERNAL_ERROR)
    CNTK_COMPARE(CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED)
    CNTK_COMPARE(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    CNTK_COMPARE(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    CNTK_COMPARE(CUDNN_STATUS_EXECUTION_FAILED)
    CNTK_COMPARE(CUDNN_DATA_FLOAT)
    CNTK_COMPARE(CUDNN_DATA_DOUBLE)
    CNTK_COMPARE(CUDNN_TENSOR_NCHW)
    CNTK_COMPARE(CUDNN_TENSOR_NHWC)
    CNTK_COMPARE(CUDNN_DEFAULT_MATH)
    CNTK_COMPARE(CUDNN_TENSOR_OP_MATH)
    CNTK_COMPARE(CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION)
    CNTK_COMPARE(CUDNN_FMA_MATH)
    CNTK_COMPARE(CUDNN_NON_DETERMINISTIC)
    CNTK_COMPARE(CUDNN_DETERMINISTIC)
    CNTK_COMPARE(CUDNN_NOT_PROPAGATE_NAN)
    CNTK_COMPARE(CUDNN_PROPAGATE_NAN)
    CNTK_COMPARE(CUDNN_CONVOLUTION)
    CNTK_COMPARE(CUDNN_CROSS_CORRELATION)
    CNTK_COMPARE(CUDNN_POOLING_MAX)
    CNTK_COMPARE(CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING)
    CNTK_COMPARE(CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING)
    CNTK_COMPARE(CUDNN_POOLING_MAX_DETERMINISTIC)
    CNTK_COMPARE(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM)
    CNTK_COMPARE(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
    CNTK_COMPARE(CUDNN_CONVOLUTION_FWD_ALGO_FFT)
    CNTK_COMPARE(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED)
    CNTK_COMPARE(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0)
    CNTK_COMPARE(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1)
    CNTK_COMPARE(CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT)
    CNTK_COMPARE(CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED)
    CNTK_COMPARE(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0)
    CNTK_COMPARE(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1)
    CNTK_COMPARE(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT)
    CNTK_COMPARE(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED)
}

#else

TEST(CuDnnHeaderTests, TheEmulationsNumbersAreThoseOfTheHeader)
{
    GTEST_SKIP() << "cudnn.h was not found when this was built";
}

#endif

} // namespace
