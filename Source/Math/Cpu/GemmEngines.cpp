// Opens OpenBLAS and oneDNN through dlopen, so that a program that needs neither starts in 20 ms.
#include "Math/Cpu/GemmEngines.h"

#include "Math/Cpu/CpuKernelTable.h"

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>

namespace cntk
{

namespace
{

// ---- OpenBLAS -------------------------------------------------------------------------------------------------------

struct OpenBlas
{
    using Sgemm = void (*)(int order, int transA, int transB, int m, int n, int k, float alpha, const float* a, int lda,
                           const float* b, int ldb, float beta, float* c, int ldc);
    using Dgemm = void (*)(int order, int transA, int transB, int m, int n, int k, double alpha, const double* a,
                           int lda, const double* b, int ldb, double beta, double* c, int ldc);
    Sgemm sgemm = nullptr;
    Dgemm dgemm = nullptr;
    void (*setThreads)(int) = nullptr; // null if the library does not use OpenMP
    std::string core;

    OpenBlas()
    {
        PrepareEngines();
        void* library = nullptr;
        for (const char* name : {"libopenblas.so.0", "libopenblas.so"})
            if (library == nullptr)
                library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            return;
        sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
        dgemm = reinterpret_cast<Dgemm>(dlsym(library, "cblas_dgemm"));
        if (auto setAllThreads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads")))
            setAllThreads(1);
        // Otherwise its OpenMP would start threads from each of ours. The setting belongs to the calling thread.
        setThreads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
        if (auto coreName = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename")))
            core = coreName();
    }

    static const OpenBlas& Get()
    {
        static const OpenBlas library;
        return library;
    }
    static const OpenBlas& ForThisThread()
    {
        const OpenBlas& library = Get();
        if (library.setThreads != nullptr)
            library.setThreads(1);
        return library;
    }
};

constexpr int c_columnMajor = 102;
constexpr int TransposeCode(bool transposed)
{
    return transposed ? 112 : 111;
}

void OpenBlasFloat(const GemmTask<float>& t)
{
    OpenBlas::ForThisThread().sgemm(c_columnMajor, TransposeCode(t.transA), TransposeCode(t.transB), int(t.m), int(t.n),
                                    int(t.k), t.alpha, t.a, int(t.lda), t.b, int(t.ldb), t.beta, t.c, int(t.ldc));
}

void OpenBlasDouble(const GemmTask<double>& t)
{
    OpenBlas::ForThisThread().dgemm(c_columnMajor, TransposeCode(t.transA), TransposeCode(t.transB), int(t.m), int(t.n),
                                    int(t.k), t.alpha, t.a, int(t.lda), t.b, int(t.ldb), t.beta, t.c, int(t.ldc));
}

// ---- oneDNN ---------------------------------------------------------------------------------------------------------

struct OneDnn
{
    // Row-major; status 0 is success.
    using Sgemm = int (*)(char transA, char transB, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                          int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
    Sgemm sgemm = nullptr;
    void (*setThreads)(int) = nullptr;

    OneDnn()
    {
        void* library = nullptr;
        for (const char* name : {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"})
            if (library == nullptr)
                library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            return;
        sgemm = reinterpret_cast<Sgemm>(dlsym(library, "dnnl_sgemm"));
        // Otherwise its OpenMP would start threads from each of ours. The setting belongs to the calling thread.
        setThreads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
    }

    static const OneDnn& Get()
    {
        static const OneDnn library;
        return library;
    }
};

void OneDnnFloat(const GemmTask<float>& t)
{
    const OneDnn& library = OneDnn::Get();
    if (library.setThreads != nullptr)
        library.setThreads(1);
    // Column-major C = A B is row-major C^T = B^T A^T.
    library.sgemm(t.transB ? 'T' : 'N', t.transA ? 'T' : 'N', int64_t(t.n), int64_t(t.m), int64_t(t.k), t.alpha, t.b,
                  int64_t(t.ldb), t.a, int64_t(t.lda), t.beta, t.c, int64_t(t.ldc));
}

// ---- auto ----------------------------------------------------------------------------------------------------------

// Products that a library computes faster than our kernels.
struct LibraryShapes
{
    bool (*isProcessor)();
    MatrixEngine engine;
    bool transB;
    double leastWork; // multiply-adds
};
bool IsIntelWithAvx512()
{
    return __builtin_cpu_is("intel") && BestInstructionSet() == InstructionSet::Avx512;
}
// Measured with one thread, GFLOP/s of the library and of our kernels:
// - Intel Sapphire Rapids, oneDNN 2.6: 512x1024x792 166 and 152, 512x1024x512 168 and 150, 800x640x200 174 and 164,
//   2048x1024x2048 160 and 154. Our kernels lead in small products, in packed weights and in gradients of weights
//   (transposed B), which they also end with the update of the parameter.
// - AMD Zen 5, oneDNN 2.6: our kernels lead by 3 % (median of 14 shapes), so there is no row.
constexpr LibraryShapes c_libraryShapes[] = {
    {&IsIntelWithAvx512, MatrixEngine::OneDnn, false, 100e6},
};

} // namespace

void PrepareEngines()
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && !__builtin_cpu_is("amd"))
        setenv("OPENBLAS_CORETYPE", "HASWELL", 0);
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

const char* NameOf(MatrixEngine engine)
{
    switch (engine)
    {
    case MatrixEngine::Own:
        return "own kernels";
    case MatrixEngine::OpenBlas:
        return "OpenBLAS";
    case MatrixEngine::OneDnn:
        return "oneDNN";
    case MatrixEngine::Auto:
        break;
    }
    return "auto";
}

template <>
LibraryProduct<float> FindLibraryProduct<float>(MatrixEngine engine)
{
    if (engine == MatrixEngine::OpenBlas)
        return OpenBlas::Get().sgemm != nullptr ? &OpenBlasFloat : nullptr;
    if (engine == MatrixEngine::OneDnn)
        return OneDnn::Get().sgemm != nullptr ? &OneDnnFloat : nullptr;
    return nullptr;
}

template <>
LibraryProduct<double> FindLibraryProduct<double>(MatrixEngine engine)
{
    return engine == MatrixEngine::OpenBlas && OpenBlas::Get().dgemm != nullptr ? &OpenBlasDouble : nullptr;
}

template <class T>
MatrixEngine FastestEngine(const GemmTask<T>& product)
{
    for (const LibraryShapes& shapes : c_libraryShapes)
        if (product.transB == shapes.transB &&
            double(product.m) * double(product.n) * double(product.k) >= shapes.leastWork && shapes.isProcessor() &&
            FindLibraryProduct<T>(shapes.engine) != nullptr)
            return shapes.engine;
    return MatrixEngine::Own;
}
template MatrixEngine FastestEngine(const GemmTask<float>&);
template MatrixEngine FastestEngine(const GemmTask<double>&);

std::string DescribeEngine(MatrixEngine engine)
{
    if (engine == MatrixEngine::OpenBlas)
        return OpenBlas::Get().sgemm != nullptr ? "OpenBLAS " + OpenBlas::Get().core : "";
    if (engine == MatrixEngine::OneDnn)
        return OneDnn::Get().sgemm != nullptr ? "oneDNN" : "";
    std::string text = std::string("own kernels ") + NameOf(BestInstructionSet());
    if (engine == MatrixEngine::Own)
        return text;
    for (const LibraryShapes& shapes : c_libraryShapes)
        if (shapes.isProcessor() && FindLibraryProduct<float>(shapes.engine) != nullptr)
            text += std::string(", large ones ") + NameOf(shapes.engine);
    return text;
}

} // namespace cntk
