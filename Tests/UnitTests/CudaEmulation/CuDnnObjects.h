// The objects of the emulated cuDNN, a list of those that exist, and helpers for windows.
#pragma once

#include "CudaEmulation/CuDnnEmulation.h"
#include "CudaEmulation/CudaEmulation.h"
#include "CudaEmulation/EmulatedStreams.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace CuDnnEmulation
{

constexpr int c_axes = 3; // missing axes have one element
using Sizes = std::array<int64_t, c_axes>;

// Queues work in the handle's stream. The default stream of a new handle is an error: other streams do not wait for it.
inline void Enqueue(void* stream, std::function<void()> work)
{
    if (stream == nullptr)
        throw std::logic_error("cuDNN: the handle has no stream");
    CudaEmulation::Enqueue(stream, CudaEmulation::WorkKind::Kernel, std::move(work));
}

[[noreturn]] inline void Misuse(const std::string& what)
{
    throw std::logic_error("cuDNN: " + what);
}

inline std::set<const void*>& Living()
{
    thread_local std::set<const void*> living;
    return living;
}

template <class Object>
Object& Require(Object* object, const char* what)
{
    if (Living().count(object) == 0)
        Misuse(std::string(what) + " does not exist or was destroyed");
    return *object;
}

template <class Object>
cudnnStatus_t Make(Object** object)
{
    if (object == nullptr)
        return CUDNN_STATUS_BAD_PARAM;
    *object = new Object();
    Living().insert(*object);
    ++CallsOfThread().descriptors;
    return CUDNN_STATUS_SUCCESS;
}

template <class Object>
cudnnStatus_t Destroy(Object* object, const char* what)
{
    Require(object, what);
    Living().erase(object);
    delete object;
    return CUDNN_STATUS_SUCCESS;
}

inline size_t SizeOf(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT ? sizeof(float) : sizeof(double);
}

struct EmulatedHandle
{
    void* stream = nullptr;
};

struct EmulatedTensor
{
    int rank = 0; // 0: not set
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    std::array<int64_t, 2 + c_axes> size{};
    std::array<int64_t, 2 + c_axes> stride{};

    size_t At(int64_t sample, int64_t channel, const Sizes& place) const
    {
        int64_t at = sample * stride[0] + channel * stride[1];
        for (size_t axis = 0; axis < c_axes; ++axis)
            at += place[axis] * stride[2 + axis];
        return size_t(at);
    }
    size_t Bytes() const
    {
        int64_t last = 0;
        for (size_t i = 0; i < size.size(); ++i)
            last += (size[i] - 1) * stride[i];
        return (size_t(last) + 1) * SizeOf(type);
    }
    // True if a sample has no gaps and its axes have this order.
    bool IsPacked(bool channelsFastest) const
    {
        int64_t step = 1;
        const auto follows = [&](size_t axis)
        {
            const bool does = size[axis] == 1 || stride[axis] == step;
            step *= size[axis];
            return does;
        };
        bool isPacked = !channelsFastest || follows(1);
        for (size_t axis = size.size(); axis-- > 2;)
            isPacked = follows(axis) && isPacked;
        return (channelsFastest || follows(1)) && isPacked;
    }
};

struct EmulatedFilter
{
    int rank = 0;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
    std::array<int64_t, 2 + c_axes> size{};

    size_t At(int64_t map, int64_t channel, const Sizes& place) const
    {
        int64_t at = map;
        if (format == CUDNN_TENSOR_NCHW)
            at = at * size[1] + channel;
        for (size_t axis = 0; axis < c_axes; ++axis)
            at = at * size[2 + axis] + place[axis];
        return size_t(format == CUDNN_TENSOR_NCHW ? at : at * size[1] + channel);
    }
    size_t Bytes() const
    {
        int64_t count = 1;
        for (const int64_t s : size)
            count *= s;
        return size_t(count) * SizeOf(type);
    }
};

struct EmulatedConvolution
{
    int rank = 0;
    Sizes padding{};
    Sizes stride{};
    cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

struct EmulatedPooling
{
    int rank = 0;
    cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
    cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
    Sizes window{};
    Sizes padding{};
    Sizes stride{};
};

// Fills in missing axes, which come first.
template <size_t count>
std::array<int64_t, count> Spread(const int* values, int rank, size_t leading, int64_t otherwise)
{
    std::array<int64_t, count> spread{};
    spread.fill(otherwise);
    for (size_t i = 0; i < leading; ++i)
        spread[i] = values[i];
    const size_t rest = size_t(rank) - leading;
    for (size_t i = 0; i < rest; ++i)
        spread[count - rest + i] = values[leading + i];
    return spread;
}

inline bool AllAtLeast(const int* values, int count, int least)
{
    return std::all_of(values, values + count, [&](int value) { return value >= least; });
}

inline void RequireMemory(const char* name, const void* memory, size_t bytes)
{
    if (CudaEmulation::DeviceBytes(memory) < bytes)
        Misuse(std::string(name) + " is no device memory of " + std::to_string(bytes) + " bytes");
    if (reinterpret_cast<uintptr_t>(memory) % 4 != 0)
        Misuse(std::string(name) + " is not aligned");
}

// Reads a factor, which must be in host memory and of the data's type.
inline double Factor(const char* name, const void* factor, cudnnDataType_t type)
{
    if (factor == nullptr || CudaEmulation::DeviceBytes(factor) > 0)
        Misuse(std::string(name) + " is no host memory");
    return type == CUDNN_DATA_FLOAT ? double(*static_cast<const float*>(factor)) : *static_cast<const double*>(factor);
}

inline int64_t Windows(int64_t input, int64_t padding, int64_t window, int64_t stride)
{
    return (input + 2 * padding - window) / stride + 1;
}

// Calls body(place) for each place of a box.
template <class Body>
void ForEach(const Sizes& size, const Body& body)
{
    Sizes at{};
    for (at[0] = 0; at[0] < size[0]; ++at[0])
        for (at[1] = 0; at[1] < size[1]; ++at[1])
            for (at[2] = 0; at[2] < size[2]; ++at[2])
                body(at);
}

template <size_t count>
Sizes WindowsOf(const std::array<int64_t, count>& size)
{
    return {size[count - 3], size[count - 2], size[count - 1]};
}

// The place of a window's element in the input. False if it lies in the padding.
inline bool InputPlace(const Sizes& window, const Sizes& cell, const Sizes& padding, const Sizes& stride,
                       const Sizes& input, Sizes& place)
{
    for (size_t axis = 0; axis < c_axes; ++axis)
    {
        place[axis] = window[axis] * stride[axis] - padding[axis] + cell[axis];
        if (place[axis] < 0 || place[axis] >= input[axis])
            return false;
    }
    return true;
}

// target = beta * target + alpha * sums, for the marked elements.
template <class T>
void Write(T* target, const std::vector<double>& sums, const std::vector<bool>& isElement, double alpha, double beta)
{
    for (size_t i = 0; i < sums.size(); ++i)
        if (isElement[i])
            target[i] = T(beta == 0 ? alpha * sums[i] : beta * double(target[i]) + alpha * sums[i]);
}

inline std::vector<bool> ElementsOf(const EmulatedTensor& tensor)
{
    std::vector<bool> isElement(tensor.Bytes() / SizeOf(tensor.type));
    for (int64_t sample = 0; sample < tensor.size[0]; ++sample)
        for (int64_t channel = 0; channel < tensor.size[1]; ++channel)
            ForEach(WindowsOf(tensor.size),
                    [&](const Sizes& place) { isElement[tensor.At(sample, channel, place)] = true; });
    return isElement;
}

} // namespace CuDnnEmulation
