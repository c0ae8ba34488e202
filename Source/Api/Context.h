// The state that all graphs of a process share: devices with their locks, numbers of nodes, and the random seed. The
// front (Python, C) holds one and passes it down.
#pragma once

#include "Math/Device.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cntk::Api
{

class Node;

class Context
{
public:
    // Returns the device of new parameters. The first call opens the CPU.
    std::shared_ptr<Device> CurrentDevice();
    void UseDevice(std::shared_ptr<Device> device);

    // Locks a device: everything that computes on it or reads its memory holds the lock (sheet 11.2).
    std::unique_lock<std::recursive_mutex> Lock(const Device& device);

    uint64_t NextUid() { return ++m_uid; }

    // Seeds random values from here on. Each draw takes the next seed, as the program's network builder does.
    void SetSeed(uint64_t seed) { m_seed = seed; }
    uint64_t NextSeed() { return m_seed++; }

    // Counts changes of names: graphs with loops by name are lowered again after one.
    void CountRename() { ++m_renames; }
    uint64_t Renames() const { return m_renames; }

    // Notes a placeholder that closes a loop: its nodes own each other. Frees loops that nobody else owns any more,
    // from time to time.
    void AddLoop(const std::shared_ptr<Node>& placeholder);

private:
    void FreeLoops();

    std::vector<std::weak_ptr<Node>> m_loops;
    size_t m_loopsAtNextFreeing = 16;
    std::mutex m_mutex;
    std::shared_ptr<Device> m_device;
    std::map<const Device*, std::unique_ptr<std::recursive_mutex>> m_locks;
    std::atomic<uint64_t> m_uid{0};
    std::atomic<uint64_t> m_seed{1};
    std::atomic<uint64_t> m_renames{0};
};

} // namespace cntk::Api
