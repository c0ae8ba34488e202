// DSSMReader: pairs of a document and a query, each a sparse row of a binary file of its own.
#pragma once

#include "Common/DataFile.h"
#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/BinaryCursor.h"
#include "Readers/ReaderLib/SparseColumns.h"
#include "Readers/ReaderLib/SparseRecordReader.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// One file: int64 rows, int32 columns, int64 values, an int64 offset for each row, then the rows.
template <class ElemType>
class DssmFile
{
public:
    // dim: rows of the stream, no less than the file's columns.
    DssmFile(const std::string& path, const std::string& stream, size_t dim);

    size_t Rows() const { return m_rows; }
    size_t Bytes() const { return m_file.Size(); }
    const std::string& Path() const { return m_file.Path(); }
    void Append(size_t row, StreamBatch<ElemType>& batch);

private:
    size_t FindValueBytes(size_t values);

    DataFile m_file;
    BinaryCursor m_cursor;
    size_t m_rows = 0;
    size_t m_dataBegin = 0;
    std::vector<uint64_t> m_offsets;
    std::unique_ptr<SparseColumnReader<ElemType>> m_column;
};

template <class ElemType>
class DssmSource final : public ISparseRecordSource<ElemType>
{
public:
    // streams: one for each file, then the stream of labels if there is a block for it.
    DssmSource(std::vector<std::unique_ptr<DssmFile<ElemType>>> files, std::vector<StreamInfo> streams);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    size_t FileBytes() const override;
    size_t Extend(size_t) override { return m_files[0]->Rows(); }
    size_t Known() const override { return m_files[0]->Rows(); }
    bool IsComplete() const override { return true; }
    void Append(size_t record, const std::vector<bool>& wanted, std::vector<StreamBatch<ElemType>>& batches) override;

private:
    std::vector<std::unique_ptr<DssmFile<ElemType>>> m_files;
    std::vector<StreamInfo> m_streams;
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeDssmReader(const ReaderContext& context);
void DescribeDssmOptions(PluginDescription& description);
void AddDssmInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
