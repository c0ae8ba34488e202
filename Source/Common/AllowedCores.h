// How many cores this process may use: those it may run on, and no more than its control groups give it time for.
#pragma once

#include <string>

namespace cntk
{

int AllowedCores(); // at least 1

// Cores' worth of time that control groups allow, rounded up; 0: no limit. membership: what /proc/self/cgroup says;
// root: where the groups lie (/sys/fs/cgroup). Both versions of control groups, the enclosing groups included.
int CoresOfQuota(const std::string& membership, const std::string& root);

} // namespace cntk
