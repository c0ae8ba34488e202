// Files of sparse rows, and pairs of rows.
#include "Readers/DSSMReader/DssmReader.h"

#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/ReaderOptions.h"

namespace cntk
{
namespace
{

constexpr const char* c_readerName = "DSSMReader";
constexpr size_t c_files = 2;

struct DssmOptions
{
    RandomizeWindow randomize;
    bool fullMinibatches = false;
    int traceLevel = 0;

    static OptionTable<DssmOptions> Options()
    {
        using S = DssmOptions;
        return {
            Opt("randomize", &S::randomize,
                "Order of the pairs: shuffled over the epoch (auto), in the order of the file (none), or shuffled in "
                "blocks of this number of pairs"),
            MinibatchMode(&S::fullMinibatches),
            Opt("traceLevel", &S::traceLevel, "Amount of printing: 1 names the files"),
        };
    }
};

struct DssmFeatureOptions
{
    std::string file;
    size_t dim = 0;

    static OptionTable<DssmFeatureOptions> Options()
    {
        using S = DssmFeatureOptions;
        return {
            Opt("file", &S::file,
                "Required. The binary file of the documents (the alphabetically first block) or of "
                "the queries (the second)")
                .Required()
                .InputFile(),
            Opt("dim", &S::dim, "Required. Number of elements of a row; no less than the file's columns",
                Range{1, double(INT32_MAX)})
                .Required()
                .Here(),
        };
    }
};

struct DssmLabelOptions
{
    size_t labelDim = 0;
    size_t dim = 0;
    std::string labelType;
    std::string labelMappingFile;

