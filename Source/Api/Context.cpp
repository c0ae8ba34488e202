// Devices and their locks.
#include "Api/Context.h"

#include "Common/Error.h"

#include <unistd.h>
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
    DeviceLock* lock = nullptr;
    {
        const std::lock_guard guard(m_mutex);
        std::unique_ptr<DeviceLock>& entry = m_locks[&device];
        if (entry == nullptr)
        {
            entry = std::make_unique<DeviceLock>();
            entry->process = int(getpid());
        }
        lock = entry.get();
    }
    if (lock->process != int(getpid()))
        Fail(ErrorKind::Device, device.Describe(),
             " was used before this process was forked, and its threads do not exist here; expected a process that was "
             "started anew (multiprocessing: the method 'spawn'), or graphs with parameters on a device of its own");
    return std::unique_lock(lock->mutex);
}

} // namespace cntk::Api
