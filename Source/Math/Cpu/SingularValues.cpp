// dgesdd (divide and conquer), found at run time as the products of matrices are.
#include "Math/Cpu/SingularValues.h"

#include "Common/Error.h"
#include "Math/Cpu/GemmEngines.h"

#include <algorithm>
#include <cmath>
#include <dlfcn.h>

namespace cntk
{
namespace
{

// The last argument is the length of the first, which Fortran passes on its own.
using Gesdd = void (*)(const char* job, const int* rows, const int* columns, double* a, const int* lda, double* s,
                       double* u, const int* ldu, double* vt, const int* ldvt, double* work, const int* workSize,
                       int* integerWork, int* info, size_t jobLength);

Gesdd FindGesdd()
{
    DescribeEngine(MatrixEngine::OpenBlas); // opens the library with our settings
    for (const char* name : {"libopenblas.so.0", "libopenblas.so", "liblapack.so.3"})
        if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
            if (void* const found = dlsym(library, "dgesdd_"))
                return reinterpret_cast<Gesdd>(found);
    Fail(ErrorKind::Device,
         "a singular value decomposition needs LAPACK, but neither OpenBLAS (libopenblas0) nor liblapack3 was found");
}

} // namespace

SingularValues DecomposeMatrix(std::span<const double> matrix, size_t rows, size_t columns)
{
    CNTK_ASSERT(matrix.size() == rows * columns && rows > 0 && columns > 0);
    if (!std::all_of(matrix.begin(), matrix.end(), [](double value) { return std::isfinite(value); }))
        Fail(ErrorKind::Model, "the matrix has values that are not finite numbers, so it has no singular values");
    const Gesdd gesdd = FindGesdd();
    const size_t count = std::min(rows, columns);
    SingularValues result;
    result.u.resize(rows * count);
    result.s.resize(count);
    result.vt.resize(count * columns);
    std::vector<double> copy(matrix.begin(), matrix.end()); // is overwritten
    std::vector<int> integerWork(8 * count);
    const int m = int(rows), n = int(columns), k = int(count);
    int info = 0;
    const auto run = [&](double* work, int workSize)
    {
        gesdd("S", &m, &n, copy.data(), &m, result.s.data(), result.u.data(), &m, result.vt.data(), &k, work, &workSize,
              integerWork.data(), &info, 1);
    };
    double wanted = 0;
    run(&wanted, -1); // asks how much memory it wants
    std::vector<double> work(std::max<size_t>(1, size_t(wanted)));
    run(work.data(), int(work.size()));
    if (info != 0)
        Fail(ErrorKind::Model, "the singular value decomposition of a ", rows, " by ", columns,
             " matrix did not converge (dgesdd: ", info, ")");
    return result;
}

} // namespace cntk
