// BinaryReader: records of numbers and class ids from the binary data files of CNTK v1.1, in the order of the file.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/BinaryReader/BinaryFormat.h"
#include "Readers/ReaderLib/FrameReader.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

template <class ElemType>
class BinarySource final : public IRecordSource<ElemType>
{
public:
    // Reads all data and label sections of the files; they must have the same number of records.
    explicit BinarySource(const std::vector<std::string>& paths);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    size_t FileBytes() const override;
    void Parse(size_t first, size_t count, std::span<const RecordTarget<ElemType>> targets) override;
    std::vector<std::string> CreateLabelMaps() override { return {}; }
    size_t Extend(size_t) override { return m_records; }
    size_t Known() const override { return m_records; }
    bool IsComplete() const override { return true; }

private:
    struct BinaryFile
    {
        explicit BinaryFile(const std::string& path) : content(path), header(BinaryHeader::Read(content, 0)) {}
        PiecewiseFile content;
        BinaryHeader header;
    };
    struct Section
    {
        const PiecewiseFile* file = nullptr;
        BinaryHeader header;
        size_t data = 0; // position of the first record
        size_t records = 0;
    };

    // parent: the stream of the enclosing section, if any.
    void AddSection(const BinaryFile& file, size_t position, size_t parent);
    void AddInnerSections(const BinaryFile& file, size_t position, const BinaryHeader& header, size_t parent);
    void AddLabelNames(const Section& section, size_t parent);
    template <class Stored>
    void ReadNumbers(const Section& section, size_t first, size_t count, ElemType* values);

    std::vector<std::unique_ptr<BinaryFile>> m_files;
    std::vector<Section> m_sections; // one a stream
    std::vector<StreamInfo> m_streams;
    size_t m_records = 0;
    std::vector<char> m_buffer;
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeBinaryReader(const ReaderContext& context);
void DescribeBinaryReaderOptions(PluginDescription& description);
void AddBinaryInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
