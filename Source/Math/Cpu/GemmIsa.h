// The project's own product as compiled for each instruction set: one table of functions each.
#pragma once

#include <cstddef>

namespace cntk
{

// Mirrors GemmArguments of GemmKernel.h without its unnamed namespace: one thread's product.
template <class T>
struct GemmTask
{
    bool transA = false;
    bool transB = false;
    size_t m = 0;
    size_t n = 0;
    size_t k = 0;
    T alpha = 1;
    const T* a = nullptr;
    size_t lda = 0;
    const T* b = nullptr;
    size_t ldb = 0;
    T beta = 0;
    T* c = nullptr;
    size_t ldc = 0;
};

struct GemmIsa
{
    const char* name; // "AVX2"
    void (*multiplyFloat)(const GemmTask<float>& task, float* scratchA, float* scratchB);
    void (*multiplyDouble)(const GemmTask<double>& task, double* scratchA, double* scratchB);
    size_t scratchBytesA; // the larger of both element types
    size_t scratchBytesB;
    size_t tileRows; // of the register tile, for float
    size_t tileColumns;
};

const GemmIsa& GemmBaseline();
const GemmIsa& GemmAvx2();
const GemmIsa& GemmAvx512();
// The best one that this processor runs.
const GemmIsa& BestGemmIsa();

} // namespace cntk
