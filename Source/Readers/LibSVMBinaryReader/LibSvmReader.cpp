// The batches of the file, its records as columns, and the names of the streams.
#include "Readers/LibSVMBinaryReader/LibSvmReader.h"

#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/ReaderOptions.h"
#include "Readers/ReaderLib/SparseColumns.h"

#include <algorithm>

namespace cntk
{

namespace
{

constexpr const char* c_rowsName = "the number of rows of the batch";
constexpr const char* c_valueCountName = "the number of values";
constexpr const char* c_startsName = "the starts of the columns";

} // namespace

LibSvmFile::LibSvmFile(const std::string& path, size_t ownValueBytes) : m_file(path), m_cursor(m_file)
{
    ReadHeader();
    FindLayout(ownValueBytes);
    CountRecords();
}

void LibSvmFile::ReadHeader()
{
    m_headerRows = m_cursor.TakeCount<int64_t>("the number of rows", 1, INT64_MAX);
    const size_t batches = m_cursor.TakeCount<int64_t>("the number of batches", 1, m_file.Size() / sizeof(int64_t));
    const size_t mostStreams = m_file.Size() / (2 * sizeof(int32_t));
    const size_t features = m_cursor.TakeCount<int32_t>("the number of features", 0, mostStreams);
    const size_t labels = m_cursor.TakeCount<int32_t>("the number of labels", features == 0 ? 1 : 0, mostStreams);
    for (size_t i = 0; i < features + labels; ++i)
    {
        m_cursor.Enter(i < features ? "feature" : "label", i < features ? i : i - features, m_cursor.Position());
        LibSvmStream stream;
        const size_t at = m_cursor.Position();
        stream.name =
            m_cursor.TakeText(m_cursor.TakeCount<int32_t>("the length of its name", 1, INT32_MAX), "its name");
        stream.dim = m_cursor.TakeCount<int32_t>("its dimension", 1, INT32_MAX);
        stream.isLabel = i >= features;
        for (const LibSvmStream& other : m_streams)
        {
            if (EqualsIgnoreCase(other.name, stream.name))
                m_cursor.FailAtByte(at, Concat("expected a name of its own, found '", stream.name, "' again"));
        }
        m_streams.push_back(std::move(stream));
    }
    m_offsetsAt = m_cursor.Position();
    m_cursor.Enter(nullptr, 0, m_offsetsAt);
    m_cursor.Append<int64_t>(m_offsets, batches, "the offsets of the batches");
    m_dataBegin = m_cursor.Position();
}

// Reads the starts of columns. Returns false if they do not fit `count` values.
bool LibSvmFile::TakeStarts(size_t rows, int32_t count)
{
    int32_t last = 0;
    for (size_t k = 0; k <= rows; ++k)
    {
        const auto start = m_cursor.Take<int32_t>(c_startsName);
        if (start < last || (k == 0 && start != 0))
            return false;
        last = start;
    }
    return last == count;
}

// Returns the end of the batch at the position if values have that size; 0 if the batch is invalid.
size_t LibSvmFile::FindEndOfBatch(size_t position, size_t valueBytes, bool checksStarts)
{
    const auto fits = [&](size_t count, size_t each) { return count <= m_cursor.Left() / each; };
    m_cursor.Enter("batch", 0, position);
    if (!fits(1, sizeof(int32_t)))
        return 0;
    const auto rows = m_cursor.Take<int32_t>(c_rowsName);
    if (rows < 1 || size_t(rows) > m_headerRows)
        return 0;
    for (const LibSvmStream& stream : m_streams)
    {
        if (stream.isLabel)
        {
            if (!fits(size_t(rows) * stream.dim, valueBytes))
                return 0;
            m_cursor.Skip(size_t(rows) * stream.dim, valueBytes, c_valueCountName);
            continue;
        }
        if (!fits(1, sizeof(int32_t)))
            return 0;
        const auto count = m_cursor.Take<int32_t>(c_valueCountName);
        if (count < 0 || !fits(size_t(count), valueBytes + sizeof(int32_t)))
            return 0;
        m_cursor.Skip(size_t(count), valueBytes + sizeof(int32_t), c_valueCountName);
        if (!fits(size_t(rows) + 1, sizeof(int32_t)))
            return 0;
        if (!checksStarts)
            m_cursor.Skip(size_t(rows) + 1, sizeof(int32_t), c_startsName);
        else if (!TakeStarts(size_t(rows), count))
            return 0;
    }
    return m_cursor.Position();
}

bool LibSvmFile::FindLayout(size_t valueBytes, bool isStrict)
{
    for (const size_t begin : {m_dataBegin, m_dataBegin + sizeof(int32_t)})
    {
        const size_t end = FindEndOfBatch(begin, valueBytes, isStrict);
        const uint64_t base = begin - m_offsets[0]; // may wrap; the sum below wraps back
        const bool isBase = base == 0 || base == m_dataBegin || base == m_dataBegin + sizeof(int32_t);
        const uint64_t next = m_offsets.size() > 1 ? base + m_offsets[1] : m_file.Size();
        if (!isBase || end == 0 || end != next)
            continue;
        const uint64_t last = base + m_offsets.back();
        if (isStrict && (last >= m_file.Size() || FindEndOfBatch(last, valueBytes, true) != m_file.Size()))
            continue;
        m_base = base;
        m_valueBytes = valueBytes;
        return true;
    }
    return false;
}

// Finds the layout. The batches begin after the offsets, or after one more number, the rows of a batch. Offsets count
// from the beginning of the file, from the end of the offsets or from after that number; values have 4 or 8 bytes. The
// right layout lets the first batch end where the second begins or the file ends. Among several, it is the one whose
// column starts are valid and whose last batch ends the file.
void LibSvmFile::FindLayout(size_t ownValueBytes)
{
    const size_t otherValueBytes = ownValueBytes == sizeof(float) ? sizeof(double) : sizeof(float);
    for (const bool isStrict : {true, false})
    {
        if (FindLayout(ownValueBytes, isStrict) || FindLayout(otherValueBytes, isStrict))
            return;
    }
    m_cursor.Enter("batch", 0, m_dataBegin);
    m_cursor.FailAtByte(m_dataBegin, Concat("expected a batch that ends where ",
                                            m_offsets.size() > 1 ? "the next one begins" : "the file ends",
                                            ", with values of 4 or 8 bytes, found none; the offset of the batch is ",
                                            int64_t(m_offsets[0])));
}

void LibSvmFile::CountRecords()
{
    m_firstRecords.assign(1, 0);
    for (size_t batch = 0; batch < m_offsets.size(); ++batch)
    {
        const size_t offsetAt = m_offsetsAt + batch * sizeof(int64_t);
        m_cursor.Enter("batch", batch, offsetAt);
        if (m_offsets[batch] >= m_file.Size() - m_base || Begin(batch) < m_dataBegin)
            m_cursor.FailAtByte(offsetAt,
                                Concat("expected its offset, a number of ", m_base < m_dataBegin ? m_dataBegin : 0,
                                       " to ", m_file.Size() - m_base - 1, ", found ", int64_t(m_offsets[batch])));
        m_cursor.Enter("batch", batch, Begin(batch));
        const size_t most = m_headerRows - m_firstRecords.back();
        m_firstRecords.push_back(m_firstRecords.back() + m_cursor.TakeCount<int32_t>(c_rowsName, 0, most));
    }
    m_cursor.Enter(nullptr, 0, 0);
    if (Records() != m_headerRows)
        m_cursor.FailAtByte(
            0, Concat("expected the number of rows, ", Records(), " in all batches, found ", m_headerRows));
}

size_t LibSvmFile::BatchOf(size_t record) const
{
    const auto behind = std::upper_bound(m_firstRecords.begin(), m_firstRecords.end(), record);
    return size_t(behind - m_firstRecords.begin()) - 1;
}

template <class ElemType>
void LibSvmFile::Read(size_t batch, LibSvmBatch<ElemType>& target)
{
    m_cursor.Enter("batch", batch, Begin(batch));
    target.records = m_cursor.TakeCount<int32_t>(c_rowsName, 0, m_headerRows);
    target.streams.resize(m_streams.size());
    for (size_t i = 0; i < m_streams.size(); ++i)
    {
        const LibSvmStream& info = m_streams[i];
        auto& stream = target.streams[i];
        stream.values.clear();
        stream.rowIndices.clear();
        stream.columnStarts.clear();
        if (info.isLabel)
        {
            m_cursor.AppendValues(stream.values, target.records * info.dim, m_valueBytes, "values of the label");
            continue;
        }
        const size_t count = m_cursor.TakeCount<int32_t>(c_valueCountName, 0, INT32_MAX);
        m_cursor.AppendValues(stream.values, count, m_valueBytes, "values");
        m_cursor.Append<int32_t>(stream.rowIndices, count, "rows of the values");
        CheckRowIndices(m_cursor, info.name, info.dim, stream.rowIndices, 0);
        const size_t startsAt = m_cursor.Position();
        m_cursor.Append<int32_t>(stream.columnStarts, target.records + 1, c_startsName);
        for (size_t k = 0; k <= target.records; ++k)
        {
            const size_t least = k == 0 ? 0 : k == target.records ? count : size_t(stream.columnStarts[k - 1]);
            const size_t most = k == 0 ? 0 : count;
            const int32_t start = stream.columnStarts[k];
            if (start < 0 || size_t(start) < least || size_t(start) > most)
                m_cursor.FailAtByte(startsAt + k * sizeof(int32_t),
                                    Concat("expected the start of column ", k, " of '", info.name, "', a number of ",
                                           least, " to ", most, ", found ", start));
        }
    }
}

template void LibSvmFile::Read(size_t, LibSvmBatch<float>&);
template void LibSvmFile::Read(size_t, LibSvmBatch<double>&);

namespace
{

constexpr const char* c_readerName = "LibSVMBinaryReader";
constexpr const char* c_pairLabels = "DSSMLabel"; // the input node that gets a 1 in its first row

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
            Opt("minibatch", &S::minibatch, "Records of a minibatch; 0: the learner's minibatchSize"),
            Opt("randomize", &S::randomize, "records come in the order of the file").WithoutEffect(),
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
        constexpr const char* inFile = "the file describes its streams";
        return {
            Opt("rename", &S::rename,
                "The input node for the stream that has the block's name in the file. The two names may also be "
                "exchanged")
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
                "Rows of the labels that an input node of this name gets although the file has no such stream; each "
                "has a 1 "
                "in the first row. 0: as many as the node has",
                Range{0, double(INT32_MAX)})
                .Here(),
            Opt("dim", &S::dim, "Used if labelDim is missing", Range{0, double(INT32_MAX)}).Here(),
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

// Names the streams of the file as the blocks say.
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
                   streams[i].name, "' by rename; each needs a different name");
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
