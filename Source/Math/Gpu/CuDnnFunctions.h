// The functions of cuDNN that the backend calls, as a table: of the library, opened at run time, or of an emulation.
#pragma once

#include "Math/Gpu/CuDnnLanguage.h"

#ifdef CNTK_WITH_CUDNN
#include <optional>
#include <string>

// A function is one line here.
#define CNTK_CUDNN_FUNCTIONS(F)                                                                                        \
    F(cudnnGetVersion)                                                                                                 \
    F(cudnnGetErrorString)                                                                                             \
    F(cudnnCreate)                                                                                                     \
    F(cudnnDestroy)                                                                                                    \
    F(cudnnSetStream)                                                                                                  \
    F(cudnnCreateTensorDescriptor)                                                                                     \
    F(cudnnSetTensorNdDescriptor)                                                                                      \
    F(cudnnDestroyTensorDescriptor)                                                                                    \
    F(cudnnCreateFilterDescriptor)                                                                                     \
    F(cudnnSetFilterNdDescriptor)                                                                                      \
    F(cudnnDestroyFilterDescriptor)                                                                                    \
    F(cudnnCreateConvolutionDescriptor)                                                                                \
    F(cudnnSetConvolutionNdDescriptor)                                                                                 \
    F(cudnnSetConvolutionMathType)                                                                                     \
    F(cudnnDestroyConvolutionDescriptor)                                                                               \
    F(cudnnGetConvolutionNdForwardOutputDim)                                                                           \
    F(cudnnGetConvolutionForwardAlgorithm_v7)                                                                          \
    F(cudnnGetConvolutionForwardWorkspaceSize)                                                                         \
    F(cudnnConvolutionForward)                                                                                         \
    F(cudnnGetConvolutionBackwardDataAlgorithm_v7)                                                                     \
    F(cudnnGetConvolutionBackwardDataWorkspaceSize)                                                                    \
    F(cudnnConvolutionBackwardData)                                                                                    \
    F(cudnnGetConvolutionBackwardFilterAlgorithm_v7)                                                                   \
    F(cudnnGetConvolutionBackwardFilterWorkspaceSize)                                                                  \
    F(cudnnConvolutionBackwardFilter)                                                                                  \
    F(cudnnCreatePoolingDescriptor)                                                                                    \
    F(cudnnSetPoolingNdDescriptor)                                                                                     \
    F(cudnnDestroyPoolingDescriptor)                                                                                   \
    F(cudnnGetPoolingNdForwardOutputDim)                                                                               \
    F(cudnnPoolingForward)                                                                                             \
    F(cudnnPoolingBackward)

namespace cntk
{

struct CuDnnFunctions
{
#define CNTK_CUDNN_MEMBER(name) decltype(&cntk::name) name = nullptr;
#define CNTK_CUDNN_GLOBAL_MEMBER(name) decltype(&::name) name = nullptr;
#ifdef __CUDACC__
    CNTK_CUDNN_FUNCTIONS(CNTK_CUDNN_GLOBAL_MEMBER)
#else
    CNTK_CUDNN_FUNCTIONS(CNTK_CUDNN_MEMBER)
#endif
#undef CNTK_CUDNN_GLOBAL_MEMBER
#undef CNTK_CUDNN_MEMBER
};

constexpr int c_cuDnnMajor = CUDNN_MAJOR;

// The library of that major version, looked for by this name where cuBLAS is looked for. Nothing, and why, where it is
// missing, of another version or incomplete.
std::optional<CuDnnFunctions> OpenCuDnn(const std::string& name, std::string& problem);
std::string CuDnnLibraryName(); // "libcudnn.so.9"

} // namespace cntk
#endif
