// The interface for matrix products on a GPU. One implementation calls cuBLAS; the unit tests have their own.
#pragma once

#include "Math/DataType.h"
#include "Math/Device.h"
#include "Math/Gpu/GpuRuntime.h"

#include <cstddef>
#include <memory>
#include <string>

namespace cntk
{

// C (m x n) = alpha * A (m x k) * B (k x n) + beta * C; column-major, A and B transposed if so marked. With beta = 0 C
// is not read. m, n and k are positive. All pointers are to device memory, those of the factors too (GpuFactors), so
// that the host does not wait.
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
    const void* alpha = nullptr; // one value of the product's type
    const void* beta = nullptr;
};

class GpuBlas
{
public:
    virtual ~GpuBlas() = default;

    virtual std::string Describe() const = 0; // "cuBLAS 13.0, TF32"
    virtual void Multiply(const GpuGemm& product, GpuStream stream) = 0;
};

// Opens cuBLAS for the current device. Fails (kind Device) if it is missing.
std::unique_ptr<GpuBlas> MakeCuBlas(GpuMatrixMath math);

} // namespace cntk
