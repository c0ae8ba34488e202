// Matrix products with OpenBLAS.
#include "Math/Cpu/Gemm.h"

#include <algorithm>
#include <cblas.h>

namespace cntk
{

namespace
{

// Below this much work per thread a second thread costs more than it brings.
constexpr double c_operationsPerThread = 500e3;

void SetThreads(size_t m, size_t n, size_t k, int threads)
{
    const double operations = double(m) * double(n) * double(k);
    const int useful = int(std::clamp(operations / c_operationsPerThread, 1.0, double(std::max(threads, 1))));
    if (openblas_get_num_threads() != useful)
        openblas_set_num_threads(useful);
}

// Scales c where there is nothing to multiply.
template <class T>
void ScaleOnly(size_t m, size_t n, double beta, T* c, size_t ldc)
{
    for (size_t column = 0; column < n; ++column)
        for (size_t row = 0; row < m; ++row)
            c[column * ldc + row] = beta == 0 ? T(0) : T(beta) * c[column * ldc + row];
}

} // namespace

template <class T>
void Gemm(bool transA, bool transB, size_t m, size_t n, size_t k, double alpha, const T* a, size_t lda, const T* b,
          size_t ldb, double beta, T* c, size_t ldc, int threads)
{
    if (m == 0 || n == 0)
        return;
    if (k == 0)
    {
        ScaleOnly(m, n, beta, c, ldc);
        return;
    }
    SetThreads(m, n, k, threads);
    const CBLAS_TRANSPOSE opA = transA ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE opB = transB ? CblasTrans : CblasNoTrans;
    const auto size = [](size_t value) { return blasint(value); };
    if constexpr (sizeof(T) == sizeof(float))
    {
        cblas_sgemm(CblasColMajor, opA, opB, size(m), size(n), size(k), float(alpha), a, size(std::max<size_t>(lda, 1)),
                    b, size(std::max<size_t>(ldb, 1)), float(beta), c, size(ldc));
    }
    else
    {
        cblas_dgemm(CblasColMajor, opA, opB, size(m), size(n), size(k), alpha, a, size(std::max<size_t>(lda, 1)), b,
                    size(std::max<size_t>(ldb, 1)), beta, c, size(ldc));
    }
}

template void Gemm<float>(bool, bool, size_t, size_t, size_t, double, const float*, size_t, const float*, size_t,
                          double, float*, size_t, int);
template void Gemm<double>(bool, bool, size_t, size_t, size_t, double, const double*, size_t, const double*, size_t,
                           double, double*, size_t, int);

std::string DescribeGemm()
{
    return std::string("OpenBLAS ") + openblas_get_corename();
}

} // namespace cntk
