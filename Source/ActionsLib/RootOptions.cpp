// Most of these may also stand in a command's block, which look-up searches first.
#include "ActionsLib/RootOptions.h"

namespace cntk
{

OptionTable<RootOptions> RootOptions::Options()
{
    using S = RootOptions;
    return {
        Opt("command", &S::command, "names of the blocks to run, in order"),
        Choice("precision", &S::precision, {{"float", DataType::Float32}, {"double", DataType::Float64}},
               "element type of the whole run", {"type"}),
        Opt("deviceId", &S::deviceId,
            "auto: the least busy usable GPU, else the CPU; cpu or -1: the CPU; 0, 1, ...: a GPU"),
        Opt("gpuSelfCheck", &S::gpuSelfCheck,
            "true: before a GPU is used, its results on small examples are compared with the CPU's"),
        Choice("gpuMatrixMath", &S::gpuMatrixMath,
               {{"float", GpuMatrixMath::Float}, {"tf32", GpuMatrixMath::Tf32}, {"bfloat16", GpuMatrixMath::Bfloat16}},
               "products of float matrices on a GPU; tf32 and bfloat16 round the factors"),
        Opt("gpuGraphs", &S::gpuGraphs,
            "true: repeated minibatches run as CUDA graphs on a GPU, with the same results"),
        Opt("numCPUThreads", &S::numCPUThreads,
            "number of threads; 0: as many as the process may use; below 0: as many fewer"),
        Choice("matrixEngine", &S::matrixEngine,
               {{"auto", MatrixEngine::Auto},
                {"own", MatrixEngine::Own},
                {"oneDNN", MatrixEngine::OneDnn},
                {"OpenBLAS", MatrixEngine::OpenBlas}},
               "engine for products of dense matrices on the CPU; auto: our own kernels, and for large products the "
               "library that is faster on this processor, if it is installed"),
        Opt("traceLevel", &S::traceLevel, "amount of output: 0 little, 1 progress, 2 details"),
        Opt("stderr", &S::stderrPrefix,
            "the log goes to <stderr>_<command>_..._<command>.log instead of standard error. If that name is longer "
            "than "
            "255 bytes, to <stderr>_<command>_..._and<number>more.log. A run appends to the log of an earlier run, "
            "after a line with the time"),
        Opt("doneFile", &S::doneFile,
            "file written when all commands have succeeded; the file of an earlier run is removed first"),
        Opt("timestamping", &S::timestamping, "date and time before the log's lines"),
        Choice("logStyle", &S::logStyle,
               {{"auto", S::LogStyleChoice::Auto},
                {"classic", S::LogStyleChoice::Classic},
                {"short", S::LogStyleChoice::Short}},
               "lines on standard error; classic: the original's; short: one line an epoch, warnings, and a summary at "
               "the end; auto: short on a terminal with traceLevel below 2, else classic. The file of stderr= always "
               "has the classic lines"),
        Opt("report", &S::report,
            "an HTML page about the run (curves, results, config, environment), updated after epochs and commands"),
        Opt("metrics", &S::metrics,
            "files with a row for each epoch, validation, result and line of minibatches; their ending decides on "
            "their kind: .jsonl (JSON lines) or .csv (a table)"),
        Opt("tensorBoard", &S::tensorBoard,
            "folder for TensorBoard's event files, in a folder for each training command"),
        Opt("strictConfig", &S::strictConfig, "true: unused keys are an error, not a warning"),
        Opt("makeMode", &S::makeMode, "true: train commands resume from existing models"),
        Opt("trainingSeed", &S::trainingSeed,
            "one seed for all random streams: start values, dropout, gradient noise, the order of the data, "
            "random choices of readers; 0: the original's streams"),
        Opt("progressTracing", &S::progressTracing,
            "after each epoch, lines PROGRESS: and EVALERR: in percent on standard output"),
        Opt("lockGPU", &S::lockGPU, "true: deviceId=auto locks its GPU and takes no GPU that another run has locked"),
        Opt("excludedDevices", &S::excludedDevices, "numbers of GPUs that deviceId=auto does not take"),
        Opt("parallelTrain", &S::parallelTrain,
            "train with the other processes that mpiexec has started (ParallelTrain says how)"),
        Opt("shareNodeValueMatrices", &S::shareNodeValueMatrices,
            "memory is always shared, which never changes results")
            .WithoutEffect(),

        Opt("traceGPUMemoryAllocations", &S::traceGPUMemoryAllocations, "").WithoutEffect(),
        Opt("hyperCompressMemory", &S::hyperCompressMemory, "").WithoutEffect(),
        Opt("perfTraceLevel", &S::perfTraceLevel, "").WithoutEffect(),
        Opt("randomSeed", &S::randomSeed, "see trainingSeed").WithoutEffect(),
        Opt("randomSeedOffset", &S::randomSeedOffset, "default of NDLNetworkBuilder's; else without effect"),
        Opt("currentDirectory", &S::currentDirectory, "on the command line: changes into this folder at once"),
    };
}

} // namespace cntk
