// Matrix products as the GPU backend asks for them. One implementation calls cuBLAS; the unit tests have one of their
// own.
#pragma once

#include "Math/DataType.h"
#include "Math/Gpu/GpuRuntime.h"

#include <cstddef>
#include <string>

namespace cntk
{

// C (m x n) = alpha * A (m x k) * B (k x n) + beta * C; column-major, A and B transposed where it says so. With
// beta = 0 C is not read. m, n and k are more than 0. All pointers are to device memory, those of the factors too
// (GpuScalars.h): the host neither waits nor has a say when the product runs.
struct GpuGemm
{
    DataType type = DataType::Float32;
    bool transposeA = false;
    bool transposeB = false;
    size_t m = 0;
    size_t n = 0;
    size_t k = 0;
    const void* a = nullptr;
    size_t strideA = 0;
    const void* b = nullptr;
    size_t strideB = 0;
    void* c = nullptr;
    size_t strideC = 0;
    const void* alpha = nullptr; // numbers of the product's type
    const void* beta = nullptr;
};

class GpuBlas
{
public:
    virtual ~GpuBlas() = default;

    virtual std::string Describe() const = 0; // "cuBLAS 13.0, TF32"
    virtual void Multiply(const GpuGemm& product, GpuStream stream) = 0;
};

} // namespace cntk
