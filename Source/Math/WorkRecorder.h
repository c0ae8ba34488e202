// Work that a device keeps and repeats with one call: CUDA graphs. Devices whose calls cost nothing have no recorder.
#pragma once

#include <cstdint>
#include <memory>

namespace cntk
{

// With the addresses and arguments that it had; numbers that change from one time to the next are taken anew
// (WorkRecorder::BeginRepeat).
class RecordedWork
{
public:
    virtual ~RecordedWork() = default;
};

class WorkRecorder
{
public:
    virtual ~WorkRecorder() = default;

    // Grows with everything done that cannot be recorded: the host waited, or gave what another time would not be the
    // same. The reason is that of the last.
    virtual uint64_t Obstacles() const = 0;
    virtual const char* LastObstacle() const = 0;

    // From now on work is kept instead of run; what cannot be kept is an Error of kind Device. False: not possible now.
    virtual bool Begin() = 0;
    // Ends it and runs what was kept. Null: nothing was run, and nothing kept.
    virtual std::unique_ptr<RecordedWork> End() = 0;
    virtual void Abandon() noexcept = 0;

    // False once memory has been given back that the work may use.
    virtual bool IsValid(const RecordedWork& work) const = 0;
    // From now on nothing is run; only the numbers of work whose numbers change are taken, in its order.
    virtual void BeginRepeat(RecordedWork& work) = 0;
    // Runs the work with them. False: they do not fit the work, and nothing was run.
    virtual bool EndRepeat() = 0;
    virtual void AbandonRepeat() noexcept = 0;

    // One line for the log, where somebody reads it; the same one once.
    virtual void Report(const char* what, const char* why) = 0;
};

} // namespace cntk
