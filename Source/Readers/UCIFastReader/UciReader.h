// UCIFastReader: a FrameReader over the records of a UCI text file.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/FrameReader.h"
#include "Readers/ReaderLib/LabelMap.h"
#include "Readers/ReaderLib/LineIndex.h"
#include "Readers/UCIFastReader/UciOptions.h"
#include "Readers/UCIFastReader/UciParser.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

template <class ElemType>
class UciSource final : public IRecordSource<ElemType>
{
public:
    UciSource(const UciConfig& config, Log& log);

    size_t Extend(size_t wanted) override { return m_lines.Extend(wanted); }
    size_t Known() const override { return m_lines.Known(); }
    bool IsComplete() const override { return m_lines.IsComplete(); }
    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    size_t FileBytes() const override { return m_lines.Text().size(); }
    void Parse(size_t first, size_t count, std::span<const RecordTarget<ElemType>> targets) override;
    std::vector<std::string> CreateLabelMaps() override { return m_createdMaps; }

private:
    void LoadLabelMap(const UciBlock& block, LabelMap& labels, bool allowCreation, Log& log);
    size_t CheckLabelDim(const UciBlock& block, const LabelMap& labels, bool created, Log& log) const;
    void CollectLabels(const UciBlock& block, LabelMap& labels);

    UciFormat m_format;
    LineIndex m_lines;
    std::vector<std::unique_ptr<LabelMap>> m_labels; // by stream; null for numbers
    std::vector<StreamInfo> m_streams;
    std::vector<std::string> m_createdMaps;
    std::unique_ptr<UciParser<ElemType>> m_parser;
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeUciReader(const ReaderContext& context);

} // namespace cntk
