// Processes that train one network together (engine sheet, section 16). Each runs the same config; what they exchange
// passes through here. Every function but Rank and the like is collective: all workers call it, in the same order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

class Workers
{
public:
    virtual ~Workers() = default;

    // From 0; the first one writes files and is the one that people listen to.
    virtual size_t Rank() const = 0;
    virtual size_t Count() const = 0;
    virtual size_t CountOnThisMachine() const = 0;
    // "OpenMPI 4.1.4", for the log.
    virtual std::string Describe() const = 0;

    // sent[i] goes to worker i, received[i] comes from there: Count() of each. Sizes must be those that the other side
    // expects; 0 is allowed. What a worker would send to itself is left out.
    virtual void Exchange(std::span<const std::span<const std::byte>> sent,
                          std::span<const std::span<std::byte>> received) = 0;
    // Returns when all have come here, which may be long: it leaves the cores to others.
    virtual void Wait() = 0;

    // The same workers with messages of their own, for another thread. Fails (Device) where MPI cannot do so.
    virtual std::unique_ptr<Workers> Another() = 0;

    // Ends all workers, wherever they are. Does not return.
    [[noreturn]] virtual void Abort(int exitCode) = 0;

    bool IsFirst() const { return Rank() == 0; }
    // The pieces of all workers, equally long, in the order of ranks. own.size() * Count() bytes.
    void Gather(std::span<const std::byte> own, std::span<std::byte> all);
    std::vector<double> Gather(double own);
    std::vector<std::string> Gather(const std::string& own);
    // Whether one of them says yes.
    bool Any(bool own);
    // All have that worker's afterwards.
    void Take(size_t rank, std::span<std::byte> bytes);
    void TakeFirst(std::span<std::byte> bytes) { Take(0, bytes); }
};

// Whether the process was started as one of several (mpiexec, srun).
bool IsStartedAsWorker();
// Which of them, before they have met; 0 where nothing says it.
size_t RankByLauncher();
// How many there are; 1 where nothing says it.
size_t CountByLauncher();
// Meets the other processes that were started with this one; null where it is the only one. Fails (Device) where the
// library for it is missing. At the end of the program the destructor takes leave of them.
std::unique_ptr<Workers> MeetWorkers();

// How far the library for it goes in this installation, for --version: "not built in", "built in ('path')", or why it
// cannot be opened.
std::string DescribeWorkersLibrary();

// Of the library that the above opens at run time, which alone needs MPI.
constexpr const char* c_workersLibrary = "libcntkmpi.so";
constexpr const char* c_workersFunction = "CntkMeetWorkers";
// Its argument: the caller's c_workersInterface. Null, with the reason in *problem, where it is another or MPI fails.
using MeetWorkersFunction = Workers*(int interface, std::string* problem);
constexpr int c_workersInterface = 2;

} // namespace cntk
