// Records of the file as columns; names of the streams.
#include "Readers/LibSVMBinaryReader/LibSvmReader.h"

#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr const char* c_readerName = "LibSVMBinaryReader";
constexpr const char* c_pairLabels = "DSSMLabel"; // the node that gets ones in its first row

struct LibSvmOptions
{
    std::string file;
    size_t minibatch = 0;
    RandomizeWindow randomize;
    bool fullMinibatches = false;
    int traceLevel = 0;

    static OptionTable<LibSvmOptions> Options()
    {
        using S = LibSvmOptions;
        return {
            Opt("file", &S::file, "Required. The binary file").Required().InputFile(),
            Opt("minibatch", &S::minibatch, "Records of a minibatch; 0: what the learner asks for"),
            Opt("randomize", &S::randomize, "records come as they stand").WithoutEffect(),
            MinibatchMode(&S::fullMinibatches),
            Opt("traceLevel", &S::traceLevel, "Amount of printing: 1 names the file and its streams"),
        };
    }
};

struct LibSvmStreamOptions
{
    std::string rename;
    size_t dim = 0;
    size_t labelDim = 0;
    std::string labelType;
    std::string labelMappingFile;

    static OptionTable<LibSvmStreamOptions> Options()
    {
        using S = LibSvmStreamOptions;
        constexpr const char* inFile = "the file says what a stream is and has";
        return {
            Opt("rename", &S::rename,
                "The input node that gets the stream which has the block's name in the file; either name may be "
                "the one in the file")
                .Here(),
            Opt("dim", &S::dim, inFile).WithoutEffect().Here(),
            Opt("labelDim", &S::labelDim, inFile).WithoutEffect().Here(),
            Opt("labelType", &S::labelType, inFile).WithoutEffect().Here(),
            Opt("labelMappingFile", &S::labelMappingFile, inFile).WithoutEffect().Here(),
        };
    }
};

struct LibSvmLabelOptions
{
    size_t labelDim = 0;
    size_t dim = 0;

    static OptionTable<LibSvmLabelOptions> Options()
    {
        using S = LibSvmLabelOptions;
        return {
            Opt("labelDim", &S::labelDim,
                "Rows of the labels, 1 in the first and 0 in the others, that an input node of this name gets without "
                "being in the file; 0: as the node has",
                Range{0, double(INT32_MAX)})
                .Here(),
            Opt("dim", &S::dim, "The same where there is no labelDim", Range{0, double(INT32_MAX)}).Here(),
        };
    }
};

std::vector<StreamInfo>::iterator FindStream(std::vector<StreamInfo>& streams, const std::string& name)
{
    return std::find_if(streams.begin(), streams.end(),
                        [&](const StreamInfo& stream) { return EqualsIgnoreCase(stream.name, name); });
}

std::vector<std::string> NamesOf(const std::vector<StreamInfo>& streams)
{
    std::vector<std::string> names;
    for (const StreamInfo& stream : streams)
        names.push_back(stream.name);
    return names;
}

// Gives streams of the file the names that the blocks say.
void RenameStreams(const ConfigParameters& config, const std::string& path, std::vector<StreamInfo>& streams)
{
    std::vector<StreamInfo> inFile = streams;
    for (const std::string& name : config.BlockNames())
    {
        const ConfigParameters& block = config.RequireBlock(name);
        const std::string rename = ReadOptions<LibSvmStreamOptions>(block).rename;
        if (rename.empty())
            continue;
        auto found = FindStream(inFile, name);
        const bool isBlockInFile = found != inFile.end();
        if (!isBlockInFile)
            found = FindStream(inFile, rename);
        if (found == inFile.end())
            FailAt(block.WhereOf("rename"), ErrorKind::Config, "'", name, "' with rename=", rename,
                   ": expected one of the two to be a stream of '", path, "'; it has ", Join(NamesOf(inFile), ", "),
                   DidYouMean(name, NamesOf(inFile)));
        streams[size_t(found - inFile.begin())].name = isBlockInFile ? rename : name;
    }
    for (size_t i = 0; i < streams.size(); ++i)
    {
        const auto first = FindStream(streams, streams[i].name);
        if (size_t(first - streams.begin()) < i)
            FailAt(config.Where(), ErrorKind::Config, "'", path, "': streams '",
                   inFile[size_t(first - streams.begin())].name, "' and '", inFile[i].name, "' are both named '",
                   streams[i].name, "' by rename; each needs a name of its own");
    }
}

} // namespace

