// Runs the threads of a block as fibers. A fiber runs one thread after another until one waits, so that kernels without
// barriers need a single fiber. A waiting thread keeps its fiber, and another fiber runs the remaining threads.
#include "CudaEmulation/CudaEmulation.h"

#include "CudaEmulation/EmulatedStreams.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace CudaEmulation
{

namespace
{

constexpr size_t c_stackBytes = 128 * 1024;
constexpr unsigned c_warpSize = 32;
constexpr size_t c_slotBytes = 16;
// A card has 65536 registers per block and refuses blocks that need more. At 255 registers per thread, that is 256
// threads.
constexpr unsigned c_mostThreadsOfAnyKernel = 256;

// ---- switching stacks -----------------------------------------------------------------------------------------------

#if defined(__x86_64__)
// swapcontext without the system call for the signal mask, which takes a hundred times as long.
struct Context
{
    void* stackPointer = nullptr;

    void Start(char* stack, size_t bytes, void (*entry)())
    {
        // The switch returns to the address on top of the stack: the entry.
        void** top = reinterpret_cast<void**>((reinterpret_cast<uintptr_t>(stack) + bytes) / 16 * 16);
        *--top = nullptr;
        *--top = reinterpret_cast<void*>(entry);
        for (int i = 0; i < 6; ++i)
            *--top = nullptr;
        stackPointer = top;
    }
};

extern "C" void CudaEmulationSwitch(void** from, void* to);
asm(R"(.pushsection .text

.type CudaEmulationSwitch, @function
CudaEmulationSwitch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size CudaEmulationSwitch, .-CudaEmulationSwitch
.popsection
)");

void Switch(Context& from, Context& to)
{
    CudaEmulationSwitch(&from.stackPointer, to.stackPointer);
}
#else
struct Context
{
    ucontext_t context{};

    void Start(char* stack, size_t bytes, void (*entry)())
    {
        getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = bytes;
        context.uc_link = nullptr;
        makecontext(&context, entry, 0);
    }
};

void Switch(Context& from, Context& to)
{
    swapcontext(&from.context, &to.context);
}
#endif

// ---- one block ------------------------------------------------------------------------------------------------------

struct Fiber
{
    Context context{};
    std::unique_ptr<char[]> stack{new char[c_stackBytes]};
    unsigned thread = 0; // valid only while it waits
    const void* from = nullptr;
    size_t fromBytes = 0;
};

enum class Wait : uint8_t
{
    None,
    Block,
    Warp,
    Done
};

// The block that runs on this host thread.
class Block
{
public:
    void Run(const char* name, dim3 block, dim3 blocks, dim3 size, bool backwards, const std::function<void()>& kernel);

    void Park(Wait wait)
    {
        Fiber& fiber = *m_running;
        fiber.thread = m_thread;
        m_waits[m_thread] = wait;
        ++WaitingWith(m_thread);
        m_parked.push_back(&fiber);
        SwitchToScheduler(fiber);
        SetPlace(fiber.thread);
    }
    unsigned Thread() const { return m_thread; }
    char* SlotOf(unsigned thread, unsigned parity) { return &m_slots[(thread * 2 + parity) * c_slotBytes]; }
    unsigned char& Parity(unsigned thread) { return m_parity[thread]; }
    unsigned Threads() const { return m_count; }

private:
    static void Enter();
    void Work(Fiber& fiber);
    void SetPlace(unsigned thread);
    void SwitchTo(Fiber& fiber);
    void SwitchToScheduler(Fiber& fiber);
    // The number of threads that wait at the same barrier as this thread.
    unsigned& WaitingWith(unsigned thread)
    {
        return m_waits[thread] == Wait::Block ? m_waitingAtBlock : m_waitingInWarp[thread / c_warpSize];
    }
    bool MayResume(unsigned thread);
    [[noreturn]] void FailStuck(const char* name);

    const std::function<void()>* m_kernel = nullptr;
    dim3 m_size;
    unsigned m_count = 0;
    unsigned m_next = 0; // the next thread to start
    bool m_backwards = false;
    unsigned m_thread = 0;
    Fiber* m_running = nullptr;
    Context m_scheduler{};
#if defined(__SANITIZE_ADDRESS__)
    const void* m_schedulerStack = nullptr;
    size_t m_schedulerBytes = 0;
#endif
    std::vector<std::unique_ptr<Fiber>> m_fibers;
    std::vector<Fiber*> m_idle;
    std::vector<Fiber*> m_parked;
    std::vector<Wait> m_waits;
    unsigned m_waitingAtBlock = 0;
    std::vector<unsigned> m_waitingInWarp;
    std::vector<char> m_slots;
    std::vector<unsigned char> m_parity;
    std::exception_ptr m_problem;
};

thread_local Block t_block;
thread_local uint64_t t_launches = 0;
thread_local std::string t_broken;

struct Region
{
    void* begin;
    size_t bytes;
};
thread_local std::vector<Region> t_regions;
thread_local std::map<const char*, size_t> t_deviceMemory; // bytes by address
thread_local int t_accesses = 0;

void Protect(int protection)
{
    for (const Region& region : t_regions)
        if (mprotect(region.begin, region.bytes, protection) != 0)
            throw std::logic_error("emulated device memory cannot be locked");
}

void Block::Enter()
{
    t_block.Work(*t_block.m_running);
}

void Block::SetPlace(unsigned thread)
{
    m_thread = thread;
    g_place.thread = dim3(thread % m_size.x, thread / m_size.x % m_size.y, thread / m_size.x / m_size.y);
}

void Block::Work(Fiber& fiber)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &m_schedulerStack, &m_schedulerBytes);
#endif
    for (;;)
    {
        while (m_next < m_count && !m_problem)
        {
            const unsigned thread = m_backwards ? m_count - 1 - m_next : m_next;
            ++m_next;
            SetPlace(thread);
            try
            {
                (*m_kernel)();
            }
            catch (...)
            {
                m_problem = std::current_exception();
            }
            m_waits[m_thread] = Wait::Done;
        }
        m_idle.push_back(&fiber);
        SwitchToScheduler(fiber); // resumes with the next block
    }
}

