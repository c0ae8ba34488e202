// SparsePCReader: records of sparse features and one label value from one binary file, in the order of the file.
#pragma once

#include "Common/DataFile.h"
#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/BinaryCursor.h"
#include "Readers/ReaderLib/ReaderOptions.h"
#include "Readers/ReaderLib/SparseColumns.h"
#include "Readers/ReaderLib/SparseRecordReader.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct SparsePcOptions
{
    std::string file;
    size_t microbatchSize = 1;
    int traceLevel = 0;
    size_t maxReadData = 0;
    bool gradientCheck = false;
    bool returnDense = false;
    size_t sparsenessFactor = 50;
    int verificationCode = 0;
    std::string randomize;

    static OptionTable<SparsePcOptions> Options();
};

struct SparsePcFeatureOptions
{
    size_t dim = 0;

    static OptionTable<SparsePcFeatureOptions> Options();
};

struct SparsePcLabelOptions
{
    size_t labelDim = 1;
    size_t dim = 1;
    std::string labelType;
    std::string labelMappingFile;

    static OptionTable<SparsePcLabelOptions> Options();
};

template <class ElemType>
class SparsePcSource final : public ISparseRecordSource<ElemType>
{
public:
    // streams: the features in the order of a record, then the label if the network has an input for it.
    SparsePcSource(const SparsePcOptions& options, std::vector<StreamInfo> streams, size_t features);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    size_t FileBytes() const override { return m_file.Size(); }
    size_t Extend(size_t wanted) override;
    size_t Known() const override { return m_offsets.size(); }
    bool IsComplete() const override { return m_end >= m_limit; }
    void Append(size_t record, const std::vector<bool>& wanted, std::vector<StreamBatch<ElemType>>& batches) override;

private:
    SparsePcOptions m_options;
    std::vector<StreamInfo> m_streams;
    std::vector<SparseColumnReader<ElemType>> m_features; // in the order of a record
    DataFile m_file;
    BinaryCursor m_indexer; // goes through the file once
    BinaryCursor m_cursor;
    std::vector<size_t> m_offsets;  // of the known records
    size_t m_end = 0;               // end of the last known record
    size_t m_limit = 0;             // records that begin at this byte or later are not read
    std::vector<ElemType> m_values; // of a record that becomes dense
    std::vector<int32_t> m_rows;
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeSparsePcReader(const ReaderContext& context);
void DescribeSparsePcOptions(PluginDescription& description);
void AddSparsePcInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
