// Quotas of control groups: both versions, enclosing groups, none at all.
#include "Common/AllowedCores.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace cntk
{
namespace
{

class AllowedCoresTests : public testing::Test
{
protected:
    AllowedCoresTests()
        : m_root(std::filesystem::temp_directory_path() /
                 ("AllowedCoresTests." + std::to_string(getpid()) + "." +
                  testing::UnitTest::GetInstance()->current_test_info()->name()))
    {
        std::filesystem::create_directories(m_root);
    }
    ~AllowedCoresTests() override { std::filesystem::remove_all(m_root); }

    void Write(const std::string& name, const std::string& text)
    {
        std::filesystem::create_directories((m_root / name).parent_path());
        std::ofstream(m_root / name) << text << "\n";
    }
    int Cores(const std::string& membership) const { return CoresOfQuota(membership, m_root.string()); }

    std::filesystem::path m_root;
};

TEST_F(AllowedCoresTests, NoGroupsSetNoLimit)
{
    EXPECT_EQ(Cores(""), 0);
    EXPECT_EQ(Cores("0::/somewhere\n1:cpu:/\nno group\n"), 0);
}

TEST_F(AllowedCoresTests, TheNewerForm)
{
    Write("job/cpu.max", "200000 100000");
    EXPECT_EQ(Cores("0::/job\n"), 2);
    Write("job/cpu.max", "250000 100000");
    EXPECT_EQ(Cores("0::/job\n"), 3);
    Write("job/cpu.max", "1000 100000");
    EXPECT_EQ(Cores("0::/job\n"), 1);
    Write("job/cpu.max", "max 100000");
    EXPECT_EQ(Cores("0::/job\n"), 0);
}

TEST_F(AllowedCoresTests, EnclosingGroupsCount)
{
    Write("box/cpu.max", "100000 50000");
    Write("box/job/cpu.max", "800000 100000");
    EXPECT_EQ(Cores("0::/box/job\n"), 2);
    Write("box/job/cpu.max", "max 100000");
    EXPECT_EQ(Cores("0::/box/job\n"), 2);
    EXPECT_EQ(Cores("0::/elsewhere\n"), 0);
}

// A container may see the path of its group on the host, and the group itself as the root.
TEST_F(AllowedCoresTests, TheRootCountsWherePathsAreNotThere)
{
    Write("cpu.max", "300000 100000");
    EXPECT_EQ(Cores("0::/of/the/host\n"), 3);
}

TEST_F(AllowedCoresTests, TheOlderForm)
{
    Write("cpu,cpuacct/job/cpu.cfs_quota_us", "150000");
    Write("cpu,cpuacct/job/cpu.cfs_period_us", "100000");
    EXPECT_EQ(Cores("5:memory:/job\n4:cpu,cpuacct:/job\n"), 2);
    EXPECT_EQ(Cores("4:cpuset:/job\n"), 0);
    Write("cpu,cpuacct/job/cpu.cfs_quota_us", "-1");
    EXPECT_EQ(Cores("4:cpu,cpuacct:/job\n"), 0);
    Write("cpu/job/cpu.cfs_quota_us", "400000");
    Write("cpu/job/cpu.cfs_period_us", "100000");
    EXPECT_EQ(Cores("1:cpu:/job\n"), 4);
}

TEST_F(AllowedCoresTests, AffinityCounts)
{
    int cores = 0;
    std::thread(
        [&]
        {
            cpu_set_t all;
            CPU_ZERO(&all);
            ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
            int first = 0;
            while (!CPU_ISSET(first, &all))
                ++first;
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(first, &one);
            ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0); // of this thread
            cores = AllowedCores();
        })
        .join();
    EXPECT_EQ(cores, 1);
}

} // namespace
} // namespace cntk
