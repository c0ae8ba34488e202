// The boundary between the program and a reader or writer library (book 3.4, 5.1). Every reader library exports
// GetReaderF, GetReaderD and CntkPluginAbi. A library that also writes exports GetWriterF and GetWriterD.
// Readers fill host memory and a layout and know nothing of matrices or devices.
#pragma once

#include "Common/FileClashes.h"
#include "Common/Lattice.h"
#include "Common/MBLayout.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class ConfigParameters;
class ConfigValue;
class Log;

constexpr uint32_t c_pluginAbi = 12;
// epochSize=0 of the SGD block: the whole data set is one epoch.
constexpr size_t c_wholeDataSet = std::numeric_limits<size_t>::max() >> 2;

// One named stream of a reader. The stream feeds the input node of the same name (any case).
struct StreamInfo
{
    // Value of `rows` for a sparse stream that takes its dimension from the input node.
    static constexpr size_t c_rowsOfNode = std::numeric_limits<size_t>::max();

    std::string name;
    size_t rows = 0; // elements of one sample
    bool sparse = false;
    bool isLabel = false;
    std::vector<std::string> labelNames; // category labels: class id -> text; empty otherwise
    std::string source;                  // the data file or files, for messages
    size_t wordClasses = 0;              // labels of ClassBasedCrossEntropyWithSoftmax: number of word classes
    std::string wordClassSource;         // the file that defines the word classes
    std::vector<size_t> shape;           // dimensions of an image, fastest-varying first; empty: unknown
    std::string shapeSource; // the setting that decides the order of the dimensions, with its place, for messages
};

// The values of one stream for one minibatch, column-major, one sample a column.
template <class ElemType>
struct StreamBatch
{
    size_t rows = 0;
    size_t columns = 0;
    bool sparse = false;
    std::vector<ElemType> values;      // dense: rows*columns; sparse: the non-zero values
    std::vector<int32_t> rowIndices;   // sparse only: row of each value, ascending within a column
    std::vector<int32_t> columnStarts; // sparse only: columns + 1 offsets into values
    MBLayoutPtr layout;                // streams of one time axis share the object
};

template <class ElemType>
struct HostMinibatch
{
    std::vector<StreamBatch<ElemType>> streams; // in the order of Streams(); unwanted streams stay empty
    // Sequence keys by sequence id (HTK utterances, CTF sequence ids, lines of a text). Empty if the reader has none.
    std::vector<std::string> sequenceKeys;
    // Lattices of whole sequences by sequence id. Empty if the reader has none.
    std::vector<LatticePtr> lattices;
    double secondsWaited = 0; // by the caller for this minibatch
};

// Parameters of an epoch. Requests of the same epoch give the same data.
struct EpochRequest
{
    size_t epoch = 0; // 0-based
    size_t minibatchSize = 256;
    size_t epochSize = c_wholeDataSet; // samples
    size_t rank = 0;                   // data parallelism: the reader delivers the share of this worker
    size_t workers = 1;
    uint64_t trainingSeed = 0;       // seed of all random draws (SeedStream); 0: the draws of CNTK v1.1
    bool eachOnce = false;           // no record may be repeated to fill a minibatch (minibatchMode=full)
    bool withLattices = false;       // the network uses lattices if the reader has them
    std::vector<std::string> wanted; // names of the network's input nodes; empty: all streams
};

template <class ElemType>
class IDataReader
{
public:
    virtual ~IDataReader() = default;

    // Known after creation. Only createLabelMap may extend label maps while it reads.
    virtual const std::vector<StreamInfo>& Streams() const = 0;

    virtual void StartEpoch(const EpochRequest& request) = 0;

    // Returns false at the end of the epoch. Callers should pass the same object each time, so that its buffers are
    // reused.
    virtual bool GetMinibatch(HostMinibatch<ElemType>& minibatch) = 0;

    // Number of samples in the data set. Reads all data if necessary.
    virtual size_t TotalSamples() = 0;

    // For createLabelMap: reads all data, collects the labels and writes the mapping files. Returns the file names.
    virtual std::vector<std::string> CreateLabelMaps() = 0;

    // Number of parallel sequences in truncated minibatches, where minibatchSize counts time steps per sequence and
    // rates per minibatch refer to minibatchSize steps of each sequence. 1 if minibatchSize counts samples.
    virtual size_t ParallelSequences(size_t /*epoch*/) const { return 1; }

