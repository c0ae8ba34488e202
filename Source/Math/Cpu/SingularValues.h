// The singular value decomposition of a matrix, by LAPACK as OpenBLAS has it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// A = U * diag(s) * Vt, all column-major; k = min(rows, columns).
struct SingularValues
{
    std::vector<double> u;  // rows x k
    std::vector<double> s;  // k, falling
    std::vector<double> vt; // k x columns
};

// Fails (Device) where there is no LAPACK, and (Model) for a matrix with numbers that are not finite.
SingularValues DecomposeMatrix(std::span<const double> matrix, size_t rows, size_t columns);

} // namespace cntk
