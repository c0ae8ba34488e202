// Most of these may also stand in a command's block, where look-up finds them first.
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
            "auto for the least busy GPU that can be used, else the CPU; cpu or -1 for the CPU, 0, 1, ... for a GPU"),
        Opt("gpuSelfCheck", &S::gpuSelfCheck,
            "true: before a GPU is used, it must compute on small examples what the CPU computes"),
        Choice("gpuMatrixMath", &S::gpuMatrixMath,
               {{"float", GpuMatrixMath::Float}, {"tf32", GpuMatrixMath::Tf32}, {"bfloat16", GpuMatrixMath::Bfloat16}},
               "products of float matrices on a GPU; tf32 and bfloat16 round the factors"),
        Opt("gpuGraphs", &S::gpuGraphs,
            "true: a GPU records the work of minibatches that repeat as CUDA graphs, which changes no number"),
        Opt("numCPUThreads", &S::numCPUThreads,
            "threads; 0: as many as the process may use; below 0: so many less than that"),
        Choice("matrixEngine", &S::matrixEngine,
               {{"auto", MatrixEngine::Auto},
                {"own", MatrixEngine::Own},
                {"oneDNN", MatrixEngine::OneDnn},
                {"OpenBLAS", MatrixEngine::OpenBlas}},
               "what computes products of dense matrices on the CPU; auto: our own kernels, and for large products the "
               "library that is faster on this processor, if it is installed"),
        Opt("traceLevel", &S::traceLevel, "how much is printed: 0 little, 1 progress, 2 details"),
        Opt("stderr", &S::stderrPrefix,
            "the log goes to <stderr>_<command>_..._<command>.log instead of standard error; where that name would be "
            "longer than 255 bytes, to <stderr>_<command>_..._and<number>more.log; a run appends to the log of an "
            "earlier run, after a line with the time"),
        Opt("doneFile", &S::doneFile,
            "file written when all commands have succeeded; that of an earlier run is removed when this one begins"),
        Opt("timestamping", &S::timestamping, "date and time before the log's lines"),
        Opt("strictConfig", &S::strictConfig, "true: keys that nothing reads are an error, not a warning"),
        Opt("makeMode", &S::makeMode, "true: train commands continue from existing models"),
        Opt("trainingSeed", &S::trainingSeed,
            "one seed for all that is drawn at random: start values, dropout, gradient noise, the order of the data "
            "and what readers draw, each with a stream of its own; 0: the original's streams"),
        Opt("progressTracing", &S::progressTracing,
            "after each epoch, lines PROGRESS: and EVALERR: in percent on standard output"),
        Opt("lockGPU", &S::lockGPU,
            "deviceId=auto takes no GPU that another run has taken so, and takes its own for itself alone"),
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
