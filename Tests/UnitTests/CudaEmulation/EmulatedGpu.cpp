// Device memory is a region that only kernels and copies can access.
#include "CudaEmulation/EmulatedGpu.h"

#include "Common/Error.h"
#include "CudaEmulation/CudaEmulation.h"
#include "Math/Gpu/GpuDevice.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <sys/mman.h>

namespace cntk
{

namespace
{

constexpr size_t c_alignment = 512; // same as cudaMalloc

template <class T>
void MultiplyOf(const GpuGemm& p)
{
    const T* const a = static_cast<const T*>(p.a);
    const T* const b = static_cast<const T*>(p.b);
    T* const c = static_cast<T*>(p.c);
    const size_t aRow = p.transposeA ? p.strideA : 1;
    const size_t aInner = p.transposeA ? 1 : p.strideA;
    const size_t bInner = p.transposeB ? p.strideB : 1;
    const size_t bColumn = p.transposeB ? 1 : p.strideB;
    const double alpha = double(*static_cast<const T*>(p.alpha));
    const double beta = double(*static_cast<const T*>(p.beta));
    for (size_t column = 0; column < p.n; ++column)
        for (size_t row = 0; row < p.m; ++row)
        {
            double sum = 0;
            for (size_t inner = 0; inner < p.k; ++inner)
                sum += double(a[row * aRow + inner * aInner]) * double(b[inner * bInner + column * bColumn]);
            T& target = c[column * p.strideC + row];
            target = T(beta == 0 ? alpha * sum : beta * double(target) + alpha * sum);
        }
}

// cuBLAS returns CUBLAS_STATUS_INVALID_VALUE for these, even for a single column.
void RequireSizes(const GpuGemm& p)
{
    if (p.m == 0 || p.n == 0 || p.k == 0)
        throw std::logic_error("a product has nothing to compute");
    const auto require = [&](const char* name, size_t stride, size_t rows)
    {
        if (stride < rows)
            throw std::logic_error(
                Concat("cuBLAS refuses a product whose ", name, " has ", rows, " rows and columns ", stride, " apart"));
    };
    require("a", p.strideA, p.transposeA ? p.k : p.m);
    require("b", p.strideB, p.transposeB ? p.n : p.k);
    require("c", p.strideC, p.m);
}

// A card would crash on other memory.
void RequireDeviceMemory(const GpuGemm& p)
{
    const auto require = [&](const char* name, const void* memory, size_t elements)
    {
        if (CudaEmulation::DeviceBytes(memory) < elements * SizeOf(p.type))
            throw std::logic_error(Concat("a product's ", name, " is no device memory of ", elements, " elements"));
    };
    const auto lastElement = [](size_t stride, size_t rows, size_t columns) { return (columns - 1) * stride + rows; };
    require("alpha", p.alpha, 1);
    require("beta", p.beta, 1);
    require("a", p.a, lastElement(p.strideA, p.transposeA ? p.k : p.m, p.transposeA ? p.m : p.k));
    require("b", p.b, lastElement(p.strideB, p.transposeB ? p.n : p.k, p.transposeB ? p.k : p.n));
    require("c", p.c, lastElement(p.strideC, p.m, p.n));
}

class EmulatedBlas final : public GpuBlas
{
public:
    std::string Describe() const override { return "emulated"; }
    void Multiply(const GpuGemm& product, GpuStream stream) override
    {
        RequireSizes(product);
        RequireDeviceMemory(product);
        CudaEmulation::Enqueue(stream, CudaEmulation::WorkKind::Kernel,
                               [product]
                               {
                                   if (product.type == DataType::Float32)
                                       MultiplyOf<float>(product);
                                   else
                                       MultiplyOf<double>(product);
                               });
    }
};

} // namespace

// ---- memory ---------------------------------------------------------------------------------------------------------

EmulatedRuntime::EmulatedRuntime(EmulatedMemory memory, size_t memoryBytes, WorkOrder order)
    : m_memory(memory), m_streams(order), m_bytes(memoryBytes)
{
    const int protection = memory == EmulatedMemory::Locked ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* const region = mmap(nullptr, m_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED)
        Fail(ErrorKind::Device, "no memory for an emulated GPU");
    m_region = static_cast<std::byte*>(region);
    if (m_memory == EmulatedMemory::Locked)
        CudaEmulation::AddRegion(m_region, m_bytes);
}

EmulatedRuntime::~EmulatedRuntime()
{
    for (void* const memory : m_pinnedBefore)
        ::operator delete(memory);
    CudaEmulation::RemoveRegion(m_region);
    for (const Block& block : m_used)
        CudaEmulation::RemoveDeviceMemory(m_region + block.first);
    munmap(m_region, m_bytes);
}

// Twelve multiprocessors split a long reduction into more parts than a warp has threads.
GpuProperties EmulatedRuntime::Properties(int)
{
    return {"emulation", 8, 0, 12};
}

void EmulatedRuntime::MemoryInfo(size_t& freeBytes, size_t& totalBytes)
{
    totalBytes = m_bytes;
    freeBytes = m_bytes;
    for (const Block& block : m_used)
        freeBytes -= block.bytes;
}

// Takes the first gap that is large enough.
void* EmulatedRuntime::Allocate(size_t bytes)
{
    const size_t rounded = (bytes + c_alignment - 1) / c_alignment * c_alignment;
    size_t first = 0;
    for (const Block& block : m_used)
    {
        if (block.first - first >= rounded)
            break;
        first = block.first + block.bytes;
    }
    if (rounded < bytes || rounded > m_bytes - first)
        return nullptr;
    m_used.insert({first, rounded});
    CudaEmulation::AddDeviceMemory(m_region + first, rounded);
    // New memory holds no zeros on a card. These bytes are NaN in every type, and an invalid index.
    const CudaEmulation::DeviceAccess access;
    std::memset(m_region + first, 0xff, rounded);
    return m_region + first;
}

// Waits for all work.
void EmulatedRuntime::Free(void* memory) noexcept
{
    try
    {
        m_streams.SynchronizeAll();
    }
    catch (const std::exception&)
    {
        // The backend ignores errors of cudaFree. They surface in the next call.
    }
    m_used.erase({size_t(static_cast<std::byte*>(memory) - m_region), 0});
    CudaEmulation::RemoveDeviceMemory(memory);
}

void* EmulatedRuntime::AllocatePinned(size_t bytes)
{
    void* const memory = ::operator new(bytes);
    m_pinned.emplace(static_cast<const std::byte*>(memory), bytes);
    return memory;
}

void EmulatedRuntime::FreePinned(void* memory) noexcept
{
    const auto found = m_pinned.find(static_cast<const std::byte*>(memory));
    std::memset(memory, 0xee, found->second);
    m_pinned.erase(found);
    m_pinnedBefore.push_back(memory);
}

void EmulatedRuntime::CheckPinned(const void* memory, size_t bytes) const
{
    const auto* const first = static_cast<const std::byte*>(memory);
    auto found = m_pinned.upper_bound(first);
    if (found == m_pinned.begin() || (--found, first + bytes > found->first + found->second))
        throw std::logic_error("an asynchronous copy reads memory that is not pinned");
}

// ---- order ----------------------------------------------------------------------------------------------------------

namespace
{

using CudaEmulation::WorkKind;

CudaEmulation::Stream& StreamOf(GpuStream stream)
{
    return *static_cast<CudaEmulation::Stream*>(stream);
}

CudaEmulation::Event& EventOf(GpuEvent event)
{
    return *static_cast<CudaEmulation::Event*>(event);
}

} // namespace

void EmulatedRuntime::FreeStream(GpuStream stream) noexcept
{
    m_streams.FreeStream(&StreamOf(stream));
}

void EmulatedRuntime::Synchronize(GpuStream stream)
{
    m_streams.Synchronize(StreamOf(stream));
}

void EmulatedRuntime::FreeEvent(GpuEvent event) noexcept
{
    m_streams.FreeEvent(&EventOf(event));
}

void EmulatedRuntime::Record(GpuEvent event, GpuStream stream)
{
    m_streams.Record(EventOf(event), StreamOf(stream));
}

void EmulatedRuntime::Wait(GpuEvent event)
{
    m_streams.Synchronize(EventOf(event));
}

void EmulatedRuntime::WaitFor(GpuStream stream, GpuEvent event)
{
    m_streams.WaitFor(StreamOf(stream), EventOf(event));
}

void EmulatedRuntime::BeginCapture(GpuStream stream)
{
    m_streams.BeginCapture(StreamOf(stream));
}

GpuGraph EmulatedRuntime::EndCapture(GpuStream stream) noexcept
{
    return m_streams.EndCapture(StreamOf(stream));
}

void EmulatedRuntime::Launch(GpuGraph graph, GpuStream stream)
{
    m_streams.Launch(*static_cast<CudaEmulation::Graph*>(graph), StreamOf(stream));
}

void EmulatedRuntime::FreeGraph(GpuGraph graph) noexcept
{
    m_streams.FreeGraph(static_cast<CudaEmulation::Graph*>(graph));
}

// ---- copies ---------------------------------------------------------------------------------------------------------

namespace
{

// CUDA does not document how it captures a copy of no bytes.
void RequireSomething(const char* name, size_t bytes)
{
    if (bytes == 0)
        throw std::logic_error(Concat(name, ": of no bytes"));
}

void EnqueueCopy(void* destination, const void* source, size_t bytes, GpuStream stream)
{
    CudaEmulation::Enqueue(stream, WorkKind::Copy, [=] { std::memmove(destination, source, bytes); });
}

} // namespace

// The pinned memory is read when the copy runs.
void EmulatedRuntime::CopyFromPinned(void* destination, const void* pinned, size_t bytes, GpuStream stream)
{
    CheckPinned(pinned, bytes);
    CudaEmulation::RequireDeviceMemory("a copy from the host", destination, bytes);
    EnqueueCopy(destination, pinned, bytes, stream);
}

void EmulatedRuntime::CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream)
{
    CudaEmulation::RequireDeviceMemory("a copy to the host", source, bytes);
    EnqueueCopy(host, source, bytes, stream);
    Synchronize(stream);
}

