// A machine with several emulated GPUs, as the environment describes it, so that end-to-end tests can have the driver
// and the cards that they want.
//
// CNTK_EMULATED_DRIVER: the CUDA that the driver runs (12040); 0: there is none.
// CNTK_EMULATED_GPUS: the GPUs, with semicolons between them; each as name=...,memory=...,used=...,busy=...,
// capability=75,fault=... with memory in MiB. "none": no GPU.
// CNTK_EMULATED_LOCKS: a part of the names of the cards' locks, so that tests beside each other do not meet.
// CNTK_EMULATED_COUNTS: a file that gets a line with how often the host has waited when a device is closed.
#pragma once

#include "CudaEmulation/EmulatedGpu.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct EmulatedCard
{
    std::string name = "emulation";
    std::string fault; // a kernel, Multiply, or a function of the runtime that does less than it should
    size_t megabytes = 1024;
    size_t usedMegabytes = 0; // by others
    unsigned busyPercent = 0;
    int capability = 90;
};

struct EmulatedCards
{
    int driver = 13000;
    std::vector<EmulatedCard> cards;

    static EmulatedCards FromEnvironment();
};

std::string BusIdOf(int card);

class EmulatedMachine final : public EmulatedRuntime
{
public:
    EmulatedMachine();
    ~EmulatedMachine() override;

    GpuDriver Driver() override;
    GpuProperties Properties(int device) override;
    void Use(int device) override;
    void MemoryInfo(size_t& freeBytes, size_t& totalBytes) override;
    void* Allocate(size_t bytes) override;

    void CopyFromPinned(void* destination, const void* pinned, size_t bytes, GpuStream stream) override;
    void CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream) override;
    void CopyToPinned(void* pinned, const void* source, size_t bytes, GpuStream stream) override;
    void Zero(void* destination, size_t bytes, GpuStream stream) override;

private:
    const EmulatedCard& Card() const { return m_machine.cards[size_t(m_device)]; }

    EmulatedCards m_machine;
    int m_device = 0;
    bool m_isUsed = false;
};

// Products that do not know the last column where the card's fault is Multiply.
std::unique_ptr<GpuBlas> MakeBreakableBlas();

} // namespace cntk
