// Headers of binary data files.
#include "Readers/BinaryReader/BinaryFormat.h"

#include "Common/Error.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cntk
{
namespace
{

static_assert(std::endian::native == std::endian::little, "headers are copied as they stand in memory");

constexpr uint16_t c_fileMagic = 0xACE9;
constexpr uint16_t c_sectionMagic = 0x4ACE;
constexpr uint16_t c_unfinishedMagic = 0xBAD1;
constexpr uint16_t c_version = 0x0100;
constexpr size_t c_descriptionAt = 128;
constexpr size_t c_descriptionBytes = 128;
constexpr size_t c_sectionsAt = 272;

template <class T>
void Put(std::array<char, BinaryHeader::c_bytes>& header, size_t offset, T value)
{
    std::memcpy(header.data() + offset, &value, sizeof value);
}

template <class T>
T Take(const std::array<char, BinaryHeader::c_bytes>& header, size_t offset)
{
    T value;
    std::memcpy(&value, header.data() + offset, sizeof value);
    return value;
}

} // namespace

std::array<char, BinaryHeader::c_bytes> BinaryHeader::Encode() const
{
    std::array<char, c_bytes> header{};
    Put<uint16_t>(header, 0, type == BinarySectionType::File ? c_fileMagic : c_sectionMagic);
    Put<uint16_t>(header, 2, c_version);
    Put<uint16_t>(header, 4, c_bytes);
    Put<uint16_t>(header, 6, uint16_t(sections.size()));
    Put<uint16_t>(header, 8, uint16_t(type));
    Put<uint16_t>(header, 10, uint16_t(element));
    Put<uint16_t>(header, 12, elementBytes);
    Put<uint16_t>(header, 14, structure);
    Put<uint16_t>(header, 16, elementsPerRecord);
    Put<uint16_t>(header, 18, flags);
    Put<uint64_t>(header, 32, elements);
    Put<uint16_t>(header, 40, labelKind);
    Put<uint16_t>(header, 42, labelDim);
    std::memcpy(header.data() + c_descriptionAt, description.data(),
                std::min(description.size(), c_descriptionBytes - 1));
    Put<uint64_t>(header, 256, bytes);
    Put<uint64_t>(header, 264, bytesWithSections);
    for (size_t i = 0; i < sections.size(); ++i)
        Put<uint64_t>(header, c_sectionsAt + i * sizeof(uint64_t), sections[i]);
    return header;
}

BinaryHeader BinaryHeader::Read(const PiecewiseFile& file, size_t position)
{
    const bool isFile = position == 0;
    if (position > file.Size() || file.Size() - position < c_bytes)
        Fail(ErrorKind::Data, "'", file.Path(), "': expected a header of ", c_bytes, " bytes at byte ", position,
             ", found the end of the file at byte ", file.Size());
    std::array<char, c_bytes> raw;
    file.Read(position, raw.data(), raw.size());
    const auto magic = Take<uint16_t>(raw, 0);
    if (magic == c_unfinishedMagic)
        Fail(ErrorKind::Data, "'", file.Path(), "' is incomplete: its writer did not finish it");
    if (magic != (isFile ? c_fileMagic : c_sectionMagic))
        Fail(ErrorKind::Data, "'", file.Path(), "': expected the header of a ", isFile ? "binary data file" : "section",
             " at byte ", position, ", found the mark ", magic, " instead of ", isFile ? c_fileMagic : c_sectionMagic);
    const auto version = Take<uint16_t>(raw, 2);
    if (version != c_version)
        Fail(ErrorKind::Data, "'", file.Path(), "': the header at byte ", position, " is of version ", version,
             ", expected ", c_version);
    BinaryHeader header;
    header.headerBytes = Take<uint16_t>(raw, 4);
    if (header.headerBytes < c_bytes || header.headerBytes >= 2 * c_bytes)
        Fail(ErrorKind::Data, "'", file.Path(), "': the header at byte ", position, " has ", header.headerBytes,
             " bytes, expected ", c_bytes, " to ", 2 * c_bytes - 1);
    header.type = BinarySectionType(Take<uint16_t>(raw, 8));
    header.element = BinaryElement(Take<uint16_t>(raw, 10));
    header.elementBytes = Take<uint16_t>(raw, 12);
    header.elementsPerRecord = Take<uint16_t>(raw, 16);
    header.flags = Take<uint16_t>(raw, 18);
    header.elements = Take<uint64_t>(raw, 32);
    header.labelKind = Take<uint16_t>(raw, 40);
    header.labelDim = Take<uint16_t>(raw, 42);
    const char* description = raw.data() + c_descriptionAt;
    header.description.assign(description, strnlen(description, c_descriptionBytes));
    header.bytes = Take<uint64_t>(raw, 256);
    header.bytesWithSections = Take<uint64_t>(raw, 264);
    const auto count = Take<uint16_t>(raw, 6);
    const size_t most = (header.headerBytes - c_sectionsAt) / sizeof(uint64_t);
    if (count > most)
        Fail(ErrorKind::Data, "'", file.Path(), "': the header at byte ", position, " has ", count,
             " sections, expected at most ", most);
    const size_t begin = position + c_sectionsAt, bytes = count * sizeof(uint64_t);
    if (begin + bytes > file.Size())
        Fail(ErrorKind::Data, "'", file.Path(), "': expected the positions of ", count, " sections at byte ", begin,
             ", found the end of the file at byte ", file.Size());
    header.sections.resize(count);
    file.Read(begin, reinterpret_cast<char*>(header.sections.data()), bytes);
    return header;
}

} // namespace cntk
