// LibSVMBinaryReader: records of sparse features and dense labels from a binary file that names its streams, in the
// order of the file.
#pragma once

#include "Common/DataFile.h"
#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/BinaryCursor.h"
#include "Readers/ReaderLib/SparseColumns.h"
#include "Readers/ReaderLib/SparseRecordReader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct LibSvmStream
{
    std::string name;
    size_t dim = 0;
    bool isLabel = false;
};

// The records of one batch, stream by stream.
template <class ElemType>
struct LibSvmBatch
{
    struct Stream
    {
        std::vector<ElemType> values;      // labels: dim for each record
        std::vector<int32_t> rowIndices;   // features only
        std::vector<int32_t> columnStarts; // features only: records + 1
    };
    size_t records = 0;
    std::vector<Stream> streams;
};

class LibSvmFile
{
public:
    // ownValueBytes: 4 or 8, the assumed size of values if the file is ambiguous.
    LibSvmFile(const std::string& path, size_t ownValueBytes);

    const std::vector<LibSvmStream>& Streams() const { return m_streams; }
    const std::string& Path() const { return m_file.Path(); }
    size_t Bytes() const { return m_file.Size(); }
    size_t Records() const { return m_firstRecords.back(); }
    // Returns the batch that contains the record.
    size_t BatchOf(size_t record) const;
    size_t FirstRecord(size_t batch) const { return m_firstRecords[batch]; }

    template <class ElemType>
    void Read(size_t batch, LibSvmBatch<ElemType>& target);

private:
    void ReadHeader();
    void FindLayout(size_t ownValueBytes);
    bool FindLayout(size_t valueBytes, bool isStrict);
    size_t FindEndOfBatch(size_t position, size_t valueBytes, bool checksStarts);
    bool TakeStarts(size_t rows, int32_t count);
    void CountRecords();
    size_t Begin(size_t batch) const { return m_base + m_offsets[batch]; }

    DataFile m_file;
    BinaryCursor m_cursor;
    size_t m_headerRows = 0;
    std::vector<LibSvmStream> m_streams;
    std::vector<uint64_t> m_offsets; // of the batches, from m_base
    size_t m_offsetsAt = 0;
    size_t m_dataBegin = 0;
    size_t m_base = 0;
    size_t m_valueBytes = 0;
    std::vector<size_t> m_firstRecords; // of each batch, and their total
};

template <class ElemType>
class LibSvmSource final : public ISparseRecordSource<ElemType>
{
public:
    // streams: those of the file, and possibly a stream of labels with a 1 in the first row.
    LibSvmSource(std::unique_ptr<LibSvmFile> file, std::vector<StreamInfo> streams);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    size_t FileBytes() const override { return m_file->Bytes(); }
    size_t Extend(size_t) override { return m_file->Records(); }
    size_t Known() const override { return m_file->Records(); }
    bool IsComplete() const override { return true; }
    void Append(size_t record, const std::vector<bool>& wanted, std::vector<StreamBatch<ElemType>>& batches) override;

private:
    static constexpr size_t c_none = SIZE_MAX;

    std::unique_ptr<LibSvmFile> m_file;
    std::vector<StreamInfo> m_streams;
    LibSvmBatch<ElemType> m_batch; // the batch read last
    size_t m_batchNumber = c_none;
    SparseColumnSorter<ElemType> m_sorter;
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLibSvmReader(const ReaderContext& context);
void DescribeLibSvmOptions(PluginDescription& description);
void AddLibSvmInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
