// Parameters at the root of a config (book 3.8).
#pragma once

#include "Common/Config/Options.h"
#include "Math/DataType.h"
#include "Math/Device.h"

#include <string>
#include <vector>

namespace cntk
{

struct RootOptions
{
    std::vector<std::string> command{"train"};
    DataType precision = DataType::Float32;
    std::string deviceId = "auto";
    GpuMatrixMath gpuMatrixMath = GpuMatrixMath::Float;
    bool gpuGraphs = true;
    int numCPUThreads = 0;
    MatrixEngine matrixEngine = MatrixEngine::Auto;
    int traceLevel = 0;
    std::string stderrPrefix;
    std::string doneFile;
    bool timestamping = false;
    enum class LogStyleChoice
    {
        Auto,
        Classic,
        Short
    };
    LogStyleChoice logStyle = LogStyleChoice::Auto;
    std::string report;
    std::vector<std::string> metrics;
    std::string tensorBoard;
    bool strictConfig = false;
    bool makeMode = true;
    size_t trainingSeed = 0;
    bool progressTracing = false;
    bool lockGPU = true;
    bool gpuSelfCheck = true;
    std::vector<int> excludedDevices;
    bool parallelTrain = false;
    bool shareNodeValueMatrices = false;
    std::string currentDirectory;
    // accepted without effect
    std::string traceGPUMemoryAllocations;
    std::string hyperCompressMemory;
    std::string perfTraceLevel;
    std::string randomSeed;
    std::string randomSeedOffset;

    static OptionTable<RootOptions> Options();
};

} // namespace cntk
