// Work that is done again and again with the same shapes: as ever the first time, recorded the second, and repeated
// from then on, where the device can (WorkRecorder.h).
#pragma once

#include "Math/Device.h"
#include "Math/WorkRecorder.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

class RepeatedWork
{
public:
    // What is to be done.
    class Steps
    {
    public:
        virtual ~Steps() = default;
        virtual void Run() = 0;
        // Of work that the device repeats: what the host has to do besides, and whose numbers change. The device runs
        // nothing of it, so it may not ask for results.
        virtual void Repeat() = 0;
        // What the host changes while it runs, for attempts that fail.
        virtual void Save() {}
        virtual void Restore() {}
    };

    // name: what it is, for the log ("the forward pass").
    RepeatedWork(Device& device, std::string name);

    // False: the device has nothing to gain, or this work cannot be recorded; no key is needed.
    bool IsOn() const { return m_recorder != nullptr && !m_isOff; }
    // For work that cannot be recorded; the log tells why. Null: nobody would expect it to be.
    void TurnOff(const char* why);
    // Two runs with one key ask the device for the same work, but for numbers that it takes anew.
    void Run(std::span<const uint64_t> key, Steps& steps);

private:
    struct Entry
    {
        std::vector<uint64_t> key;
        uint64_t lastUse = 0;
        bool wasRun = false; // and can be recorded
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
