#include "Common/Error.h"
#include "Common/StartThread.h"
#include "CommonTests/ThrownErrors.h"

#include <cstddef>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdexcept>

namespace cntk
{

namespace
{

// Gives new threads a stack that no address space has room for.
class HugeStacks
{
public:
    HugeStacks()
    {
        EXPECT_EQ(pthread_getattr_default_np(&m_before), 0);
        pthread_attr_t huge = m_before;
        EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t(1) << 50), 0);
        EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    }
    ~HugeStacks() { EXPECT_EQ(pthread_setattr_default_np(&m_before), 0); }

private:
    pthread_attr_t m_before = {};
};

} // namespace

TEST(StartThread, MemoryThatLacksForTheStackIsReported)
{
    const HugeStacks stacks;
    const auto lacksMemory =
        testing::ContainsRegex("^out of memory: the stack of a thread needs 1125899906842624 bytes, "
                               "[0-9]+ are free; ");
    EXPECT_THAT(MessageOf(ErrorKind::Device, [] { StartThread([] {}).join(); }), lacksMemory);
    EXPECT_THAT(MessageOf(ErrorKind::Device, [] { StartTask([] {}).get(); }), lacksMemory);
}

TEST(StartThread, ATaskPassesItsExceptionOn)
{
    std::future<void> task = StartTask([] { throw std::runtime_error("why"); });
    EXPECT_THROW(task.get(), std::runtime_error);
}

} // namespace cntk
