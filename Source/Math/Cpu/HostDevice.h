// The base of devices that compute in host memory: aligned memory and plain copies.
#pragma once

#include "Math/Cpu/LargePages.h"
#include "Math/Device.h"

namespace cntk
{

class HostDevice : public Device
{
public:
    DeviceId Id() const override { return c_cpuDevice; }
    void* Allocate(size_t bytes) override;
    void Free(void* memory) noexcept override;
    void CopyFromHost(void* destination, const void* host, size_t bytes) override;
    void CopyToHost(void* host, const void* source, size_t bytes) override;
    void Copy(void* destination, const void* source, size_t bytes) override;
    void Zero(void* destination, size_t bytes) override;
    void Synchronize() override {}
    bool IsHostMemory() const override { return true; }

private:
    LargePages m_pages;
};

} // namespace cntk
