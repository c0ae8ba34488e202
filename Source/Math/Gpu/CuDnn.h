// cuDNN as the GPU backend calls it: its names, a table of the functions that are used, and the opened library.
#pragma once

#include "Math/Device.h"
#include "Math/Gpu/GpuDnn.h"

// nvcc takes the names from cudnn.h, if CMake has found it. Any other compiler takes them from the unit tests'
// emulation.
#ifdef __CUDACC__
#ifdef CNTK_WITH_CUDNN
#include <cudnn.h>
#endif
#else
#define CNTK_WITH_CUDNN
#include <CudaEmulation/CuDnnEmulation.h>
namespace cntk
{
using namespace CuDnnEmulation;
}
#endif

#ifdef CNTK_WITH_CUDNN
#include <optional>
#include <string>

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

// Opens the library of that major version, searching where cuBLAS is searched. Returns nothing, and why in problem, if
// it is missing, of another version, or incomplete.
std::optional<CuDnnFunctions> OpenCuDnn(const std::string& name, std::string& problem);
std::string CuDnnLibraryName(); // "libcudnn.so.9"

// For the current device, whose context must outlive the result. If cuDNN cannot start, the result computes nothing and
// its description says why.
std::unique_ptr<GpuDnn> MakeDnn(const CuDnnFunctions& functions, GpuContext& context, GpuMatrixMath math);

} // namespace cntk
#endif