void EmulatedRuntime::Copy(void* destination, const void* source, size_t bytes, GpuStream stream)
{
    RequireSomething("a copy", bytes);
    CudaEmulation::RequireDeviceMemory("a copy", destination, bytes);
    CudaEmulation::RequireDeviceMemory("a copy", source, bytes);
    const auto* const from = static_cast<const std::byte*>(source);
    const auto* const to = static_cast<const std::byte*>(destination);
    if (from < to + bytes && to < from + bytes)
        throw std::logic_error("source and destination of a copy overlap");
    EnqueueCopy(destination, source, bytes, stream);
}

void EmulatedRuntime::Zero(void* destination, size_t bytes, GpuStream stream)
{
    RequireSomething("memory cleared", bytes);
    CudaEmulation::RequireDeviceMemory("memory cleared", destination, bytes);
    CudaEmulation::Enqueue(stream, WorkKind::Copy, [=] { std::memset(destination, 0, bytes); });
}

// ---- the device -----------------------------------------------------------------------------------------------------

std::unique_ptr<GpuBlas> MakeEmulatedBlas()
{
    return std::make_unique<EmulatedBlas>();
}

CuDnnFunctions EmulatedCuDnn()
{
    CuDnnFunctions functions;
#define CNTK_TAKE(name) functions.name = &CuDnnEmulation::name;
    CNTK_CUDNN_FUNCTIONS(CNTK_TAKE)
#undef CNTK_TAKE
    return functions;
}

std::unique_ptr<GpuDnn> MakeEmulatedDnn(GpuContext& context, GpuMatrixMath math)
{
    return MakeDnn(EmulatedCuDnn(), context, math);
}

std::shared_ptr<Device> MakeEmulatedGpu(std::unique_ptr<EmulatedRuntime> runtime, const GpuRequest& request,
                                        EmulatedDnn dnn)
{
    const DnnMaker makeDnn = [](GpuContext& context) { return MakeEmulatedDnn(context); };
    return FindGpu(request, std::move(runtime), MakeEmulatedBlas, dnn == EmulatedDnn::There ? makeDnn : DnnMaker());
}

std::shared_ptr<Device> MakeEmulatedGpu(EmulatedMemory memory, size_t memoryBytes, WorkOrder order, EmulatedDnn dnn)
{
    return MakeEmulatedGpu(std::make_unique<EmulatedRuntime>(memory, memoryBytes, order), {0}, dnn);
}

} // namespace cntk