void Block::SwitchTo(Fiber& fiber)
{
    m_running = &fiber;
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, fiber.stack.get(), c_stackBytes);
#endif
    Switch(m_scheduler, fiber.context);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Block::SwitchToScheduler(Fiber& fiber)
{
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, m_schedulerStack, m_schedulerBytes);
#endif
    Switch(fiber.context, m_scheduler);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, &m_schedulerStack, &m_schedulerBytes);
#endif
    m_running = &fiber;
}

bool Block::MayResume(unsigned thread)
{
    const unsigned first = thread / c_warpSize * c_warpSize;
    const unsigned all = m_waits[thread] == Wait::Block ? m_count : std::min(c_warpSize, m_count - first);
    return WaitingWith(thread) == all;
}

void Block::FailStuck(const char* name)
{
    const size_t stuck = m_parked.size();
    m_parked.clear(); // abandons their fibers
    const auto left = std::count(m_waits.begin(), m_waits.end(), Wait::Done);
    throw std::logic_error(std::string(name) + ": " + std::to_string(stuck) + " threads of a block of " +
                           std::to_string(m_count) + " wait for others that do not come; " + std::to_string(left) +
                           " have left the kernel");
}

void Block::Run(const char* name, dim3 block, dim3 blocks, dim3 size, bool backwards,
                const std::function<void()>& kernel)
{
    m_kernel = &kernel;
    m_size = size;
    m_count = size.x * size.y * size.z;
    m_next = 0;
    m_backwards = backwards;
    m_problem = nullptr;
    m_waits.assign(m_count, Wait::None);
    m_parity.assign(m_count, 0);
    m_waitingAtBlock = 0;
    m_waitingInWarp.assign((m_count + c_warpSize - 1) / c_warpSize, 0);
    m_slots.resize(size_t(m_count) * 2 * c_slotBytes);
    g_place = {dim3(0, 0, 0), block, size, blocks};

    std::vector<Fiber*> ready;
    for (;;)
    {
        if (m_next < m_count && !m_problem)
        {
            if (m_idle.empty())
            {
                Fiber& fiber = *m_fibers.emplace_back(std::make_unique<Fiber>());
                fiber.context.Start(fiber.stack.get(), c_stackBytes, &Block::Enter);
                m_idle.push_back(&fiber);
            }
            Fiber* const fiber = m_idle.back();
            m_idle.pop_back();
            SwitchTo(*fiber);
            continue;
        }
        if (m_parked.empty() || m_problem)
            break;
        ready.clear();
        std::copy_if(m_parked.begin(), m_parked.end(), std::back_inserter(ready),
                     [&](const Fiber* fiber) { return MayResume(fiber->thread); });
        if (ready.empty())
            FailStuck(name);
        m_parked.erase(std::remove_if(m_parked.begin(), m_parked.end(),
                                      [&](const Fiber* fiber) { return MayResume(fiber->thread); }),
                       m_parked.end());
        for (const Fiber* fiber : ready)
        {
            --WaitingWith(fiber->thread);
            m_waits[fiber->thread] = Wait::None;
        }
        for (Fiber* fiber : ready)
            SwitchTo(*fiber);
    }
    m_parked.clear();
    if (m_problem)
        std::rethrow_exception(m_problem);
}

} // namespace

