// A machine with several emulated GPUs, described by environment variables, for end-to-end tests.
//
// CNTK_EMULATED_DRIVER: the CUDA version of the driver (12040); 0: no driver.
// CNTK_EMULATED_GPUS: the GPUs, separated by semicolons. Each is name=...,memory=...,used=...,busy=...,capability=75,
// fault=... with memory in MiB. "none": no GPU.
// CNTK_EMULATED_LOCKS: part of the names of lock files, so that concurrent tests do not share locks.
// CNTK_EMULATED_COUNTS: a file. Each closed device appends the number of times that the host has waited.
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
    std::string fault; // a kernel, Multiply or CopyToHost, which then leaves its last part out
    size_t megabytes = 1024;
    size_t usedMegabytes = 0; // by other processes
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

    void CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream) override;

private:
    const EmulatedCard& Card() const { return m_machine.cards[size_t(m_device)]; }

    EmulatedCards m_machine;
    int m_device = 0;
    bool m_isUsed = false;
};

// Products that leave out the last column if the card's fault is Multiply.
std::unique_ptr<GpuBlas> MakeBreakableBlas();

} // namespace cntk
