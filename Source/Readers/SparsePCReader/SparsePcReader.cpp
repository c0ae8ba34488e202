// The records of the file. A record: for each feature block, in reverse alphabetical order, an int32 count, the values,
// the int32 rows; one label value; the verification code as int32, if there is one.
#include "Readers/SparsePCReader/SparsePcReader.h"

#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr const char* c_readerName = "SparsePCReader";
constexpr const char* c_labelName = "the label value";
constexpr const char* c_codeName = "the verification code";

} // namespace

OptionTable<SparsePcOptions> SparsePcOptions::Options()
{
    using S = SparsePcOptions;
    return {
        Opt("file", &S::file, "Required. The binary file; its values have the size that precision says")
            .Required()
            .InputFile(),
        Opt("microbatchSize", &S::microbatchSize,
            "Number of records that belong together; minibatches have a multiple of it", Range{1}),
        Opt("traceLevel", &S::traceLevel, "Amount of printing: 1 names the file"),
        Opt("maxReadData", &S::maxReadData,
            "Records that begin after this number of bytes are ignored; 0: all records are read"),
        Opt("gradientCheck", &S::gradientCheck, "Each minibatch has the first records of the file again"),
        Opt("returnDense", &S::returnDense, "Deliver the features as dense columns"),
        Opt("sparsenessFactor", &S::sparsenessFactor, "memory depends on the number of values").WithoutEffect(),
        Opt("verificationCode", &S::verificationCode, "The number after each record, as a check; 0: records have none"),
        Opt("randomize", &S::randomize, "records come in the order of the file").WithoutEffect(),
    };
}

OptionTable<SparsePcFeatureOptions> SparsePcFeatureOptions::Options()
{
    using S = SparsePcFeatureOptions;
    return {Opt("dim", &S::dim,
                "Required. Number of elements of the feature. The features of a record are in reverse alphabetical "
                "order of their blocks",
                Range{1, double(INT32_MAX)})
                .Required()
                .Here()};
}

OptionTable<SparsePcLabelOptions> SparsePcLabelOptions::Options()
{
    using S = SparsePcLabelOptions;
    constexpr const char* c_notUsed = "Ignored: a record has one label value";
    return {
        Opt("labelDim", &S::labelDim, c_notUsed).Here(),
        Opt("dim", &S::dim, c_notUsed).Here(),
        Opt("labelType", &S::labelType, c_notUsed).Here(),
        Opt("labelMappingFile", &S::labelMappingFile, c_notUsed).Here(),
    };
}

template <class ElemType>
SparsePcSource<ElemType>::SparsePcSource(const SparsePcOptions& options, std::vector<StreamInfo> streams,
                                         size_t features)
    : m_options(options), m_streams(std::move(streams)), m_file(options.file), m_indexer(m_file), m_cursor(m_file)
{
    for (size_t i = 0; i < features; ++i)
        m_features.emplace_back(m_streams[i].name, m_streams[i].rows, sizeof(ElemType));
    const std::string hint =
        Concat("; the values of the file are read as numbers of ", sizeof(ElemType), " bytes, according to precision",
               options.verificationCode == 0 ? ", and records have no verificationCode" : "");
    m_indexer.SetHint(hint);
    m_cursor.SetHint(hint);
    m_limit = options.maxReadData == 0 ? m_file.Size() : std::min(options.maxReadData, m_file.Size());
    Extend(1); // the first record must be complete
}

template <class ElemType>
size_t SparsePcSource<ElemType>::Extend(size_t wanted)
{
    while (m_offsets.size() < wanted && !IsComplete())
    {
        m_indexer.Enter("record", m_offsets.size(), m_end);
        for (const SparseColumnReader<ElemType>& feature : m_features)
            feature.Skip(m_indexer);
        m_indexer.Take<ElemType>(c_labelName);
        if (m_options.verificationCode != 0)
        {
            const size_t position = m_indexer.Position();
            const auto code = m_indexer.Take<int32_t>(c_codeName);
            if (code != m_options.verificationCode)
                m_indexer.FailAtByte(position, Concat("expected verificationCode=", m_options.verificationCode,
                                                      " after the record, found ", code));
        }
        m_offsets.push_back(m_end);
        m_end = m_indexer.Position();
    }
    return m_offsets.size();
}