void AddRegion(void* region, size_t bytes)
{
    t_regions.push_back({region, bytes});
}

void RemoveRegion(void* region)
{
    std::erase_if(t_regions, [&](const Region& other) { return other.begin == region; });
}

void AddDeviceMemory(void* memory, size_t bytes)
{
    t_deviceMemory.emplace(static_cast<const char*>(memory), bytes);
}

void RemoveDeviceMemory(void* memory)
{
    t_deviceMemory.erase(static_cast<const char*>(memory));
}

size_t DeviceBytes(const void* memory)
{
    const char* const at = static_cast<const char*>(memory);
    auto behind = t_deviceMemory.upper_bound(at);
    if (behind == t_deviceMemory.begin())
        return 0;
    --behind;
    const size_t offset = size_t(at - behind->first);
    return offset < behind->second ? behind->second - offset : 0;
}

void RequireDeviceMemory(const char* name, const void* memory, size_t bytes)
{
    if (DeviceBytes(memory) < bytes)
        throw std::logic_error(std::string(name) + ": a card would reach for " + std::to_string(bytes) +
                               " bytes that are not its memory");
}

DeviceAccess::DeviceAccess()
{
    if (t_accesses++ == 0)
        Protect(PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess()
{
    if (--t_accesses == 0)
        Protect(PROT_NONE);
}

unsigned Lane()
{
    return t_block.Thread() % c_warpSize;
}

void SyncBlock()
{
    t_block.Park(Wait::Block);
}

// Each thread alternates between two slots, which suffices because a thread is at most one exchange ahead of another
// one.
void Exchange(unsigned sourceLane, void* value, size_t bytes)
{
    const unsigned thread = t_block.Thread();
    const unsigned parity = t_block.Parity(thread);
    std::memcpy(t_block.SlotOf(thread, parity), value, bytes);
    t_block.Parity(thread) = static_cast<unsigned char>(1 - parity);
    t_block.Park(Wait::Warp);
    const unsigned first = thread / c_warpSize * c_warpSize;
    const unsigned source = first + sourceLane;
    if (first + c_warpSize > t_block.Threads())
        throw std::logic_error("a shuffle's mask names lanes that the block does not have");
    if (sourceLane >= c_warpSize)
        throw std::logic_error("a shuffle reads a lane that the warp does not have");
    std::memcpy(value, t_block.SlotOf(source, parity), bytes);
}

void BreakKernel(const std::string& name)
{
    t_broken = name;
}

bool IsBroken(const std::string& name)
{
    return name == t_broken;
}

static uint64_t CheckedBlocks(const char* name, dim3 blocks, dim3 threads)
{
    const unsigned perBlock = threads.x * threads.y * threads.z;
    const uint64_t count = uint64_t(blocks.x) * blocks.y * blocks.z;
    if (count == 0 || blocks.x > 0x7fffffffu || blocks.y > 65535 || blocks.z > 65535 || perBlock == 0 ||
        perBlock > 1024 || threads.z > 64)
        throw std::logic_error(std::string(name) + ": a card refuses a launch of this size");
    if (perBlock > c_mostThreadsOfAnyKernel)
        throw std::logic_error(std::string(name) + ": whether a card has registers for so many threads is not known");
    return count;
}

void Launch(const char* name, void* stream, dim3 blocks, dim3 threads, std::function<void()> kernel)
{
    CheckedBlocks(name, blocks, threads);
    Enqueue(stream, WorkKind::Kernel,
            [name, blocks, threads, kernel = std::move(kernel)] { Run(name, blocks, threads, kernel); });
}

void Run(const char* name, dim3 blocks, dim3 threads, const std::function<void()>& kernel)
{
    const uint64_t count = CheckedBlocks(name, blocks, threads);
    const DeviceAccess access;
    const bool backwards = t_launches++ % 2 == 1;
    const uint64_t missing = IsBroken(name) ? count - 1 : count;
    for (uint64_t i = 0; i < count; ++i)
    {
        const uint64_t at = backwards ? count - 1 - i : i;
        if (at == missing)
            continue;
        const dim3 block(unsigned(at % blocks.x), unsigned(at / blocks.x % blocks.y),
                         unsigned(at / blocks.x / blocks.y));
        t_block.Run(name, block, blocks, threads, backwards, kernel);
    }
}

} // namespace CudaEmulation
