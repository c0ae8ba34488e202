// cuDNN's convolutions as plain loops, with sums in double.
#include "CudaEmulation/CuDnnObjects.h"

#include <cstring>

namespace CuDnnEmulation
{

namespace
{

constexpr size_t c_fft = 1u << 20;  // bytes of workspace
constexpr size_t c_gemm = 3u << 10; // bytes

struct Convolution
{
    void* stream;
    EmulatedTensor x;
    EmulatedFilter w;
    EmulatedConvolution convolution;
    EmulatedTensor y;
};

enum class Direction
{
    Forward,
    Data,
    Filter
};

// cuDNN's status for descriptors that do not match, or that it has no kernels for.
cudnnStatus_t Judge(const Convolution& c, Direction direction)
{
    if (c.x.rank == 0 || c.w.rank == 0 || c.convolution.rank == 0 || c.y.rank == 0)
        Misuse("a descriptor was not set");
    if (c.x.type != c.w.type || c.x.type != c.y.type || c.x.type != c.convolution.type)
        return CUDNN_STATUS_BAD_PARAM;
    if (c.x.rank != c.w.rank || c.x.rank != c.y.rank || c.x.rank != c.convolution.rank + 2)
        return CUDNN_STATUS_BAD_PARAM;
    if (c.x.size[1] != c.w.size[1] || c.y.size[1] != c.w.size[0] || c.x.size[0] != c.y.size[0])
        return CUDNN_STATUS_BAD_PARAM;
    for (size_t axis = 0; axis < c_axes; ++axis)
        if (c.y.size[2 + axis] !=
            Windows(c.x.size[2 + axis], c.convolution.padding[axis], c.w.size[2 + axis], c.convolution.stride[axis]))
            return CUDNN_STATUS_BAD_PARAM;
    if (c.w.format == CUDNN_TENSOR_NHWC)
    {
        if (c.x.type != CUDNN_DATA_FLOAT || c.x.rank != 4 || !c.x.IsPacked(true) || !c.y.IsPacked(true))
            return CUDNN_STATUS_NOT_SUPPORTED;
    }
    else if (direction != Direction::Forward && !c.y.IsPacked(false))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return CUDNN_STATUS_SUCCESS;
}

// Lists algorithms that the caller must not take (one fails, one is not deterministic, one needs too much memory, one
// rounds to half precision), then usable ones. With FMA math there are only FMA kernels.
template <class Algorithm>
cudnnStatus_t Answer(const Convolution& c, Direction direction, Algorithm fft, Algorithm winograd, Algorithm random,
                     Algorithm gemm, int most, int* count, AlgorithmPerf<Algorithm>* found)
{
    ++CallsOfThread().questions;
    const cudnnStatus_t status = Judge(c, direction);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    const cudnnMathType_t math = c.convolution.math;
    using Perf = AlgorithmPerf<Algorithm>;
    std::vector<Perf> all;
    all.push_back(Perf{fft, CUDNN_STATUS_NOT_SUPPORTED, -1, 0, CUDNN_DETERMINISTIC, math, {}});
    if (random != gemm)
        all.push_back(Perf{random, CUDNN_STATUS_SUCCESS, -1, 0, CUDNN_NON_DETERMINISTIC, math, {}});
    all.push_back(Perf{winograd, CUDNN_STATUS_SUCCESS, -1, size_t(1) << 40, CUDNN_DETERMINISTIC, math, {}});
    if (math != CUDNN_FMA_MATH && c.x.type == CUDNN_DATA_FLOAT)
    {
        all.push_back(Perf{
            gemm, CUDNN_STATUS_SUCCESS, -1, c_fft, CUDNN_DETERMINISTIC, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, {}});
        all.push_back(Perf{gemm, CUDNN_STATUS_SUCCESS, -1, c_gemm, CUDNN_DETERMINISTIC, CUDNN_TENSOR_OP_MATH, {}});
    }
    all.push_back(Perf{gemm, CUDNN_STATUS_SUCCESS, -1, c_gemm, CUDNN_DETERMINISTIC, math, {}});
    *count = std::min(most, int(all.size()));
    std::copy_n(all.begin(), *count, found);
    return CUDNN_STATUS_SUCCESS;
}

template <class Algorithm>
cudnnStatus_t Workspace(const Convolution& c, Direction direction, Algorithm algorithm, Algorithm winograd,
                        Algorithm gemm, size_t* bytes)
{
    const cudnnStatus_t status = Judge(c, direction);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (algorithm != winograd && algorithm != gemm)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *bytes = algorithm == winograd ? size_t(1) << 40 : c_gemm;
    return CUDNN_STATUS_SUCCESS;
}

// Checks a call, and overwrites the workspace.
template <class Algorithm>
cudnnStatus_t Prepare(const Convolution& c, Direction direction, Algorithm algorithm, Algorithm gemm, void* workspace,
                      size_t bytes)
{
    const cudnnStatus_t status = Judge(c, direction);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (algorithm != gemm)
        Misuse("an algorithm runs that is not repeatable, or was not offered");
    if (bytes < c_gemm)
        return CUDNN_STATUS_BAD_PARAM;
    RequireMemory("the workspace", workspace, bytes);
    Enqueue(c.stream, [=] { std::memset(workspace, 0xff, bytes); }); // NaN
    CallsOfThread().lastMath = c.convolution.math;
    CallsOfThread().lastWorkspace = bytes;
    return CUDNN_STATUS_SUCCESS;
}

// Calls body(index in y, index in w, index in x) for each product.
template <class Body>
void ForEachProduct(const Convolution& c, const Body& body)
{
    const Sizes kernel = WindowsOf(c.w.size);
    const Sizes input = WindowsOf(c.x.size);
    for (int64_t sample = 0; sample < c.x.size[0]; ++sample)
        for (int64_t map = 0; map < c.w.size[0]; ++map)
            for (int64_t channel = 0; channel < c.w.size[1]; ++channel)
                ForEach(WindowsOf(c.y.size),
                        [&](const Sizes& window)
                        {
                            ForEach(kernel,
                                    [&](const Sizes& cell)
                                    {
                                        Sizes place;
                                        if (!InputPlace(window, cell, c.convolution.padding, c.convolution.stride,
                                                        input, place))
                                            return;
                                        Sizes element = cell;
                                        if (c.convolution.mode == CUDNN_CONVOLUTION)
                                            for (size_t axis = 0; axis < c_axes; ++axis)
                                                element[axis] = kernel[axis] - 1 - cell[axis];
                                        body(c.y.At(sample, map, window), c.w.At(map, channel, element),
                                             c.x.At(sample, channel, place));
                                    });
                        });
}

template <class T>
void Convolve(const Convolution& c, Direction direction, const void* xMemory, const void* wMemory, const void* yMemory,
              double alpha, double beta, void* target)
{
    const T* const x = static_cast<const T*>(xMemory);
    const T* const w = static_cast<const T*>(wMemory);
    const T* const y = static_cast<const T*>(yMemory);
    std::vector<bool> isElement = direction == Direction::Forward ? ElementsOf(c.y)
                                  : direction == Direction::Data  ? ElementsOf(c.x)
                                                                  : std::vector<bool>(c.w.Bytes() / sizeof(T), true);
    std::vector<double> sums(isElement.size());
    ForEachProduct(c,
                   [&](size_t atY, size_t atW, size_t atX)
                   {
                       if (direction == Direction::Forward)
                           sums[atY] += double(w[atW]) * double(x[atX]);
                       else if (direction == Direction::Data)
                           sums[atX] += double(w[atW]) * double(y[atY]);
                       else
                           sums[atW] += double(x[atX]) * double(y[atY]);
                   });
    Write(static_cast<T*>(target), sums, isElement, alpha, beta);
}

void ConvolveOf(const Convolution& c, Direction direction, const void* x, const void* w, const void* y,
                const void* alpha, const void* beta, void* target)
{
    RequireMemory("x", x, c.x.Bytes());
    RequireMemory("w", w, c.w.Bytes());
    RequireMemory("y", y, c.y.Bytes());
    const double alphaValue = Factor("alpha", alpha, c.x.type);
    const double betaValue = Factor("beta", beta, c.x.type);
    const auto convolve = c.x.type == CUDNN_DATA_FLOAT ? &Convolve<float> : &Convolve<double>;
    Enqueue(c.stream, [=] { convolve(c, direction, x, w, y, alphaValue, betaValue, target); });
}

Convolution Gather(cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                   cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y)
{
    CallsOfThread().lastStream = Require(handle, "the handle").stream;
    return {CallsOfThread().lastStream, Require(x, "the descriptor of x"), Require(w, "the descriptor of w"),
            Require(convolution, "the convolution"), Require(y, "the descriptor of y")};
}

} // namespace

// ---- the functions --------------------------------------------------------------------------------------------------

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter)
{
    return Make(filter);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int dimensions[])
{
    EmulatedFilter& f = Require(filter, "the filter");
    if (rank < 4 || rank > 2 + c_axes || !AllAtLeast(dimensions, rank, 1))
        return CUDNN_STATUS_BAD_PARAM;
    f.rank = rank;
    f.type = type;
    f.format = format;
    f.size = Spread<2 + c_axes>(dimensions, rank, 2, 1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
    return Destroy(filter, "the filter");
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution)
{
    return Make(convolution);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int rank, const int padding[],
                                              const int strides[], const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t computeType)
{
    EmulatedConvolution& c = Require(convolution, "the convolution");
    if (rank < 2 || rank > c_axes || !AllAtLeast(padding, rank, 0) || !AllAtLeast(strides, rank, 1) ||
        !AllAtLeast(dilation, rank, 1))
        return CUDNN_STATUS_BAD_PARAM;
    if (std::any_of(dilation, dilation + rank, [](int value) { return value != 1; }))
        Misuse("this emulation has no dilation");
    c.rank = rank;
    c.padding = Spread<c_axes>(padding, rank, 0, 0);
    c.stride = Spread<c_axes>(strides, rank, 0, 1);
    c.mode = mode;
    c.type = computeType;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math)
{
    Require(convolution, "the convolution").math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution)
{
    return Destroy(convolution, "the convolution");
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convolution,
                                                    const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
                                                    int rank, int dimensions[])
{
    const EmulatedConvolution& c = Require(convolution, "the convolution");
    const EmulatedTensor& input = Require(x, "the tensor");
    const EmulatedFilter& filter = Require(w, "the filter");
    if (rank != c.rank + 2 || input.rank != rank || filter.rank != rank || input.size[1] != filter.size[1])
        return CUDNN_STATUS_BAD_PARAM;
    dimensions[0] = int(input.size[0]);
    dimensions[1] = int(filter.size[0]);
    for (size_t axis = size_t(c_axes - c.rank); axis < c_axes; ++axis)
        dimensions[2 + axis - size_t(c_axes - c.rank)] =
            int(Windows(input.size[2 + axis], c.padding[axis], filter.size[2 + axis], c.stride[axis]));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t convolution,
                                                     const cudnnTensorDescriptor_t y, const int most, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found)
{
    return Answer(Gather(handle, x, w, convolution, y), Direction::Forward, CUDNN_CONVOLUTION_FWD_ALGO_FFT,
                  CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, most, count, found);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t convolution,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes)
{
    return Workspace(Gather(handle, x, w, convolution, y), Direction::Forward, algorithm,
                     CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                     bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t xShape,
                                      const void* x, const cudnnFilterDescriptor_t wShape, const void* w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t workspaceBytes,
                                      const void* beta, const cudnnTensorDescriptor_t yShape, void* y)
{
    const Convolution c = Gather(handle, xShape, wShape, convolution, yShape);
    const cudnnStatus_t status = Prepare(c, Direction::Forward, algorithm,
                                         CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, workspace, workspaceBytes);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    ConvolveOf(c, Direction::Forward, x, w, y, alpha, beta, y);
    ++CallsOfThread().forward;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                                                          const cudnnTensorDescriptor_t dy,
                                                          const cudnnConvolutionDescriptor_t convolution,
                                                          const cudnnTensorDescriptor_t dx, const int most, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* found)
{
    return Answer(Gather(handle, dx, w, convolution, dy), Direction::Data, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
                  CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, most, count, found);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                                                           const cudnnTensorDescriptor_t dy,
                                                           const cudnnConvolutionDescriptor_t convolution,
                                                           const cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes)
{
    return Workspace(Gather(handle, dx, w, convolution, dy), Direction::Data, algorithm,
                     CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t wShape, const void* w,
                                           const cudnnTensorDescriptor_t dyShape, const void* dy,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t workspaceBytes, const void* beta,
                                           const cudnnTensorDescriptor_t dxShape, void* dx)
{
    const Convolution c = Gather(handle, dxShape, wShape, convolution, dyShape);
    const cudnnStatus_t status =
        Prepare(c, Direction::Data, algorithm, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, workspace, workspaceBytes);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    ConvolveOf(c, Direction::Data, dx, w, dy, alpha, beta, dx);
    ++CallsOfThread().inputGradients;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                            const cudnnTensorDescriptor_t dy,
                                                            const cudnnConvolutionDescriptor_t convolution,
                                                            const cudnnFilterDescriptor_t dw, const int most,
                                                            int* count, cudnnConvolutionBwdFilterAlgoPerf_t* found)
{
    return Answer(Gather(handle, x, dw, convolution, dy), Direction::Filter, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
                  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
                  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, most, count, found);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                             const cudnnTensorDescriptor_t dy,
                                                             const cudnnConvolutionDescriptor_t convolution,
                                                             const cudnnFilterDescriptor_t dw,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes)
{
    return Workspace(Gather(handle, x, dw, convolution, dy), Direction::Filter, algorithm,
                     CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             const cudnnTensorDescriptor_t xShape, const void* x,
                                             const cudnnTensorDescriptor_t dyShape, const void* dy,
                                             const cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             size_t workspaceBytes, const void* beta,
                                             const cudnnFilterDescriptor_t dwShape, void* dw)
{
    const Convolution c = Gather(handle, xShape, dwShape, convolution, dyShape);
    const cudnnStatus_t status =
        Prepare(c, Direction::Filter, algorithm, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, workspace, workspaceBytes);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    ConvolveOf(c, Direction::Filter, x, dw, dy, alpha, beta, dw);
    ++CallsOfThread().weightGradients;
    return CUDNN_STATUS_SUCCESS;
}

} // namespace CuDnnEmulation
