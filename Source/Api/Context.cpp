// Devices and their locks.
#include "Api/Context.h"

#include <utility>

namespace cntk::Api
{

std::shared_ptr<Device> Context::CurrentDevice()
{
    const std::lock_guard guard(m_mutex);
    if (m_device == nullptr)
        m_device = MakeCpuDevice();
    return m_device;
}

void Context::UseDevice(std::shared_ptr<Device> device)
{
    const std::lock_guard guard(m_mutex);
    m_device = std::move(device);
}

std::unique_lock<std::recursive_mutex> Context::Lock(const Device& device)
{
    std::recursive_mutex* mutex = nullptr;
    {
        const std::lock_guard guard(m_mutex);
        std::unique_ptr<std::recursive_mutex>& entry = m_locks[&device];
        if (entry == nullptr)
            entry = std::make_unique<std::recursive_mutex>();
        mutex = entry.get();
    }
    return std::unique_lock(*mutex);
}

} // namespace cntk::Api
