// LibSVMBinaryReader: records of sparse features and dense labels from a binary file that names its streams, in their
// order.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/LibSVMBinaryReader/LibSvmFile.h"
#include "Readers/ReaderLib/SparseColumns.h"
#include "Readers/ReaderLib/SparseRecordReader.h"

#include <memory>
#include <vector>

namespace cntk
{

template <class ElemType>
class LibSvmSource final : public ISparseRecordSource<ElemType>
{
public:
    // Streams: those of the file and, behind them, perhaps one of labels that have their 1 in the first row.
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
    LibSvmBatch<ElemType> m_batch; // the one read last
    size_t m_batchNumber = c_none;
    SparseColumnSorter<ElemType> m_sorter;
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLibSvmReader(const ReaderContext& context);
void DescribeLibSvmOptions(PluginDescription& description);
void AddLibSvmInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
