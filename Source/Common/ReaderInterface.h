// The boundary between the program and a reader library (book 3.4, 5.1). Every reader library exports GetReaderF,
// GetReaderD and CntkPluginAbi; a library that also writes exports GetWriterF and GetWriterD (WriterInterface.h).
// Readers fill host memory and a layout and know nothing of matrices or devices.
#pragma once

#include "Common/FileClashes.h"
#include "Common/Lattice.h"
#include "Common/MBLayout.h"

#include <cstddef>
#include <cstdint>
#include <limits>
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

// One named stream that a reader delivers. It is bound to the input node of the same name (any case).
struct StreamInfo
{
    // The rows of a sparse stream that takes the dimension of the node that it feeds.
    static constexpr size_t c_rowsOfNode = std::numeric_limits<size_t>::max();

    std::string name;
    size_t rows = 0; // elements of one sample
    bool sparse = false;
    bool isLabel = false;
    std::vector<std::string> labelNames; // category labels: class id -> text; empty otherwise
    std::string source;                  // file(s) it is read from, for messages
    size_t wordClasses = 0;              // labels of ClassBasedCrossEntropyWithSoftmax: how many classes words have
    std::string wordClassSource;         // the file that says so
    // Of images: their dimensions, the one whose elements are neighbours in memory first; empty: not known.
    std::vector<size_t> shape;
    std::string shapeSource; // the setting that decides the order of the dimensions and its place, for messages
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
    std::vector<StreamBatch<ElemType>> streams; // in the order of Streams(); streams nobody wanted stay empty
    // Sequence keys by sequence id where the reader has them (HTK utterances, CTF sequence ids, lines of a text); else
    // empty.
    std::vector<std::string> sequenceKeys;
    // Lattices by sequence id where the reader has them, of whole sequences; else empty.
    std::vector<LatticePtr> lattices;
    // Seconds that the caller waited for this minibatch.
    double secondsWaited = 0;
};

// What the learner asks for when an epoch begins. Asking for epoch e again gives the same data again.
struct EpochRequest
{
    size_t epoch = 0; // 0-based
    size_t minibatchSize = 256;
    size_t epochSize = c_wholeDataSet; // samples
    size_t rank = 0;                   // data parallelism: this worker's share
    size_t workers = 1;
    uint64_t trainingSeed = 0; // of all that is drawn at random (SeedStream.h); 0: as the original draws it
    // To write, or for averages over the data: no record twice to fill a minibatch (minibatchMode=full).
    bool eachOnce = false;
    bool withLattices = false; // the network takes them, where the reader has them
    // Names of the input nodes that the network binds, as the network spells them; empty: all streams.
    std::vector<std::string> wanted;
};

template <class ElemType>
class IDataReader
{
public:
    virtual ~IDataReader() = default;

    // Known after creation; label maps may grow during reading only for createLabelMap.
    virtual const std::vector<StreamInfo>& Streams() const = 0;

    virtual void StartEpoch(const EpochRequest& request) = 0;

    // False at the end of the epoch. The minibatch's buffers are reused: the same object should be passed each time.
    virtual bool GetMinibatch(HostMinibatch<ElemType>& minibatch) = 0;

    // Samples in the data set; reads the whole data if need be.
    virtual size_t TotalSamples() = 0;

    // createLabelMap: reads all data, collects the labels and writes the mapping files. Names of the files written.
    virtual std::vector<std::string> CreateLabelMaps() = 0;

    // How many sequences truncated minibatches of an epoch hold side by side, where minibatchSize counts the time steps
    // of each: rates per minibatch are then meant for minibatchSize steps of each. 1 where minibatchSize counts
    // samples.
    virtual size_t ParallelSequences(size_t /*epoch*/) const { return 1; }

    // Whether minibatches come with lattices where the network takes them.
    virtual bool HasLattices() const { return false; }

    // The files that it reads because a list names them; those that values of the config name are known. No command
    // writes onto them.
    virtual void VisitListedFiles(const ListedFileVisitor& /*visit*/) const {}

    // Made for the write action: how many sequences there are, each of them in a minibatch of its own. 0: that shows
    // when they are read.
    virtual size_t SequencesToWrite() const { return 0; }
};

// What a reader is created with. The config block is the reader={...} block, with the enclosing blocks behind it.
struct ReaderContext
{
    const ConfigParameters& config;
    Log& log;
    int traceLevel = 0;
    bool forWriting = false;      // the write action: keep the order of the data (randomize=none)
    bool createLabelMaps = false; // createLabelMap: label mapping files need not be there (allowMapCreation=true)
    const ListedFiles* listed = nullptr; // of a writer: what the command's readers read; null where there is none
    bool hasFreeCores = false; // a core beside those that compute: what is read ahead there takes none of their time

    // The same for another block: that of a part of the reader.
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
    bool hasNoEffect = false;           // old configs have it; nothing depends on it
};
struct PluginDescription
{
    std::string name; // "UCIFastReader"
    std::string doc;
    std::vector<PluginOption> options;
    // Of a reader that shuffles whatever randomize says: what keeps the order of its data, as "cacheBlockSize=1".
    std::string keepsOrder{};
};
using DescribePluginFunction = void (*)(PluginDescription& description);
using PluginAbiFunction = uint32_t (*)();

// FindInputFiles, which a library need not export: adds the values of the block that name a file each which its reader
// surely opens when it is made so, or reads. Asked before the first command runs, to tell at once what is missing: it
// opens nothing. An Error of kind Config, which the reader made so would throw as well, is told at once, too; behind
// the files that were added until then. Any other one says that there is no telling.
using FindInputFilesFunction = void (*)(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk

//   extern "C" CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>&, const ReaderContext&);
//   extern "C" CNTK_PLUGIN_EXPORT void GetReaderD(...);
//   extern "C" CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi();
//   extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription&);
//   extern "C" CNTK_PLUGIN_EXPORT void FindInputFiles(const ReaderContext&, std::vector<cntk::ConfigValue>&);
#define CNTK_PLUGIN_EXPORT __attribute__((visibility("default")))
