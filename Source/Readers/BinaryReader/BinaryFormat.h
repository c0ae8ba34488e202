// The binary data files of CNTK v1.1: a header of 320 bytes before the file and before each section, sections at
// multiples of 64 KiB, little-endian numbers (Documentation/Compatibility/Readers.md).
#pragma once

#include "Common/File.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

enum class BinarySectionType : uint16_t
{
    File = 1,
    Data = 2,
    Labels = 3,
    LabelMap = 4,
    Stats = 5,
    CategoryLabels = 6
};

enum class BinaryElement : uint16_t
{
    None = 0,
    Float = 1,
    String = 2,
    Int = 3,
    Struct = 4
};

struct BinaryHeader
{
    static constexpr size_t c_bytes = 320;
    static constexpr size_t c_alignment = 65536;
    static constexpr size_t c_mostSections = 5;    // the most that CNTK v1.1 reads after a header of 320 bytes
    static constexpr size_t c_mostNameBytes = 126; // with a colon and a zero after it, the name fills the description
    static constexpr uint16_t c_auxiliary = 2;     // a flag: one value for all records
    static constexpr uint16_t c_variableSized = 4; // a flag: records differ in size
    static constexpr uint16_t c_statistics = 1;    // a structure

    BinarySectionType type = BinarySectionType::Data;
    BinaryElement element = BinaryElement::Float;
    uint16_t elementBytes = 0; // 0: sizes differ
    uint16_t structure = 0;    // the structure, if elements are structures
    uint16_t elementsPerRecord = 0;
    uint16_t flags = 0;
    uint16_t labelKind = 0; // 0 none, 1 category, 2 regression
    uint16_t labelDim = 0;
    // Elements of all records; in the header of the file: the number of records.
    uint64_t elements = 0;
    size_t headerBytes = c_bytes; // the data begin after it; up to twice c_bytes, with room for more sections
    uint64_t bytes = 0;           // including the header
    uint64_t bytesWithSections = 0;
    std::string description;        // "name:Data Section"
    std::vector<uint64_t> sections; // positions in the file

    // "features" of "features:Data Section"
    std::string Name() const { return description.substr(0, description.find(':')); }
    size_t RecordBytes() const { return size_t(elementsPerRecord) * elementBytes; }
    // Returns the records of a section. Descriptions of the format differ: a count equal to the count in the file's
    // header also counts records.
    uint64_t Records(const BinaryHeader& file) const
    {
        return elementsPerRecord == 0 || elements == file.elements ? elements : elements / elementsPerRecord;
    }

    std::array<char, c_bytes> Encode() const;
    // Fails (Data) with the file and the position.
    static BinaryHeader Read(const PiecewiseFile& file, size_t position);
};

} // namespace cntk
