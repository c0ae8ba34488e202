// Matrix products on the CPU: one entry, whatever engine computes them.
#pragma once

#include <cstddef>
#include <string>

namespace cntk
{

// c = beta * c + alpha * op(a) * op(b), column-major: op(a) is m x k, op(b) k x n, c m x n. beta = 0 never reads c.
// Uses at most the given number of threads.
template <class T>
void Gemm(bool transA, bool transB, size_t m, size_t n, size_t k, double alpha, const T* a, size_t lda, const T* b,
          size_t ldb, double beta, T* c, size_t ldc, int threads);

// The engines and what they run on: "OpenBLAS Haswell".
std::string DescribeGemm();

} // namespace cntk
