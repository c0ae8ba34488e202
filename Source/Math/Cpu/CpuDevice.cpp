// The CPU as a device: how many threads, which instruction sets.
#include "Math/Cpu/CpuDevice.h"

#include "Common/AllowedCores.h"
#include "Common/Error.h"
#include "Math/Cpu/CpuKernels.h"
#include "Math/HostDevice.h"

#include <algorithm>

namespace cntk
{

namespace
{

class CpuDevice final : public HostDevice
{
public:
    CpuDevice(int threads, InstructionSet instructionSet, GemmTrace trace)
        : m_pool(threads), m_instructionSet(instructionSet), m_kernels(m_pool, KernelsFor(instructionSet))
    {
        m_kernels.Products().TraceTo(std::move(trace));
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
    const int threads = options.threads > 0 ? std::min(options.threads, allowed) : allowed;
    return MakeCpuDeviceWith(BestInstructionSet(), threads, options.trace);
}

std::shared_ptr<Device> MakeCpuDeviceWith(InstructionSet instructionSet, int threads, GemmTrace trace)
{
    return std::make_shared<CpuDevice>(threads, instructionSet, std::move(trace));
}

} // namespace cntk
