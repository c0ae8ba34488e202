// Affinity and quotas. A file that cannot be read sets no limit, because a system may have no control groups.
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

// Version 2: "50000 100000" is quota and period in microseconds. "max 100000" or a missing file is no limit.
double ShareOf(const std::string& file)
{
    std::ifstream in(file);
    double quota = 0;
    double period = 0;
    return in >> quota >> period && quota > 0 && period > 0 ? quota / period : c_noLimit;
}

// Version 1: quota and period in two files. A quota of -1 is no limit.
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

// Returns the smallest share of a group and its enclosing groups. In a container the path may be that of the host,
// where only the root of the groups exists.
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
        // "4:cpu,cpuacct:/path" in version 1, "0::/path" for all controllers in version 2.
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
