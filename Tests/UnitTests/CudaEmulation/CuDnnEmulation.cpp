// cuDNN's handles and tensors, and poolings as plain loops.
#include "CudaEmulation/CuDnnObjects.h"

#include <cmath>
#include <limits>

namespace CuDnnEmulation
{

namespace
{

cudnnStatus_t Judge(const EmulatedPooling& pooling, const EmulatedTensor& x, const EmulatedTensor& y)
{
    if (pooling.rank == 0 || x.rank == 0 || y.rank == 0)
        Misuse("a descriptor was not set");
    if (x.type != y.type || x.rank != y.rank || x.rank != pooling.rank + 2 || x.size[0] != y.size[0] ||
        x.size[1] != y.size[1])
        return CUDNN_STATUS_BAD_PARAM;
    for (size_t axis = 0; axis < c_axes; ++axis)
        if (y.size[2 + axis] !=
            Windows(x.size[2 + axis], pooling.padding[axis], pooling.window[axis], pooling.stride[axis]))
            return CUDNN_STATUS_BAD_PARAM;
    return CUDNN_STATUS_SUCCESS;
}

// Calls body(channel and sample, window, input elements) for each window.
template <class Body>
void ForEachWindow(const EmulatedPooling& pooling, const EmulatedTensor& x, const EmulatedTensor& y, const Body& body)
{
    std::vector<size_t> members;
    for (int64_t sample = 0; sample < x.size[0]; ++sample)
        for (int64_t channel = 0; channel < x.size[1]; ++channel)
            ForEach(WindowsOf(y.size),
                    [&](const Sizes& window)
                    {
                        members.clear();
                        ForEach(
                            pooling.window,
                            [&](const Sizes& cell)
                            {
                                Sizes place;
                                if (InputPlace(window, cell, pooling.padding, pooling.stride, WindowsOf(x.size), place))
                                    members.push_back(x.At(sample, channel, place));
                            });
                        body(y.At(sample, channel, window), members);
                    });
}

double CountOf(const EmulatedPooling& pooling, size_t members)
{
    const bool includes = pooling.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    return includes ? double(pooling.window[0] * pooling.window[1] * pooling.window[2]) : double(members);
}

template <class T>
void Pool(const EmulatedPooling& pooling, const EmulatedTensor& xShape, const void* xMemory,
          const EmulatedTensor& yShape, double alpha, double beta, void* y)
{
    const T* const x = static_cast<const T*>(xMemory);
    const std::vector<bool> isElement = ElementsOf(yShape);
    std::vector<double> values(isElement.size());
    const bool isMaximum = pooling.mode == CUDNN_POOLING_MAX || pooling.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    ForEachWindow(pooling, xShape, yShape,
                  [&](size_t atY, const std::vector<size_t>& members)
                  {
                      double value = isMaximum ? -std::numeric_limits<double>::infinity() : 0;
                      for (const size_t member : members)
                      {
                          const double element = double(x[member]);
                          if (!isMaximum)
                              value += element;
                          else if (element > value || (std::isnan(element) && pooling.nan == CUDNN_PROPAGATE_NAN))
                              value = element;
                      }
                      values[atY] = isMaximum ? value : value / CountOf(pooling, members.size());
                  });
    Write(static_cast<T*>(y), values, isElement, alpha, beta);
}

template <class T>
void SpreadAverages(const EmulatedPooling& pooling, const EmulatedTensor& yShape, const void* dyMemory,
                    const EmulatedTensor& xShape, double alpha, double beta, void* dx)
{
    const T* const dy = static_cast<const T*>(dyMemory);
    const std::vector<bool> isElement = ElementsOf(xShape);
    std::vector<double> sums(isElement.size());
    ForEachWindow(pooling, xShape, yShape,
                  [&](size_t atY, const std::vector<size_t>& members)
                  {
                      for (const size_t member : members)
                          sums[member] += double(dy[atY]) / CountOf(pooling, members.size());
                  });
    Write(static_cast<T*>(dx), sums, isElement, alpha, beta);
}

} // namespace

// ---- the functions --------------------------------------------------------------------------------------------------

Calls& CallsOfThread()
{
    thread_local Calls calls;
    return calls;
}

size_t LivingObjects()
{
    return Living().size();
}

size_t cudnnGetVersion()
{
    return 90000;
}

const char* cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status)
    {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER:
        return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED";
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    }
    return "unknown";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle)
{
    return Make(handle);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    return Destroy(handle, "the handle");
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    Require(handle, "the handle").stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor)
{
    return Make(tensor);
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                         const int dimensions[], const int strides[])
{
    EmulatedTensor& t = Require(tensor, "the tensor");
    if (rank < 4 || rank > 2 + c_axes || !AllAtLeast(dimensions, rank, 1) || !AllAtLeast(strides, rank, 1))
        return rank < 4 || rank > 8 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_BAD_PARAM;
    t.rank = rank;
    t.type = type;
    t.size = Spread<2 + c_axes>(dimensions, rank, 2, 1);
    t.stride = Spread<2 + c_axes>(strides, rank, 2, 1);
    // cuDNN refuses more than 2^31 elements.
    return t.Bytes() / SizeOf(type) > size_t(INT32_MAX) ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    return Destroy(tensor, "the tensor");
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling)
{
    return Make(pooling);
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t nan, int rank, const int window[],
                                          const int padding[], const int strides[])
{
    EmulatedPooling& p = Require(pooling, "the pooling");
    if (rank < 2 || rank > c_axes || !AllAtLeast(window, rank, 1) || !AllAtLeast(padding, rank, 0) ||
        !AllAtLeast(strides, rank, 1))
        return CUDNN_STATUS_BAD_PARAM;
    for (int axis = 0; axis < rank; ++axis)
        if (padding[axis] >= window[axis])
            return CUDNN_STATUS_BAD_PARAM; // a window would lie in the padding
    p.rank = rank;
    p.mode = mode;
    p.nan = nan;
    p.window = Spread<c_axes>(window, rank, 0, 1);
    p.padding = Spread<c_axes>(padding, rank, 0, 0);
    p.stride = Spread<c_axes>(strides, rank, 0, 1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling)
{
    return Destroy(pooling, "the pooling");
}

cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t pooling, const cudnnTensorDescriptor_t x,
                                                int rank, int dimensions[])
{
    const EmulatedPooling& p = Require(pooling, "the pooling");
    const EmulatedTensor& input = Require(x, "the tensor");
    if (rank != p.rank + 2 || input.rank != rank)
        return CUDNN_STATUS_BAD_PARAM;
    dimensions[0] = int(input.size[0]);
    dimensions[1] = int(input.size[1]);
    for (size_t axis = size_t(c_axes - p.rank); axis < c_axes; ++axis)
        dimensions[2 + axis - size_t(c_axes - p.rank)] =
            int(Windows(input.size[2 + axis], p.padding[axis], p.window[axis], p.stride[axis]));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling, const void* alpha,
                                  const cudnnTensorDescriptor_t xShape, const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t yShape, void* y)
{
    CallsOfThread().lastStream = Require(handle, "the handle").stream;
    const EmulatedPooling& p = Require(pooling, "the pooling");
    const EmulatedTensor& input = Require(xShape, "the descriptor of x");
    const EmulatedTensor& output = Require(yShape, "the descriptor of y");
    const cudnnStatus_t status = Judge(p, input, output);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    RequireMemory("x", x, input.Bytes());
    RequireMemory("y", y, output.Bytes());
    const auto pool = input.type == CUDNN_DATA_FLOAT ? &Pool<float> : &Pool<double>;
    const double alphaValue = Factor("alpha", alpha, input.type);
    const double betaValue = Factor("beta", beta, input.type);
    Enqueue(handle->stream,
            [=, p = p, input = input, output = output] { pool(p, input, x, output, alphaValue, betaValue, y); });
    ++CallsOfThread().poolings;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling, const void* alpha,
                                   const cudnnTensorDescriptor_t yShape, const void* y,
                                   const cudnnTensorDescriptor_t dyShape, const void* dy,
                                   const cudnnTensorDescriptor_t xShape, const void* x, const void* beta,
                                   const cudnnTensorDescriptor_t dxShape, void* dx)
{
    CallsOfThread().lastStream = Require(handle, "the handle").stream;
    const EmulatedPooling& p = Require(pooling, "the pooling");
    const EmulatedTensor& gradient = Require(dyShape, "the descriptor of dy");
    const EmulatedTensor& target = Require(dxShape, "the descriptor of dx");
    if (p.mode == CUDNN_POOLING_MAX || p.mode == CUDNN_POOLING_MAX_DETERMINISTIC)
        Misuse("which of several equal maxima gets the gradient is not said");
    for (const cudnnStatus_t status :
         {Judge(p, Require(xShape, "the descriptor of x"), Require(yShape, "the descriptor of y")),
          Judge(p, target, gradient)})
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    RequireMemory("x", x, xShape->Bytes());
    RequireMemory("y", y, yShape->Bytes());
    RequireMemory("dy", dy, gradient.Bytes());
    RequireMemory("dx", dx, target.Bytes());
    const auto spread = gradient.type == CUDNN_DATA_FLOAT ? &SpreadAverages<float> : &SpreadAverages<double>;
    const double alphaValue = Factor("alpha", alpha, gradient.type);
    const double betaValue = Factor("beta", beta, gradient.type);
    Enqueue(handle->stream, [=, p = p, gradient = gradient, target = target]
            { spread(p, gradient, dy, target, alphaValue, betaValue, dx); });
    ++CallsOfThread().poolingGradients;
    return CUDNN_STATUS_SUCCESS;
}

} // namespace CuDnnEmulation