template <class ElemType>
void SparsePcSource<ElemType>::Append(size_t record, const std::vector<bool>& wanted,
                                      std::vector<StreamBatch<ElemType>>& batches)
{
    m_cursor.Enter("record", record, m_offsets[record]);
    for (size_t i = 0; i < m_features.size(); ++i)
    {
        StreamBatch<ElemType>& batch = batches[i];
        if (!wanted[i])
        {
            m_features[i].Skip(m_cursor);
            continue;
        }
        if (batch.sparse)
        {
            m_features[i].Append(m_cursor, batch.rowIndices, batch.values);
            continue;
        }
        m_values.clear();
        m_rows.clear();
        m_features[i].Append(m_cursor, m_rows, m_values);
        const size_t first = batch.values.size();
        batch.values.resize(first + batch.rows, ElemType(0));
        for (size_t k = 0; k < m_values.size(); ++k)
            batch.values[first + size_t(m_rows[k])] = m_values[k];
    }
    const size_t label = m_features.size();
    if (label < batches.size() && wanted[label])
        m_cursor.AppendValues(batches[label].values, 1, sizeof(ElemType), c_labelName);
}

namespace
{

StreamBlocks FindSparsePcBlocks(const ConfigParameters& config)
{
    StreamBlocks blocks = FindStreamBlocks(config);
    if (blocks.features.empty())
        FailAt(config.Where(), ErrorKind::Config,
               "the reader has no feature block; it needs one such as features=[dim=1000], named as the network's "
               "input, for each feature of a record");
    if (blocks.labels.size() > 1)
        FailAt(config.RequireBlock(blocks.labels[1]).Where(), ErrorKind::Config, "'", blocks.labels[0], "' and '",
               blocks.labels[1], "' are blocks of labels, but a record has one label value; expected one of them");
    std::reverse(blocks.features.begin(), blocks.features.end()); // their order in a record
    return blocks;
}

} // namespace

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeSparsePcReader(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    auto options = ReadReaderOptions<SparsePcOptions>(context);
    options.file = ResolveInputPath(options.file);
    const StreamBlocks blocks = FindSparsePcBlocks(config);
    std::vector<StreamInfo> streams;
    for (const std::string& name : blocks.features)
    {
        const ConfigParameters& block = config.RequireBlock(name);
        StreamInfo stream;
        stream.name = name;
        stream.rows = ReadOptions<SparsePcFeatureOptions>(block).dim;
        stream.sparse = !options.returnDense;
        stream.source = Concat("'", options.file, "', ", SettingText(block, "dim", stream.rows));
        streams.push_back(std::move(stream));
    }
    if (!blocks.labels.empty())
    {
        ReadOptions<SparsePcLabelOptions>(config.RequireBlock(blocks.labels[0]));
        StreamInfo stream;
        stream.name = blocks.labels[0];
        stream.rows = 1;
        stream.isLabel = true;
        stream.source = Concat("'", options.file, "', one value a record");
        streams.push_back(std::move(stream));
    }
    SparseRecordOptions records;
    records.readerName = c_readerName;
    records.walk.range = 0;
    records.groupSize = options.microbatchSize;
    records.repeatsFirst = options.gradientCheck;
    const size_t features = blocks.features.size();
    auto source =
        WithPosition(config.WhereOf("file"),
                     [&] { return std::make_unique<SparsePcSource<ElemType>>(options, std::move(streams), features); });
    if (options.traceLevel > 0)
        context.log.Print("%s: reading '%s'\n", c_readerName, options.file.c_str());
    return std::make_unique<SparseRecordReader<ElemType>>(std::move(source), records, context.log);
}

void DescribeSparsePcOptions(PluginDescription& description)
{
    AddOptions<SparsePcOptions>(description, "");
    AddOptions<SparsePcFeatureOptions>(description, "features");
    AddOptions<SparsePcLabelOptions>(description, "labels");
}

void AddSparsePcInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    AddInputFiles<SparsePcOptions>(context, files);
    for (const std::string& name : FindSparsePcBlocks(context.config).features)
        ReadOptions<SparsePcFeatureOptions>(context.config.RequireBlock(name));
}

template class SparsePcSource<float>;
template class SparsePcSource<double>;
template std::unique_ptr<IDataReader<float>> MakeSparsePcReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeSparsePcReader<double>(const ReaderContext&);

} // namespace cntk
