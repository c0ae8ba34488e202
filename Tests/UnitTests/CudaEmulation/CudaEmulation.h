// The part of the CUDA language that the kernels of Source/Math/Gpu use, for an ordinary compiler. Each thread of a
// block is a fiber; a thread that waits (at __syncthreads or in a shuffle) lets the others of its block run. Tests run
// the kernels' logic in it: indices, shared memory, barriers. Documentation/Notes/GpuEmulation.md lists what it cannot
// show.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static // one block runs at a time
#define __restrict__
#define __launch_bounds__(...)

struct dim3
{
    unsigned x = 1;
    unsigned y = 1;
    unsigned z = 1;

    dim3(unsigned xSize = 1, unsigned ySize = 1, unsigned zSize = 1) : x(xSize), y(ySize), z(zSize) {}
};

namespace CudaEmulation
{

// The indices of the running thread.
struct Place
{
    dim3 thread;
    dim3 block;
    dim3 blockSize;
    dim3 gridSize;
};
inline thread_local Place g_place;

// Runs one launch to its end. Every other launch runs its blocks and threads in reverse order, so that results that
// depend on the order differ. Fails if threads of a block wait for threads that have left the kernel.
void Run(const char* name, dim3 blocks, dim3 threads, const std::function<void()>& kernel);
// Queues a launch in a stream (EmulatedStreams.h). The kernel must own its arguments.
void Launch(const char* name, void* stream, dim3 blocks, dim3 threads, std::function<void()> kernel);

// Makes all launches of this kernel leave out their last block. An empty name ends that.
void BreakKernel(const std::string& name);
bool IsBroken(const std::string& name);

// Regions of device memory. They are accessible only while a DeviceAccess exists, during kernels and copies.
void AddRegion(void* region, size_t bytes);
void RemoveRegion(void* region);
// Allocated blocks of device memory, against which pointers are checked.
void AddDeviceMemory(void* memory, size_t bytes);
void RemoveDeviceMemory(void* memory);
// Bytes from here to the end of the block; 0 if this is no device memory.
size_t DeviceBytes(const void* memory);
// Fails if the bytes are not all in one block of device memory.
void RequireDeviceMemory(const char* name, const void* memory, size_t bytes);

// Checks the pointers in a kernel's argument: alone, in a matrix, a sparse matrix or a task. The emulation could read
// host memory, on which a card would crash.
template <class T>
void CheckArgument(const char* name, const T& argument)
{
    if constexpr (std::is_array_v<T>)
        for (const auto& element : argument)
            CheckArgument(name, element);
    else if constexpr (std::is_pointer_v<T>) // null is allowed
        RequireDeviceMemory(name, argument, argument == nullptr ? 0 : 1);
    else if constexpr (requires { argument.stride; })
        RequireDeviceMemory(name, argument.data,
                            argument.Elements() == 0
                                ? 0
                                : ((argument.columns - 1) * argument.stride + argument.rows) * sizeof(*argument.data));
    else if constexpr (requires { argument.columnStarts; })
    {
        RequireDeviceMemory(name, argument.columnStarts, (argument.columns + 1) * sizeof(*argument.columnStarts));
        CheckArgument(name, argument.values);
        CheckArgument(name, argument.rowIndices);
    }
    else if constexpr (requires { argument.partResults; })
    {
        if (argument.reduced.elements > 0)
            CheckArgument(name, argument.inputs);
        CheckArgument(name, argument.output);
        CheckArgument(name, argument.partResults);
    }
    else if constexpr (requires { argument.states; })
    {
        CheckArgument(name, argument.parameter);
        CheckArgument(name, argument.gradient);
        CheckArgument(name, argument.states);
        CheckArgument(name, argument.columns);
        CheckArgument(name, argument.deviceArguments);
        CheckArgument(name, argument.multiplierSums);
        CheckArgument(name, argument.squares.sums);
        CheckArgument(name, argument.stop);
    }
    else if constexpr (requires { argument.links; })
    {
        const auto check = [&](const auto& place) {
            RequireDeviceMemory(name, place.data,
                                ((argument.columns - 1) * place.step + argument.rows) * sizeof(*place.data));
        };
        for (unsigned i = 0; i < argument.count; ++i)
        {
            check(argument.links[i].output);
            for (const auto& input : argument.links[i].inputs)
                check(input);
        }
    }
    else if constexpr (requires { argument.isFloat; })
        CheckArgument(name, argument.data);
}

class DeviceAccess
{
public:
    DeviceAccess();
    ~DeviceAccess();
    DeviceAccess(const DeviceAccess&) = delete;
    DeviceAccess& operator=(const DeviceAccess&) = delete;
};

// Waits for all threads of the block.
void SyncBlock();
// Waits for all threads of the warp, then copies up to 16 bytes from another lane to value.
void Exchange(unsigned sourceLane, void* value, size_t bytes);
unsigned Lane();

// The mask must name the whole warp.
template <class T>
T ExchangeValue(unsigned mask, unsigned sourceLane, T value)
{
    static_assert(sizeof(T) <= 16);
    if (mask != 0xffffffffu)
        throw std::logic_error("shuffles of a part of a warp are not emulated");
    Exchange(sourceLane, &value, sizeof(T));
    return value;
}

} // namespace CudaEmulation

#define threadIdx (::CudaEmulation::g_place.thread)
#define blockIdx (::CudaEmulation::g_place.block)
#define blockDim (::CudaEmulation::g_place.blockSize)
#define gridDim (::CudaEmulation::g_place.gridSize)

inline void __syncthreads()
{
    CudaEmulation::SyncBlock();
}
inline void __syncwarp()
{
    CudaEmulation::ExchangeValue(0xffffffffu, CudaEmulation::Lane(), 0);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes)
{
    return CudaEmulation::ExchangeValue(mask, CudaEmulation::Lane() ^ unsigned(lanes), value);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane)
{
    return CudaEmulation::ExchangeValue(mask, unsigned(lane), value);
}
template <class T>
T atomicAdd(T* target, T value)
{
    const T before = *target;
    *target = before + value;
    return before;
}
inline float __fmul_rn(float a, float b)
{
    return a * b;
}
inline float __fadd_rn(float a, float b)
{
    return a + b;
}
inline double __dmul_rn(double a, double b)
{
    return a * b;
}
inline double __dadd_rn(double a, double b)
{
    return a + b;
}
