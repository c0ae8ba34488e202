// NVIDIA's management library for the machine of EmulatedMachine.h.
#include "CudaEmulation/EmulatedMachine.h"

#include <cstring>

namespace
{

struct Memory
{
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct Utilization
{
    unsigned gpu;
    unsigned memory;
};

constexpr int c_success = 0;
constexpr int c_notFound = 6;

const cntk::EmulatedCard& CardOf(void* device)
{
    return *static_cast<const cntk::EmulatedCard*>(device);
}

} // namespace

#define CNTK_EXPORT extern "C" __attribute__((visibility("default")))

CNTK_EXPORT int nvmlInit_v2();
CNTK_EXPORT int nvmlShutdown();
CNTK_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* busId, void** device);
CNTK_EXPORT int nvmlDeviceGetMemoryInfo(void* device, Memory* memory);
CNTK_EXPORT int nvmlDeviceGetUtilizationRates(void* device, Utilization* utilization);

int nvmlInit_v2()
{
    return c_success;
}

int nvmlShutdown()
{
    return c_success;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* busId, void** device)
{
    static const cntk::EmulatedCards machine = cntk::EmulatedCards::FromEnvironment();
    for (size_t i = 0; i < machine.cards.size(); ++i)
        if (cntk::BusIdOf(int(i)) == busId)
        {
            *device = const_cast<cntk::EmulatedCard*>(&machine.cards[i]);
            return c_success;
        }
    return c_notFound;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory)
{
    const cntk::EmulatedCard& card = CardOf(device);
    memory->total = card.megabytes << 20;
    memory->used = card.usedMegabytes << 20;
    memory->free = memory->total - memory->used;
    return c_success;
}

int nvmlDeviceGetUtilizationRates(void* device, Utilization* utilization)
{
    *utilization = {CardOf(device).busyPercent, 0};
    return c_success;
}
