// Work with the same shapes that is done again and again, as CUDA graphs: it runs as usual the first time, is recorded
// the second time and repeated with one call from then on. Devices whose calls cost nothing have no recorder.
#pragma once

#include "Math/Device.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// Recorded with its addresses and arguments. Numbers that change between repetitions are collected anew
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

    // Counts calls that cannot be recorded: the host waited, or passed data that would differ the next time.
    virtual uint64_t Obstacles() const = 0;
    virtual const char* LastObstacle() const = 0;

    // Records work from now on instead of running it. Work that cannot be recorded throws an Error of kind Device.
    // Returns false if recording is impossible now.
    virtual bool Begin() = 0;
    // Ends the recording and runs it. Null: nothing was recorded or run.
    virtual std::unique_ptr<RecordedWork> End() = 0;
    virtual void Abandon() noexcept = 0;

    // False after memory that the work may use has been freed.
    virtual bool IsValid(const RecordedWork& work) const = 0;
    // From now on runs nothing, and only collects the numbers that change, in the order of the work.
    virtual void BeginRepeat(RecordedWork& work) = 0;
    // Runs the work with them. Returns false, and runs nothing, if they do not fit the work.
    virtual bool EndRepeat() = 0;
    virtual void AbandonRepeat() noexcept = 0;

    // Writes a line to the log, each line once.
    virtual void Report(const char* what, const char* why) = 0;
};

class RepeatedWork
{
public:
    class Steps
    {
    public:
        virtual ~Steps() = default;
        virtual void Run() = 0;
        // Does the host's part of work that the device repeats, and calls the work whose numbers change. The device
        // runs nothing, so results must not be read.
        virtual void Repeat() = 0;
        // Save and restore what Run changes on the host, for attempts that fail.
        virtual void Save() {}
        virtual void Restore() {}
    };

    // name: for the log ("the forward pass").
    RepeatedWork(Device& device, std::string name);

    // False if the device does not record, or not this work; Run then needs no key.
    bool IsOn() const { return m_recorder != nullptr && !m_isOff; }
    // Excludes this work from recording. `why` goes to the log; null: no line.
    void TurnOff(const char* why);
    // Runs with the same key do the same work, except for the collected arguments.
    void Run(std::span<const uint64_t> key, Steps& steps);

private:
    struct Entry
    {
        std::vector<uint64_t> key;
        uint64_t lastUse = 0;
        bool wasRun = false; // without an obstacle to recording
        bool isRefused = false;
        bool wasRepeated = false; // since it was recorded
        size_t recordedInVain = 0;
        std::unique_ptr<RecordedWork> work; // null: none
    };

    Entry& Find(std::span<const uint64_t> key);
    bool Repeat(Entry& entry, Steps& steps);
    bool Record(Entry& entry, Steps& steps);
    void Refuse(Entry& entry, const char* why);
    void Forget(Entry& entry);

    WorkRecorder* m_recorder;
    std::string m_name;
    bool m_isOff = false;
    uint64_t m_uses = 0;
    size_t m_refusals = 0;
    bool m_hasRecorded = false;
    std::vector<Entry> m_entries;
};

} // namespace cntk
