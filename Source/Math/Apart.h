// Tasks that each compute on a part of their own: a backend with threads runs them side by side.
#pragma once

#include "Math/Device.h"
#include "Math/Kernels.h"

#include <cstddef>
#include <memory>

namespace cntk::Ops
{

// How many tasks the device runs at the same time.
inline size_t ThreadsApart(Device& device)
{
    return device.GetKernels().ThreadsApart();
}

// Calls task(i) for each i in [0, tasks). Tasks call element-wise operations, copies, fills, lookups and products
// alone, touch nothing that another one writes, and do not throw.
template <class Task>
void RunApart(Device& device, size_t tasks, const Task& task)
{
    device.GetKernels().RunApart(
        tasks, [](const void* body, size_t index) { (*static_cast<const Task*>(body))(index); }, std::addressof(task));
}

} // namespace cntk::Ops
