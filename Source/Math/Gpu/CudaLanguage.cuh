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

#ifdef __CUDACC__
template <class... Parameters, class... Arguments>
void Launch(const char* name, GpuStream stream, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
            Arguments... arguments)
{
    if (stream == NoStream())
        return;
    kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<Parameters>(arguments)...);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess)
        Fail(ErrorKind::Device, "the GPU cannot run ", name, ": ", cudaGetErrorString(status));
}
#else
template <class... Parameters, class... Arguments>
void Launch(const char* name, GpuStream stream, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
            Arguments... arguments)
{
    if (stream == NoStream())
        return;
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
