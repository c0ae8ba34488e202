// The original's binary data files: a header of 320 bytes in front of the file and of each section, sections at
// multiples of 64 KiB, numbers in little-endian order (layout: Documentation/Compatibility.md).
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
    static constexpr size_t c_mostSections = 5;    // that the original reads behind a header of 320 bytes
    static constexpr size_t c_mostNameBytes = 126; // with the colon and the zero behind it the description is full
    static constexpr uint16_t c_auxiliary = 2;     // a flag: one for all records, not one a record
    static constexpr uint16_t c_variableSized = 4; // a flag: records differ in size
    static constexpr uint16_t c_statistics = 1;    // a structure

    BinarySectionType type = BinarySectionType::Data;
    BinaryElement element = BinaryElement::Float;
    uint16_t elementBytes = 0; // 0: they differ
    uint16_t structure = 0;    // which, if elements are structures
    uint16_t elementsPerRecord = 0;
    uint16_t flags = 0;
    uint16_t labelKind = 0; // 0 none, 1 category, 2 regression
    uint16_t labelDim = 0;
    // Elements of all records; in the header of the file: records.
    uint64_t elements = 0;
    size_t headerBytes = c_bytes; // the data begin behind it; up to twice the usual, with room for more sections
    uint64_t bytes = 0;           // with the header
    uint64_t bytesWithSections = 0;
    std::string description;        // "name:Data Section"
    std::vector<uint64_t> sections; // positions in the file

    // "features" of "features:Data Section"
    std::string Name() const { return description.substr(0, description.find(':')); }
    size_t RecordBytes() const { return size_t(elementsPerRecord) * elementBytes; }
    // Of a section. A count that is the one of the file's header counts records, too: descriptions of the format
    // differ.
    uint64_t Records(const BinaryHeader& file) const
    {
        return elementsPerRecord == 0 || elements == file.elements ? elements : elements / elementsPerRecord;
    }

    std::array<char, c_bytes> Encode() const;
    // Fails (Data) with the file and the position.
    static BinaryHeader Read(const PiecewiseFile& file, size_t position);
};

} // namespace cntk
