// The CPU as a device: how many threads, which instruction sets.
#include "Common/Error.h"
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/Gemm.h"
#include "Math/HostDevice.h"

#include <algorithm>
#include <sched.h>

namespace cntk
{

namespace
{

int AllowedCores()
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return 1;
    return std::max(CPU_COUNT(&allowed), 1);
}

class CpuDevice final : public HostDevice
{
public:
    explicit CpuDevice(int threads) : m_threads(threads), m_kernels(threads) {}

    std::string Describe() const override
    {
        return Concat("CPU (", m_threads, m_threads == 1 ? " thread, " : " threads, ", DescribeGemm(), ")");
    }
    Kernels& GetKernels() override { return m_kernels; }

private:
    int m_threads;
    CpuKernels m_kernels;
};

} // namespace

std::shared_ptr<Device> MakeCpuDevice(const CpuOptions& options)
{
    const int allowed = AllowedCores();
    return std::make_shared<CpuDevice>(options.threads > 0 ? std::min(options.threads, allowed) : allowed);
}

} // namespace cntk
