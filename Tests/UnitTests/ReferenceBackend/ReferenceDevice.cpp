// The device of the reference kernels.
#include "ReferenceBackend/ReferenceDevice.h"

#include "Math/Cpu/HostDevice.h"
#include "ReferenceBackend/ReferenceKernels.h"

namespace cntk
{

namespace
{

class ReferenceDevice final : public HostDevice
{
public:
    std::string Describe() const override { return "Reference (1 thread)"; }
    Kernels& GetKernels() override { return m_kernels; }

private:
    ReferenceKernels m_kernels;
};

} // namespace

std::shared_ptr<Device> MakeReferenceDevice()
{
    return std::make_shared<ReferenceDevice>();
}

} // namespace cntk
