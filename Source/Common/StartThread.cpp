#include "Common/StartThread.h"

#include "Common/Error.h"
#include "Common/FreeMemory.h"

#include <cstddef>
#include <pthread.h>
#include <system_error>
#include <utility>

namespace cntk
{

namespace
{

size_t StackBytes()
{
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (pthread_getattr_default_np(&attributes) != 0)
        return 0;
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes;
}

// The system gives the same reason for a lack of memory and for the limit of processes.
[[noreturn]] void Refuse(const std::system_error& error)
{
    const size_t stackBytes = StackBytes(), freeBytes = FreeHostMemory();
    if (freeBytes != 0 && freeBytes < stackBytes)
        Fail(ErrorKind::Device, "out of memory: the stack of a thread needs ", stackBytes, " bytes, ", freeBytes,
             " are free; raise the limit of memory (ulimit -v), or use fewer threads");
    Fail(ErrorKind::Device, "cannot start a thread: ", error.code().message(),
         "; raise the limit of processes (ulimit -u, or of the container), or use fewer threads");
}

} // namespace

std::thread StartThread(std::function<void()> body)
{
    try
    {
        return std::thread(std::move(body));
    }
    catch (const std::system_error& error)
    {
        Refuse(error);
    }
}

std::future<void> StartTask(std::function<void()> body)
{
    try
    {
        return std::async(std::launch::async, std::move(body));
    }
    catch (const std::system_error& error)
    {
        Refuse(error);
    }
}

} // namespace cntk
