// The language of kernels: CUDA for nvcc; for any other compiler the emulation of the unit tests, which runs the same
// kernels on the processor. Launch() replaces <<<>>>, which only nvcc reads.
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

// The limit of a kernel's arguments on every card.
constexpr size_t c_mostArgumentBytes = 4096;
// Adds up the arguments with the padding that alignment needs.
template <class... Parameters>
constexpr size_t ArgumentBytes()
{
    size_t bytes = 0;
    ((bytes = (bytes + alignof(Parameters) - 1) / alignof(Parameters) * alignof(Parameters) + sizeof(Parameters)), ...);
    return bytes;
}

template <class... Parameters, class... Arguments>
void Launch(const char* name, GpuStream stream, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
            Arguments... arguments)
{
    static_assert(ArgumentBytes<Parameters...>() <= c_mostArgumentBytes);
    if (stream == NoStream())
        return;
#ifdef __CUDACC__
    cudaLaunchConfig_t shape{};
    shape.gridDim = blocks;
    shape.blockDim = threads;
    shape.stream = static_cast<cudaStream_t>(stream);
    // Returns the status of this launch. After <<<>>>, cudaGetLastError may return an earlier error of other work.
    const cudaError_t status = cudaLaunchKernelEx(&shape, kernel, static_cast<Parameters>(arguments)...);
    if (status == cudaSuccess)
        return;
    cudaGetLastError(); // clears the error, so that no later call reports it
    Fail(ErrorKind::Device, "the GPU cannot run ", name, ": ", cudaGetErrorString(status));
#else
    (CudaEmulation::CheckArgument(name, static_cast<Parameters>(arguments)), ...);
    CudaEmulation::Launch(name, stream, blocks, threads,
                          [kernel, arguments...] { kernel(static_cast<Parameters>(arguments)...); });
#endif
}

// The number of blocks for `elements`. Kernels step by the whole grid, so fewer threads than elements are allowed.
inline unsigned BlocksFor(size_t elements, size_t threads, size_t most = 65535)
{
    const size_t blocks = (elements + threads - 1) / threads;
    return unsigned(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

} // namespace cntk
