// Matrix products by cuBLAS, which is opened at run time.
#include "Common/Error.h"
#include "Math/Gpu/CudaLibrary.h"
#include "Math/Gpu/GpuBlas.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace cntk
{

namespace
{

struct Functions
{
    decltype(&cublasCreate_v2) create = nullptr;
    decltype(&cublasDestroy_v2) destroy = nullptr;
    decltype(&cublasGetVersion_v2) getVersion = nullptr;
    decltype(&cublasGetStatusString) getStatusString = nullptr;
    decltype(&cublasSetStream_v2) setStream = nullptr;
    decltype(&cublasSetWorkspace_v2) setWorkspace = nullptr;
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
    find(functions.getStatusString, "cublasGetStatusString");
    find(functions.setStream, "cublasSetStream_v2");
    find(functions.setWorkspace, "cublasSetWorkspace_v2");
    find(functions.setPointerMode, "cublasSetPointerMode_v2");
    find(functions.gemm, "cublasGemmEx_64");
    return functions;
}

// Major compute capability of the current device; 0 if unknown.
int MajorCapability()
{
    int device = 0;
    int major = 0;
    const bool isKnown = cudaGetDevice(&device) == cudaSuccess &&
                         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
    return isKnown ? major : 0;
}

constexpr int c_majorOfFastMath = 8; // Turing's tensor cores have neither TF32 nor bfloat16

// Memory for products. From its own pool cuBLAS would allocate for each stream. During a capture it would put
// allocations into the graph, and might choose another algorithm than outside of it.
class Workspace
{
public:
    // Allocates cuBLAS's default size, or nothing if memory is short.
    explicit Workspace(int major) : m_bytes(size_t(major >= 9 ? 32 : 8) << 20)
    {
        if (cudaMalloc(&m_memory, m_bytes) == cudaSuccess)
            return;
        cudaGetLastError();
        m_memory = nullptr;
        m_bytes = 0;
    }
    ~Workspace() { cudaFree(m_memory); }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    void* Memory() const { return m_memory; }
    size_t Bytes() const { return m_bytes; }

private:
    void* m_memory = nullptr;
    size_t m_bytes;
};

class CuBlas final : public GpuBlas
{
public:
    explicit CuBlas(GpuMatrixMath math)
        : m_functions(OpenCuBlas()), m_major(MajorCapability()), m_math(math), m_workspace(m_major)
    {
        Check(m_functions.create(&m_handle), "start");
        const cublasStatus_t status = m_functions.setPointerMode(m_handle, CUBLAS_POINTER_MODE_DEVICE);
        if (status != CUBLAS_STATUS_SUCCESS)
            m_functions.destroy(m_handle);
        Check(status, "take factors from the device");
    }
    ~CuBlas() override { m_functions.destroy(m_handle); }

    std::string Describe() const override
    {
        int version = 0;
        m_functions.getVersion(m_handle, &version);
        const char* const kind = m_math == GpuMatrixMath::Float  ? ""
                                 : m_major < c_majorOfFastMath   ? ", float: the card has no other kind"
                                 : m_math == GpuMatrixMath::Tf32 ? ", TF32"
                                                                 : ", bfloat16";
        return Concat("cuBLAS ", version / 10000, ".", version / 100 % 100, kind);
    }

    void Multiply(const GpuGemm& p, GpuStream stream) override
    {
        TakeStream(stream);
        const bool isFloat = p.type == DataType::Float32;
        const cudaDataType_t type = isFloat ? CUDA_R_32F : CUDA_R_64F;
        const cublasStatus_t status = m_functions.gemm(
            m_handle, p.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N, p.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N, int64_t(p.m),
            int64_t(p.n), int64_t(p.k), p.alpha, p.a, type, int64_t(p.strideA), p.b, type, int64_t(p.strideB), p.beta,
            p.c, type, int64_t(p.strideC), ComputeType(isFloat), CUBLAS_GEMM_DEFAULT);
        Check(status, "multiply matrices");
    }

private:
    void Check(cublasStatus_t status, const char* what) const
    {
        if (status != CUBLAS_STATUS_SUCCESS)
            Fail(ErrorKind::Device, "cuBLAS failed to ", what, ": ", m_functions.getStatusString(status), " (status ",
                 int(status), ")");
    }

    // Setting a stream resets the workspace.
    void TakeStream(GpuStream stream)
    {
        if (stream == m_stream)
            return;
        Check(m_functions.setStream(m_handle, static_cast<cudaStream_t>(stream)), "take a stream");
        if (m_workspace.Bytes() > 0)
            Check(m_functions.setWorkspace(m_handle, m_workspace.Memory(), m_workspace.Bytes()), "take memory");
        m_stream = stream;
    }

    cublasComputeType_t ComputeType(bool isFloat) const
    {
        if (!isFloat)
            return CUBLAS_COMPUTE_64F;
        if (m_major < c_majorOfFastMath)
            return CUBLAS_COMPUTE_32F;
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
    int m_major;
    GpuMatrixMath m_math;
    Workspace m_workspace; // outlives the handle
    cublasHandle_t m_handle = nullptr;
    GpuStream m_stream = nullptr;
};

} // namespace

std::unique_ptr<GpuBlas> MakeCuBlas(GpuMatrixMath math)
{
    return std::make_unique<CuBlas>(math);
}

} // namespace cntk
