// The CPU with an instruction set and a number of threads of one's choice: for tests and measurements.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/GemmContext.h"
#include "Math/Device.h"

namespace cntk
{

// The processor must have the instruction set. Threads may be more than there are cores.
std::shared_ptr<Device> MakeCpuDeviceWith(InstructionSet instructionSet, int threads, GemmTrace trace = {});

} // namespace cntk
