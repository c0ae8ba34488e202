#include "Common/FreeMemory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace cntk
{

size_t FreeHostMemory()
{
    size_t available = 0;
    std::ifstream system("/proc/meminfo");
    for (std::string name, rest; system >> name; std::getline(system, rest))
        if (name == "MemAvailable:" && system >> available)
            break;
    available *= 1024;
    rlimit limit{};
    size_t pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        std::ifstream("/proc/self/statm") >> pages)
    {
        const size_t used = pages * size_t(sysconf(_SC_PAGESIZE));
        available = std::min(available, size_t(limit.rlim_cur) - std::min(used, size_t(limit.rlim_cur)));
    }
    return available;
}

} // namespace cntk
