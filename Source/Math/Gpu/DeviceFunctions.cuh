// Used by several families of kernels: views, indices of threads, reductions.
#pragma once

#include "Math/ElementwiseFunctions.h"
#include "Math/Gpu/CudaLanguage.cuh"
#include "Math/TensorView.h"

namespace cntk
{

constexpr unsigned c_allLanes = 0xffffffffu;
constexpr unsigned c_threads = 256; // of a block, by default

// A matrix as kernels take it.
template <class T>
struct DeviceMatrix
{
    T* data;
    size_t rows;
    size_t columns;
    size_t stride;

    explicit DeviceMatrix(const MatrixView& view)
        : data(view.As<T>()), rows(view.rows), columns(view.columns), stride(view.stride)
    {
    }
    __host__ __device__ size_t Elements() const { return rows * columns; }
    __device__ T* Column(size_t column) const { return data + column * stride; }
    // Elements are numbered column by column.
    __device__ T& At(size_t index) const
    {
        return stride == rows ? data[index] : data[index / rows * stride + index % rows];
    }
};

template <class T>
struct DeviceSparse
{
    const T* values;
    const int32_t* rowIndices;
    const int32_t* columnStarts;
    size_t rows;
    size_t columns;

    explicit DeviceSparse(const SparseView& view)
        : values(static_cast<const T*>(view.values)), rowIndices(view.rowIndices), columnStarts(view.columnStarts),
          rows(view.rows), columns(view.columns)
    {
    }
};

// A thread computes elements FirstElement(), FirstElement() + ElementStep(), ...
__device__ inline size_t FirstElement()
{
    return size_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline size_t ElementStep()
{
    return size_t(gridDim.x) * blockDim.x;
}

struct Adding
{
    template <class T>
    __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};
struct TakingLarger
{
    template <class T>
    __device__ T operator()(T a, T b) const
    {
        return a > b ? a : b;
    }
};

// All threads of the warp get the result. The order of operations is fixed.
template <class T, class Combine>
__device__ inline T ReduceWarp(T value, Combine combine)
{
    for (int lanes = c_warp / 2; lanes > 0; lanes /= 2)
        value = combine(value, __shfl_xor_sync(c_allLanes, value, lanes));
    return value;
}

// All threads of the block get the result. The block is a whole number of warps in one dimension.
template <class T, class Combine>
__device__ inline T ReduceBlock(T value, T identity, Combine combine)
{
    __shared__ T parts[c_warp];
    const unsigned lane = threadIdx.x % c_warp;
    value = ReduceWarp(value, combine);
    __syncthreads(); // threads may still read parts of the previous reduction
    if (lane == 0)
        parts[threadIdx.x / c_warp] = value;
    __syncthreads();
    value = lane < blockDim.x / c_warp ? parts[lane] : identity;
    return ReduceWarp(value, combine);
}

// ---- a warp or a block per column -----------------------------------------------------------------------------------

constexpr size_t c_mostRowsOfWarp = 512;
constexpr unsigned c_teamWarps = 4; // columns per block if each has a warp

// The threads that compute one column together.
template <bool isBlock>
struct ColumnTeam
{
    size_t column;
    unsigned lane;
    unsigned size;

    __device__ ColumnTeam()
        : column(isBlock ? blockIdx.x : size_t(blockIdx.x) * c_teamWarps + threadIdx.x / c_warp),
          lane(isBlock ? threadIdx.x : threadIdx.x % c_warp), size(isBlock ? blockDim.x : c_warp)
    {
    }
    template <class T, class Combine>
    __device__ T Reduce(T value, T identity, Combine combine) const
    {
        if constexpr (isBlock)
            return ReduceBlock(value, identity, combine);
        else
            return ReduceWarp(value, combine);
    }
    // A barrier of the team, for its reads and writes as well.
    __device__ void Wait() const
    {
        if constexpr (isBlock)
            __syncthreads();
        else
            __syncwarp();
    }
};

// The launch shape for one team per column. Long columns have a block each. Each column is computed in `parts` parts
// (blockIdx.y).
struct TeamShape
{
    dim3 blocks;
    unsigned threads;
    bool isBlock;

    TeamShape(size_t rows, size_t columns, unsigned parts = 1)
        : blocks(1), threads(c_teamWarps * c_warp), isBlock(rows > c_mostRowsOfWarp)
    {
        if (isBlock)
            threads = c_threads;
        blocks = dim3(unsigned(isBlock ? columns : (columns + c_teamWarps - 1) / c_teamWarps), parts);
    }
};

// Launches byBlock if each column has a block, byWarp if it has a warp.
template <class... Parameters, class... Arguments>
void LaunchTeams(const char* name, GpuStream stream, const TeamShape& shape, void (*byBlock)(Parameters...),
                 void (*byWarp)(Parameters...), Arguments... arguments)
{
    Launch(name, stream, shape.blocks, shape.threads, shape.isBlock ? byBlock : byWarp, arguments...);
}

} // namespace cntk
