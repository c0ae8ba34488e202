// The CPU as a device: how many threads, which instruction sets.
#include "Math/Cpu/CpuDevice.h"

#include "Common/AllowedCores.h"
#include "Common/Error.h"
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/HostDevice.h"

#include <algorithm>
#include <cstdlib>

namespace cntk
{

namespace
{

class CpuDevice final : public HostDevice
{
public:
    CpuDevice(InstructionSet instructionSet, const CpuOptions& options)
        : m_pool(options.threads), m_instructionSet(instructionSet),
          m_kernels(m_pool, KernelsFor(instructionSet), options.matrixEngine)
    {
        m_kernels.Products().TraceTo(options.trace);
    }

    std::string Describe() const override
    {
        const int threads = m_pool.Threads();
        return Concat("CPU (", threads, threads == 1 ? " thread, " : " threads, ", NameOf(m_instructionSet),
                      "; products: ", m_kernels.Products().Describe(), ")");
    }
    Kernels& GetKernels() override { return m_kernels; }

private:
    ThreadPool m_pool;
    InstructionSet m_instructionSet;
    CpuKernels m_kernels;
};

} // namespace

std::shared_ptr<Device> MakeCpuDevice(const CpuOptions& options)
{
    const int allowed = AllowedCores();
    CpuOptions resolved = options;
    resolved.threads = options.threads > 0 ? std::min(options.threads, allowed) : allowed;
#ifdef __SANITIZE_THREAD__ // one thread has no races, and a machine may have few cores
    if (const char* const threads = std::getenv("CNTK_TSAN_THREADS"))
        resolved.threads = std::max(std::atoi(threads), 1);
#endif
    return std::make_shared<CpuDevice>(BestInstructionSet(), resolved);
}

std::shared_ptr<Device> MakeCpuDeviceWith(InstructionSet instructionSet, int threads, GemmTrace trace)
{
    return std::make_shared<CpuDevice>(instructionSet, CpuOptions{.threads = threads, .trace = std::move(trace)});
}

} // namespace cntk
