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
    size_t FileBytes() const override { return m_lines.FileBytes(); }
    void Parse(size_t first, size_t count, std::span<const RecordTarget<ElemType>> targets) override;
    std::string PlaceOf(size_t stream, size_t record) override;
    std::vector<std::string> CreateLabelMaps() override;

private:
    // A label map that was collected from the data and is not written yet.
    struct NewMap
    {
        std::string path;
        const LabelMap* labels;
    };

    // Finds the delimiter and the header in the first lines, and turns names of columns into numbers.
    void ReadFormat(const UciConfig& config);
    std::vector<size_t> FindColumns(const UciBlock& block) const;

    // Returns false if the mapping file is missing and the labels were collected from the data.
    bool LoadLabelMap(const UciBlock& block, size_t column, LabelMap& labels, bool allowCreation);
    size_t CheckLabelDim(const UciBlock& block, const LabelMap& labels, bool made) const;
    void CollectLabels(const UciBlock& block, size_t column, LabelMap& labels);

    Log& m_log;
    UciFormat m_format;
    LineIndex m_lines;
    std::vector<std::unique_ptr<LabelMap>> m_labels; // by stream; null for numbers
    std::vector<StreamInfo> m_streams;
    std::vector<NewMap> m_newMaps;
    std::unique_ptr<UciParser<ElemType>> m_parser;
    std::vector<RecordTarget<ElemType>> m_targets; // of the current piece
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeUciReader(const ReaderContext& context);

} // namespace cntk