    // True if minibatches can have lattices.
    virtual bool HasLattices() const { return false; }

    // Visits the data files that a list file names, so that no command overwrites them. Files named in the config are
    // known without this function.
    virtual void VisitListedFiles(const ListedFileVisitor& /*visit*/) const {}

    // For the write action: number of sequences, if each sequence has a minibatch of its own. 0: unknown before
    // reading.
    virtual size_t SequencesToWrite() const { return 0; }
};

// Parameters for creating a reader or a writer. `config` is its block; names that the block lacks are looked up in the
// enclosing blocks.
struct ReaderContext
{
    const ConfigParameters& config;
    Log& log;
    int traceLevel = 0;
    bool forWriting = false;             // the write action: keep the order of the data (randomize=none)
    bool createLabelMaps = false;        // createLabelMap: label mapping files may be missing (allowMapCreation=true)
    const ListedFiles* listed = nullptr; // for a writer: the files that the command's readers read; may be null
    bool hasFreeCores = false;           // prefetching can use a core that computes nothing else

    // Returns the same context for the block of a part of the reader.
    ReaderContext For(const ConfigParameters& block) const
    {
        return {block, log, traceLevel, forWriting, createLabelMaps, listed, hasFreeCores};
    }
};

using GetReaderFunctionF = void (*)(std::unique_ptr<IDataReader<float>>& reader, const ReaderContext& context);
using GetReaderFunctionD = void (*)(std::unique_ptr<IDataReader<double>>& reader, const ReaderContext& context);

// Option tables of the library for --help, generated documentation and unknown-key warnings.
struct PluginOption
{
    std::string block; // "" the reader block itself, "features", "labels"
    std::string name;
    std::string defaultText;
    std::string doc;
    std::vector<std::string> aliases{}; // other names that are accepted
    bool hasNoEffect = false;           // accepted because old configs have it
};
struct PluginDescription
{
    std::string name; // "UCIFastReader"
    std::string doc;
    std::vector<PluginOption> options;
    // For a reader that ignores randomize: the setting that keeps the order of its data, such as "cacheBlockSize=1".
    std::string keepsOrder{};
};
using DescribePluginFunction = void (*)(PluginDescription& description);
using PluginAbiFunction = uint32_t (*)();

// The optional function FindInputFiles adds the config values that name files which the reader will open. The program
// calls it before the first command runs, to report missing files early. It opens no file. An Error of kind Config is
// reported at once, after the missing files. After an Error of another kind the caller treats the answer as unknown.
using FindInputFilesFunction = void (*)(const ReaderContext& context, std::vector<ConfigValue>& files);

// Creating a writer reads and checks its inputs and writes nothing, so that --check can create one, too.
template <class ElemType>
class IDataWriter
{
public:
    virtual ~IDataWriter() = default;

    // Names of the output nodes that the writer's block asks for.
    virtual std::vector<std::string> OutputNames() const = 0;

    // Fails, before anything is computed, if the writer cannot write outputs of these sizes. rows: by output name, only
    // for outputs whose size is known. sequences: their number; 0: unknown.
    virtual void RequireFit(const std::map<std::string, size_t>& /*rows*/, size_t /*sequences*/) const {}

    // Saves the values of one minibatch by output name. sequenceKeys: by sequence id; may be empty.
    virtual void SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                               const std::vector<std::string>& sequenceKeys) = 0;

    // Renames the files to their final names. Called after the last minibatch.
    virtual void Finish() = 0;
};

using GetWriterFunctionF = void (*)(std::unique_ptr<IDataWriter<float>>& writer, const ReaderContext& context);
using GetWriterFunctionD = void (*)(std::unique_ptr<IDataWriter<double>>& writer, const ReaderContext& context);

} // namespace cntk

// Common/PluginExports.h defines the exported functions:
//   extern "C" CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>&, const ReaderContext&);
//   extern "C" CNTK_PLUGIN_EXPORT void GetReaderD(...);
//   extern "C" CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi();
//   extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription&);
//   extern "C" CNTK_PLUGIN_EXPORT void FindInputFiles(const ReaderContext&, std::vector<cntk::ConfigValue>&);
#define CNTK_PLUGIN_EXPORT __attribute__((visibility("default")))