template <class ElemType>
LibSvmSource<ElemType>::LibSvmSource(std::unique_ptr<LibSvmFile> file, std::vector<StreamInfo> streams)
    : m_file(std::move(file)), m_streams(std::move(streams))
{
}

template <class ElemType>
void LibSvmSource<ElemType>::Append(size_t record, const std::vector<bool>& wanted,
                                    std::vector<StreamBatch<ElemType>>& batches)
{
    const size_t number = m_file->BatchOf(record);
    if (number != m_batchNumber)
    {
        m_batchNumber = c_none;
        m_file->Read(number, m_batch);
        m_batchNumber = number;
    }
    const size_t column = record - m_file->FirstRecord(number);
    for (size_t i = 0; i < batches.size(); ++i)
    {
        StreamBatch<ElemType>& batch = batches[i];
        if (!wanted[i])
            continue;
        if (i >= m_batch.streams.size())
        {
            batch.rowIndices.push_back(0);
            batch.values.push_back(ElemType(1));
            continue;
        }
        const auto& stream = m_batch.streams[i];
        if (!batch.sparse)
        {
            const auto begin = stream.values.begin() + ptrdiff_t(column * batch.rows);
            batch.values.insert(batch.values.end(), begin, begin + ptrdiff_t(batch.rows));
            continue;
        }
        const ptrdiff_t begin = stream.columnStarts[column], end = stream.columnStarts[column + 1];
        const size_t first = batch.values.size();
        batch.values.insert(batch.values.end(), stream.values.begin() + begin, stream.values.begin() + end);
        batch.rowIndices.insert(batch.rowIndices.end(), stream.rowIndices.begin() + begin,
                                stream.rowIndices.begin() + end);
        m_sorter.SortLast(batch.rowIndices, batch.values, first);
    }
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLibSvmReader(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    auto options = ReadReaderOptions<LibSvmOptions>(context);
    auto file =
        WithPosition(config.WhereOf("file"),
                     [&] { return std::make_unique<LibSvmFile>(ResolveInputPath(options.file), sizeof(ElemType)); });
    std::vector<StreamInfo> streams;
    for (const LibSvmStream& inFile : file->Streams())
    {
        StreamInfo stream;
        stream.name = inFile.name;
        stream.rows = inFile.dim;
        stream.sparse = !inFile.isLabel;
        stream.isLabel = inFile.isLabel;
        stream.source = Concat("'", file->Path(), "', ", inFile.isLabel ? "label" : "feature", " '", inFile.name, "'");
        streams.push_back(std::move(stream));
    }
    if (options.traceLevel > 0)
        context.log.Print("%s: %zu records of %s in '%s'\n", c_readerName, file->Records(),
                          Join(NamesOf(streams), ", ").c_str(), file->Path().c_str());
    RenameStreams(config, file->Path(), streams);
    if (FindStream(streams, c_pairLabels) == streams.end())
    {
        StreamInfo stream;
        stream.name = c_pairLabels;
        stream.rows = StreamInfo::c_rowsOfNode;
        stream.sparse = true;
        stream.isLabel = true;
        stream.source = "ones in the first row";
        if (const ConfigParameters* block = config.FindBlock(c_pairLabels))
        {
            const auto label = ReadOptions<LibSvmLabelOptions>(*block);
            const size_t dim = label.labelDim > 0 ? label.labelDim : label.dim;
            stream.rows = dim > 0 ? dim : stream.rows;
        }
        streams.push_back(std::move(stream));
    }
    SparseRecordOptions records;
    records.readerName = c_readerName;
    records.walk = {0, options.fullMinibatches};
    records.minibatchSize = options.minibatch;
    auto source = std::make_unique<LibSvmSource<ElemType>>(std::move(file), std::move(streams));
    return std::make_unique<SparseRecordReader<ElemType>>(std::move(source), records, context.log);
}

void DescribeLibSvmOptions(PluginDescription& description)
{
    AddOptions<LibSvmOptions>(description, "");
    AddOptions<LibSvmStreamOptions>(description, "<stream>");
    AddOptions<LibSvmLabelOptions>(description, c_pairLabels);
}

void AddLibSvmInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    AddInputFiles<LibSvmOptions>(context.config, files);
    if (const ConfigParameters* block = context.config.FindBlock(c_pairLabels))
        ReadOptions<LibSvmLabelOptions>(*block);
}

template class LibSvmSource<float>;
template class LibSvmSource<double>;
template std::unique_ptr<IDataReader<float>> MakeLibSvmReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeLibSvmReader<double>(const ReaderContext&);

} // namespace cntk
