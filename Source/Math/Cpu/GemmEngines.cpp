// OpenBLAS and oneDNN through dlopen: a program that starts in 20 ms cannot pay for libraries that it may not need.
#include "Math/Cpu/GemmEngines.h"

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
        if (auto setThreads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads")))
            setThreads(1);
        if (auto coreName = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename")))
            core = coreName();
    }

    static const OpenBlas& Get()
    {
        static const OpenBlas library;
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
    OpenBlas::Get().sgemm(c_columnMajor, TransposeCode(t.transA), TransposeCode(t.transB), int(t.m), int(t.n), int(t.k),
                          t.alpha, t.a, int(t.lda), t.b, int(t.ldb), t.beta, t.c, int(t.ldc));
}

void OpenBlasDouble(const GemmTask<double>& t)
{
    OpenBlas::Get().dgemm(c_columnMajor, TransposeCode(t.transA), TransposeCode(t.transB), int(t.m), int(t.n), int(t.k),
                          t.alpha, t.a, int(t.lda), t.b, int(t.ldb), t.beta, t.c, int(t.ldc));
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
        // Its OpenMP would fork a team of its own in each of our threads; the setting is one of the calling thread.
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
    // Column-major C = A B is row-major C' = B' A'.
    library.sgemm(t.transB ? 'T' : 'N', t.transA ? 'T' : 'N', int64_t(t.n), int64_t(t.m), int64_t(t.k), t.alpha, t.b,
                  int64_t(t.ldb), t.a, int64_t(t.lda), t.beta, t.c, int64_t(t.ldc));
}

} // namespace

void PrepareEngines()
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && !__builtin_cpu_is("amd"))
        setenv("OPENBLAS_CORETYPE", "HASWELL", 0);
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

const char* NameOf(GemmEngine engine)
{
    switch (engine)
    {
    case GemmEngine::Own:
        return "own kernels";
    case GemmEngine::OpenBlas:
        return "OpenBLAS";
    case GemmEngine::OneDnn:
        return "oneDNN";
    }
    return "";
}

SingleGemm FindSingleGemm(GemmEngine engine)
{
    if (engine == GemmEngine::OpenBlas)
        return OpenBlas::Get().sgemm != nullptr ? &OpenBlasFloat : nullptr;
    if (engine == GemmEngine::OneDnn)
        return OneDnn::Get().sgemm != nullptr ? &OneDnnFloat : nullptr;
    return nullptr;
}

DoubleGemm FindDoubleGemm(GemmEngine engine)
{
    return engine == GemmEngine::OpenBlas && OpenBlas::Get().dgemm != nullptr ? &OpenBlasDouble : nullptr;
}

std::string DescribeEngine(GemmEngine engine)
{
    if (engine == GemmEngine::OpenBlas)
        return OpenBlas::Get().sgemm != nullptr ? "OpenBLAS " + OpenBlas::Get().core : "";
    if (engine == GemmEngine::OneDnn)
        return OneDnn::Get().sgemm != nullptr ? "oneDNN" : "";
    return std::string("own kernels ") + NameOf(BestInstructionSet());
}

} // namespace cntk
