#include "Common/StartThread.h"

#include "Common/Error.h"

#include <system_error>
#include <utility>

namespace cntk
{

std::thread StartThread(std::function<void()> body)
{
    try
    {
        return std::thread(std::move(body));
    }
    catch (const std::system_error& error)
    {
        Fail(ErrorKind::Device, "cannot start a thread: ", error.code().message(),
             "; raise the limit of processes (ulimit -u, or of the container), or use fewer threads");
    }
}

} // namespace cntk
