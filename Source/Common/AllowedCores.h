// Number of cores that this process may use, by its CPU affinity and the CPU quota of its control groups.
#pragma once

#include <string>

namespace cntk
{

int AllowedCores(); // at least 1

// CPU quota of the control groups in cores, rounded up; 0: no limit. membership: the text of /proc/self/cgroup. root:
// the folder of the groups (/sys/fs/cgroup). Supports both versions of control groups and includes enclosing groups.
int CoresOfQuota(const std::string& membership, const std::string& root);

} // namespace cntk
