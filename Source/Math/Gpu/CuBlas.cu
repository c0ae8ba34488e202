// cuBLAS, opened at run time, so that the library's own messages come before those of the loader.
#include "Common/Error.h"
#include "Math/Gpu/CudaLibrary.h"
#include "Math/Gpu/CudaRuntime.h"

#include <cublas_v2.h>

namespace cntk
{

namespace
{

struct Functions
{
    decltype(&cublasCreate_v2) create = nullptr;
    decltype(&cublasDestroy_v2) destroy = nullptr;
    decltype(&cublasGetVersion_v2) getVersion = nullptr;
    decltype(&cublasSetStream_v2) setStream = nullptr;
    decltype(&cublasSetPointerMode_v2) setPointerMode = nullptr;
    decltype(&cublasGemmEx_64) gemm = nullptr;
};

Functions OpenCuBlas()
{
    std::string reason;
    void* const library = OpenCudaLibrary("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR), reason);
    if (library == nullptr)
    {
        Fail(ErrorKind::Device, "cuBLAS was not found (", reason, "); install the libraries of CUDA ", CUBLAS_VER_MAJOR,
             " or add their folder to LD_LIBRARY_PATH");
    }
    Functions functions;
    const auto find = [&](auto& function, const char* name)
    {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
        if (function == nullptr)
            Fail(ErrorKind::Device, "cuBLAS has no function ", name, "; install the libraries of CUDA ",
                 CUBLAS_VER_MAJOR);
    };
    find(functions.create, "cublasCreate_v2");
    find(functions.destroy, "cublasDestroy_v2");
    find(functions.getVersion, "cublasGetVersion_v2");
    find(functions.setStream, "cublasSetStream_v2");
    find(functions.setPointerMode, "cublasSetPointerMode_v2");
    find(functions.gemm, "cublasGemmEx_64");
    return functions;
}

void Check(cublasStatus_t status, const char* what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        Fail(ErrorKind::Device, "cuBLAS failed to ", what, " (status ", int(status), ")");
}

class CuBlas final : public GpuBlas
{
public:
    explicit CuBlas(GpuMatrixMath math) : m_functions(OpenCuBlas()), m_math(math)
    {
        Check(m_functions.create(&m_handle), "start");
        Check(m_functions.setPointerMode(m_handle, CUBLAS_POINTER_MODE_DEVICE), "take factors from the device");
    }
    ~CuBlas() override { m_functions.destroy(m_handle); }

    std::string Describe() const override
    {
        int version = 0;
        m_functions.getVersion(m_handle, &version);
        const char* const kind = m_math == GpuMatrixMath::Tf32       ? ", TF32"
                                 : m_math == GpuMatrixMath::Bfloat16 ? ", bfloat16"
                                                                     : "";
        return Concat("cuBLAS ", version / 10000, ".", version / 100 % 100, kind);
    }

    void Multiply(const GpuGemm& p, GpuStream stream) override
    {
        Check(m_functions.setStream(m_handle, static_cast<cudaStream_t>(stream)), "take a stream");
        const bool isFloat = p.type == DataType::Float32;
        const cudaDataType_t type = isFloat ? CUDA_R_32F : CUDA_R_64F;
        const cublasStatus_t status = m_functions.gemm(
            m_handle, p.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N, p.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N, int64_t(p.m),
            int64_t(p.n), int64_t(p.k), p.alpha, p.a, type, int64_t(p.strideA), p.b, type, int64_t(p.strideB), p.beta,
            p.c, type, int64_t(p.strideC), ComputeType(isFloat), CUBLAS_GEMM_DEFAULT);
        Check(status, "multiply matrices");
    }

private:
    cublasComputeType_t ComputeType(bool isFloat) const
    {
        if (!isFloat)
            return CUBLAS_COMPUTE_64F;
        switch (m_math)
        {
        case GpuMatrixMath::Tf32:
            return CUBLAS_COMPUTE_32F_FAST_TF32;
        case GpuMatrixMath::Bfloat16:
            return CUBLAS_COMPUTE_32F_FAST_16BF;
        case GpuMatrixMath::Float:
            break;
        }
        return CUBLAS_COMPUTE_32F;
    }

    Functions m_functions;
    GpuMatrixMath m_math;
    cublasHandle_t m_handle = nullptr;
};

} // namespace

std::unique_ptr<GpuBlas> MakeCuBlas(GpuMatrixMath math)
{
    return std::make_unique<CuBlas>(math);
}

} // namespace cntk
