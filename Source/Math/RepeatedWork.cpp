// A few kinds of steps are kept, those used last.
#include "Math/RepeatedWork.h"

#include "Common/Error.h"

#include <algorithm>

namespace cntk
{

namespace
{

// The number of keys that are kept. More would hold more memory of the device.
constexpr size_t c_mostEntries = 16;
// After so many keys whose work cannot be recorded, recording is given up.
constexpr size_t c_mostRefusals = 3;
// Recording takes longer than running, so it is not tried more often than this without a repetition.
constexpr size_t c_mostInVain = 2;

} // namespace

RepeatedWork::RepeatedWork(Device& device, std::string name) : m_recorder(device.Recorder()), m_name(std::move(name)) {}

void RepeatedWork::TurnOff(const char* why)
{
    if (!IsOn())
        return;
    m_isOff = true;
    if (why != nullptr)
        m_recorder->Report(m_name.c_str(), why);
}

RepeatedWork::Entry& RepeatedWork::Find(std::span<const uint64_t> key)
{
    const auto found = std::find_if(m_entries.begin(), m_entries.end(),
                                    [&](const Entry& entry) { return std::ranges::equal(entry.key, key); });
    if (found != m_entries.end())
        return *found;
    if (m_entries.size() < c_mostEntries)
    {
        Entry& added = m_entries.emplace_back();
        added.key.assign(key.begin(), key.end());
        return added;
    }
    Entry& oldest = *std::min_element(m_entries.begin(), m_entries.end(),
                                      [](const Entry& a, const Entry& b) { return a.lastUse < b.lastUse; });
    oldest.key.assign(key.begin(), key.end());
    oldest.wasRun = false;
    oldest.isRefused = false;
    oldest.wasRepeated = false;
    oldest.recordedInVain = 0;
    oldest.work.reset();
    return oldest;
}

void RepeatedWork::Refuse(Entry& entry, const char* why)
{
    entry.isRefused = true;
    entry.work.reset();
    m_recorder->Report(m_name.c_str(), why);
    m_isOff = ++m_refusals == c_mostRefusals && !m_hasRecorded;
}

// The device's memory is no longer what it was.
void RepeatedWork::Forget(Entry& entry)
{
    entry.work.reset();
    entry.recordedInVain = entry.wasRepeated ? 0 : entry.recordedInVain + 1;
    if (entry.recordedInVain == c_mostInVain)
        Refuse(entry, "memory is given back each time");
}

bool RepeatedWork::Repeat(Entry& entry, Steps& steps)
{
    steps.Save();
    m_recorder->BeginRepeat(*entry.work);
    try
    {
        steps.Repeat();
    }
    catch (...)
    {
        m_recorder->AbandonRepeat();
        throw;
    }
    if (m_recorder->EndRepeat())
    {
        entry.wasRepeated = true;
        return true;
    }
    steps.Restore();
    entry.work.reset();
    return false;
}

bool RepeatedWork::Record(Entry& entry, Steps& steps)
{
    if (!m_recorder->Begin())
    {
        Refuse(entry, m_recorder->LastObstacle());
        return false;
    }
    steps.Save();
    try
    {
        steps.Run();
    }
    catch (const Error& error)
    {
        m_recorder->Abandon();
        if (error.Kind() != ErrorKind::Device)
            throw;
        steps.Restore();
        Refuse(entry, m_recorder->LastObstacle());
        return false;
    }
    catch (...)
    {
        m_recorder->Abandon();
        throw;
    }
    entry.work = m_recorder->End();
    if (entry.work != nullptr)
    {
        m_hasRecorded = true;
        entry.wasRepeated = false;
        return true;
    }
    steps.Restore();
    Refuse(entry, m_recorder->LastObstacle());
    return false;
}

void RepeatedWork::Run(std::span<const uint64_t> key, Steps& steps)
{
    if (!IsOn())
        return steps.Run();
    Entry& entry = Find(key);
    entry.lastUse = ++m_uses;
    if (entry.work != nullptr && !m_recorder->IsValid(*entry.work))
        Forget(entry);
    if (entry.work != nullptr && Repeat(entry, steps))
        return;
    if (entry.wasRun && !entry.isRefused && Record(entry, steps))
        return;
    const uint64_t obstacles = m_recorder->Obstacles();
    steps.Run();
    entry.wasRun = true;
    if (!entry.isRefused && m_recorder->Obstacles() != obstacles)
        Refuse(entry, m_recorder->LastObstacle());
}

} // namespace cntk
