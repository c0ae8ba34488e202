// Processes that train one network together. Each process runs the same config, and all exchanges use this interface.
// Functions that communicate are collective: all workers call them in the same order.
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

    // From 0. The first worker writes the files and the log.
    virtual size_t Rank() const = 0;
    virtual size_t Count() const = 0;
    virtual size_t CountOnThisMachine() const = 0;
    // "OpenMPI 4.1.4", for the log.
    virtual std::string Describe() const = 0;

    // Sends sent[i] to worker i and receives received[i] from worker i, Count() of each. Sizes must match those of the
    // other side and may be 0. The elements of the own rank are ignored.
    virtual void Exchange(std::span<const std::span<const std::byte>> sent,
                          std::span<const std::span<std::byte>> received) = 0;
    // Returns when all workers have called it. A long wait leaves the cores free.
    virtual void Wait() = 0;

    // Returns an independent channel between the same workers, for another thread. Fails (Device) if MPI does not
    // support threads.
    virtual std::unique_ptr<Workers> Another() = 0;

    // Ends all workers immediately.
    [[noreturn]] virtual void Abort(int exitCode) = 0;

    bool IsFirst() const { return Rank() == 0; }
    // Gathers equally long pieces of all workers in the order of ranks: own.size() * Count() bytes.
    void Gather(std::span<const std::byte> own, std::span<std::byte> all);
    std::vector<double> Gather(double own);
    std::vector<std::string> Gather(const std::string& own);
    // True if `own` is true on any worker.
    bool Any(bool own);
    // Copies the bytes of worker `rank` to all workers.
    void Take(size_t rank, std::span<std::byte> bytes);
    void TakeFirst(std::span<std::byte> bytes) { Take(0, bytes); }
};

// True if mpiexec, srun or the like started the process as one of several.
bool IsStartedAsWorker();
// Rank by the environment of the launcher, known before MeetWorkers; 0 if unknown.
size_t RankByLauncher();
// Number of processes by the environment of the launcher; 1 if unknown.
size_t CountByLauncher();
// Connects to the other processes of the launch. Returns null if there are none. Fails (Device) if the MPI library is
// missing. The destructor closes the connection.
std::unique_ptr<Workers> MeetWorkers();

// Describes the support for parallel training, for --version: "not built in", "built in ('path')", or the reason why
// the library cannot be opened.
std::string DescribeWorkersLibrary();

// The library that MeetWorkers opens at run time. Only this library needs MPI.
constexpr const char* c_workersLibrary = "libcntkmpi.so";
constexpr const char* c_workersFunction = "CntkMeetWorkers";
// interface: the caller's c_workersInterface. Returns null with the reason in *problem if the versions differ or MPI
// fails.
using MeetWorkersFunction = Workers*(int interface, std::string* problem);
constexpr int c_workersInterface = 2;

} // namespace cntk