    static OptionTable<DssmLabelOptions> Options()
    {
        using S = DssmLabelOptions;
        return {
            Opt("labelDim", &S::labelDim,
                "Rows of the label, with a 1 in the first row; 0: as many as the input node has",
                Range{0, double(INT32_MAX)})
                .Here(),
            Opt("dim", &S::dim, "Used if labelDim is missing", Range{0, double(INT32_MAX)}).Here(),
            Opt("labelType", &S::labelType, "").WithoutEffect().Here(),
            Opt("labelMappingFile", &S::labelMappingFile, "").WithoutEffect().Here(),
        };
    }
};

} // namespace

template <class ElemType>
DssmFile<ElemType>::DssmFile(const std::string& path, const std::string& stream, size_t dim)
    : m_file(path), m_cursor(m_file)
{
    m_rows = m_cursor.TakeCount<int64_t>("the number of rows", 1, m_file.Size() / sizeof(int64_t));
    const size_t columnsAt = m_cursor.Position();
    const size_t columns = m_cursor.TakeCount<int32_t>("the number of columns", 1, INT32_MAX);
    if (columns > dim)
        m_cursor.FailAtByte(columnsAt, Concat("expected at most dim=", Counted(dim, "column"), ", found ", columns));
    const size_t values = m_cursor.TakeCount<int64_t>("the number of values", 0, m_file.Size() / sizeof(int64_t));
    m_dataBegin = m_cursor.Position() + m_rows * sizeof(int64_t);
    m_cursor.Append<int64_t>(m_offsets, m_rows, "the offsets of the rows");
    m_column = std::make_unique<SparseColumnReader<ElemType>>(stream, columns, FindValueBytes(values));
    // Offsets count from the beginning of the file or from the first row, which follows the offsets.
    const size_t base = m_offsets[0] == 0 ? m_dataBegin : 0;
    if (base + m_offsets[0] != m_dataBegin)
        m_cursor.FailAtByte(
            m_dataBegin - m_rows * sizeof(int64_t),
            Concat("expected the offset of the first row, 0 or ", m_dataBegin, ", found ", int64_t(m_offsets[0])));
    for (size_t row = 0; row < m_rows; ++row)
    {
        if (m_offsets[row] >= m_file.Size() - base)
            m_cursor.FailAtByte(m_dataBegin - (m_rows - row) * sizeof(int64_t),
                                Concat("expected the offset of row ", row, ", a number below ", m_file.Size() - base,
                                       ", found ", int64_t(m_offsets[row])));
        m_offsets[row] += base;
    }
}

// Finds the size of a value, 4 or 8 bytes, from the size of the file: rows are counts, values and row indices. The
// precision of the network does not matter.
template <class ElemType>
size_t DssmFile<ElemType>::FindValueBytes(size_t values)
{
    const size_t counts = m_rows * sizeof(int32_t);
    const size_t found = m_file.Size() - m_dataBegin;
    for (const size_t valueBytes : {sizeof(ElemType), sizeof(float), sizeof(double)})
    {
        if (found == counts + values * (valueBytes + sizeof(int32_t)))
            return valueBytes;
    }
    m_cursor.FailAtByte(m_dataBegin,
                        Concat("expected ", counts + values * (sizeof(float) + sizeof(int32_t)), " bytes of rows for ",
                               values, " values of 4 bytes or ", counts + values * (sizeof(double) + sizeof(int32_t)),
                               " for values of 8 bytes, found ", found));
}

template <class ElemType>
void DssmFile<ElemType>::Append(size_t row, StreamBatch<ElemType>& batch)
{
    m_cursor.Enter("row", row, m_offsets[row]);
    m_column->Append(m_cursor, batch.rowIndices, batch.values);
}

template <class ElemType>
DssmSource<ElemType>::DssmSource(std::vector<std::unique_ptr<DssmFile<ElemType>>> files,
                                 std::vector<StreamInfo> streams)
    : m_files(std::move(files)), m_streams(std::move(streams))
{
    if (m_files[0]->Rows() != m_files[1]->Rows())
        Fail(ErrorKind::Data, "'", m_files[0]->Path(), "' has ", Counted(m_files[0]->Rows(), "row"), ", '",
             m_files[1]->Path(), "' has ", m_files[1]->Rows(),
             "; expected the same number, since row i of both is pair i");
}

template <class ElemType>
size_t DssmSource<ElemType>::FileBytes() const
{
    size_t bytes = 0;
    for (const auto& file : m_files)
        bytes += file->Bytes();
    return bytes;
}

template <class ElemType>
void DssmSource<ElemType>::Append(size_t record, const std::vector<bool>& wanted,
                                  std::vector<StreamBatch<ElemType>>& batches)
{
    for (size_t i = 0; i < m_files.size(); ++i)
    {
        if (wanted[i])
            m_files[i]->Append(record, batches[i]);
    }
    const size_t label = m_files.size();
    if (label < batches.size() && wanted[label])
    {
        batches[label].rowIndices.push_back(0);
        batches[label].values.push_back(ElemType(1));
    }
}

namespace
{

StreamBlocks FindDssmBlocks(const ConfigParameters& config)
{
    StreamBlocks blocks = FindStreamBlocks(config);
    if (blocks.features.size() != c_files)
        FailAt(config.Where(), ErrorKind::Config, "the reader has ", blocks.features.size(), " feature blocks",
               blocks.features.empty() ? "" : ", " + Join(blocks.features, ", "),
               "; expected two with dim and file each, in alphabetical order that of the documents and that of the "
               "queries");
    if (blocks.labels.size() > 1)
        FailAt(config.RequireBlock(blocks.labels[1]).Where(), ErrorKind::Config, "'", blocks.labels[0], "' and '",
               blocks.labels[1], "' are blocks of labels; expected one at most");
    return blocks;
}

} // namespace

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeDssmReader(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    auto options = ReadReaderOptions<DssmOptions>(context);
    if (context.forWriting)
        options.randomize.range = 0;
    const StreamBlocks blocks = FindDssmBlocks(config);
    std::vector<std::unique_ptr<DssmFile<ElemType>>> files;
    std::vector<StreamInfo> streams;
    for (const std::string& name : blocks.features)
    {
        const ConfigParameters& block = config.RequireBlock(name);
        const auto feature = ReadOptions<DssmFeatureOptions>(block);
        StreamInfo stream;
        stream.name = name;
        stream.rows = feature.dim;
        stream.sparse = true;
        stream.source = Concat("'", feature.file, "', ", SettingText(block, "dim", feature.dim));
        streams.push_back(std::move(stream));
        files.push_back(WithPosition(
            block.WhereOf("file"),
            [&] { return std::make_unique<DssmFile<ElemType>>(ResolveInputPath(feature.file), name, feature.dim); }));
        if (options.traceLevel > 0)
            context.log.Print("%s: %zu rows in '%s'\n", c_readerName, files.back()->Rows(), feature.file.c_str());
    }
    for (const std::string& name : blocks.labels)
    {
        const ConfigParameters& block = config.RequireBlock(name);
        const auto label = ReadOptions<DssmLabelOptions>(block);
        const size_t dim = label.labelDim > 0 ? label.labelDim : label.dim;
        StreamInfo stream;
        stream.name = name;
        stream.rows = dim > 0 ? dim : StreamInfo::c_rowsOfNode;
        stream.sparse = true;
        stream.isLabel = true;
        stream.source = SettingText(block, label.labelDim > 0 ? "labelDim" : "dim", dim);
        streams.push_back(std::move(stream));
    }
    SparseRecordOptions records;
    records.readerName = c_readerName;
    records.walk = {options.randomize.range, options.fullMinibatches};
    auto source = WithPosition(
        config.Where(), [&] { return std::make_unique<DssmSource<ElemType>>(std::move(files), std::move(streams)); });
    return std::make_unique<SparseRecordReader<ElemType>>(std::move(source), records, context.log);
}

void DescribeDssmOptions(PluginDescription& description)
{
    AddOptions<DssmOptions>(description, "");
    AddOptions<DssmFeatureOptions>(description, "features");
    AddOptions<DssmLabelOptions>(description, "labels");
}

void AddDssmInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    for (const std::string& name : FindStreamBlocks(context.config).features)
        AddInputFiles<DssmFeatureOptions>(context.config.RequireBlock(name), files);
    ReadReaderOptions<DssmOptions>(context);
    for (const std::string& name : FindDssmBlocks(context.config).labels)
        ReadOptions<DssmLabelOptions>(context.config.RequireBlock(name));
}

template class DssmFile<float>;
template class DssmFile<double>;
template class DssmSource<float>;
template class DssmSource<double>;
template std::unique_ptr<IDataReader<float>> MakeDssmReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeDssmReader<double>(const ReaderContext&);

} // namespace cntk
