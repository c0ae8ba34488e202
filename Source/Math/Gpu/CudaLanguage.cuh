// What kernels are written in: CUDA for nvcc; for any other compiler the emulation of the unit tests, which runs the
// same kernels on the processor. Launch() stands for <<<>>>, which only nvcc reads.
#pragma once

#include "Math/Gpu/GpuRuntime.h"

#ifdef __CUDACC__
#include "Common/Error.h"

#include <cuda_runtime.h>
#else
#include <CudaEmulation/CudaEmulation.h>
#endif

#include <cstddef>
#include <cstdint>

namespace cntk
{

constexpr unsigned c_warp = 32;

// What every card takes of a kernel's arguments, which are copied with each launch.
constexpr size_t c_mostArgumentBytes = 4096;
// Each begins where its alignment lets it.
template <class... Parameters>
constexpr size_t ArgumentBytes()
{
    size_t bytes = 0;
    ((bytes = (bytes + alignof(Parameters) - 1) / alignof(Parameters) * alignof(Parameters) + sizeof(Parameters)), ...);
    return bytes;
}

#ifdef __CUDACC__
template <class... Parameters, class... Arguments>
void Launch(const char* name, GpuStream stream, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
            Arguments... arguments)
{
    static_assert(ArgumentBytes<Parameters...>() <= c_mostArgumentBytes);
    if (stream == NoStream())
        return;
    cudaLaunchConfig_t shape{};
    shape.gridDim = blocks;
    shape.blockDim = threads;
    shape.stream = static_cast<cudaStream_t>(stream);
    // Says what became of this launch. <<<>>> leaves that to cudaGetLastError, which may name what somebody else did.
    const cudaError_t status = cudaLaunchKernelEx(&shape, kernel, static_cast<Parameters>(arguments)...);
    if (status == cudaSuccess)
        return;
    cudaGetLastError(); // else a later call would find it
    Fail(ErrorKind::Device, "the GPU cannot run ", name, ": ", cudaGetErrorString(status));
}
#else
template <class... Parameters, class... Arguments>
void Launch(const char* name, GpuStream stream, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
            Arguments... arguments)
{
    static_assert(ArgumentBytes<Parameters...>() <= c_mostArgumentBytes);
    if (stream == NoStream())
        return;
    (CudaEmulation::CheckArgument(name, static_cast<Parameters>(arguments)), ...);
    CudaEmulation::Launch(name, stream, blocks, threads,
                          [kernel, arguments...] { kernel(static_cast<Parameters>(arguments)...); });
}
#endif

// Blocks for so many elements; kernels step by the whole grid, so that more elements than threads are no matter.
inline unsigned BlocksFor(size_t elements, size_t threads, size_t most = 65535)
{
    const size_t blocks = (elements + threads - 1) / threads;
    return unsigned(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

} // namespace cntk
