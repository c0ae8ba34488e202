// Affinity and quotas. What cannot be read sets no limit: a system without control groups is nothing to fail on.
#include "Common/AllowedCores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <sched.h>
#include <sstream>

namespace cntk
{

namespace
{

constexpr double c_noLimit = std::numeric_limits<double>::infinity();

// "50000 100000": microseconds of each period; "max 100000", or no such file: no limit.
double ShareOf(const std::string& file)
{
    std::ifstream in(file);
    double quota = 0;
    double period = 0;
    return in >> quota >> period && quota > 0 && period > 0 ? quota / period : c_noLimit;
}

// The older form: two files, a quota of -1 for none.
double ShareOf(const std::string& quotaFile, const std::string& periodFile)
{
    std::ifstream quotaIn(quotaFile);
    std::ifstream periodIn(periodFile);
    double quota = 0;
    double period = 0;
    return quotaIn >> quota && periodIn >> period && quota > 0 && period > 0 ? quota / period : c_noLimit;
}

bool HasCpu(const std::string& controllers)
{
    std::istringstream in(controllers);
    for (std::string name; std::getline(in, name, ',');)
        if (name == "cpu")
            return true;
    return false;
}

// The least of a group and all that enclose it, up to the root: in a container the path may be the host's, and only
// the root is there.
template <class ShareOfFolder>
double LeastUpwards(std::string path, ShareOfFolder&& shareOf)
{
    double least = c_noLimit;
    for (;;)
    {
        while (!path.empty() && path.back() == '/')
            path.pop_back();
        least = std::min(least, shareOf(path));
        if (path.empty())
            return least;
        path.erase(std::min(path.rfind('/'), path.size() - 1));
    }
}

} // namespace

int CoresOfQuota(const std::string& membership, const std::string& root)
{
    double least = c_noLimit;
    std::istringstream lines(membership);
    for (std::string line; std::getline(lines, line);)
    {
        // "4:cpu,cpuacct:/path", or "0::/path" for all controllers of the newer form.
        const size_t first = line.find(':');
        const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (controllers.empty())
            least = std::min(least, LeastUpwards(path, [&](const std::string& folder)
                                                 { return ShareOf(root + folder + "/cpu.max"); }));
        else if (HasCpu(controllers))
            for (const std::string& mount : {root + "/cpu", root + "/" + controllers})
                least = std::min(least, LeastUpwards(path,
                                                     [&](const std::string& folder) {
                                                         return ShareOf(mount + folder + "/cpu.cfs_quota_us",
                                                                        mount + folder + "/cpu.cfs_period_us");
                                                     }));
    }
    return least < 1e6 ? std::max(1, int(std::ceil(least))) : 0;
}

int AllowedCores()
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    const int affinity = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? std::max(CPU_COUNT(&allowed), 1) : 1;
    std::ifstream in("/proc/self/cgroup");
    const std::string membership{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const int quota = CoresOfQuota(membership, "/sys/fs/cgroup");
    return quota > 0 ? std::min(affinity, quota) : affinity;
}

} // namespace cntk
