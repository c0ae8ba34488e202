// Headers and vectors of HTK files.
#include "Common/Htk/HtkFile.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace cntk
{
namespace
{

constexpr int c_baseMask = 077;
constexpr int c_kindFeatureStream = 12;
constexpr size_t c_streamIdBytes = 16; // of a FESTREAM file, after the header
constexpr int c_compressed = 02000;
constexpr int c_checksum = 010000;
constexpr int c_vectorQuantized = 040000;
constexpr size_t c_scalesInFrames = 4;          // a compressed file counts its scales and offsets as 4 vectors
constexpr uint32_t c_exponentBits = 0x7F800000; // all set: infinite or NaN
constexpr uint32_t c_imageMagic = 2051;
constexpr size_t c_imageHeaderBytes = 16;

struct NamedKind
{
    int code;
    const char* name;
};
constexpr NamedKind c_kinds[] = {{6, "MFCC"}, {7, "FBANK"}, {11, "PLP"}, {c_htkKindUser, "USER"}};
constexpr NamedKind c_qualifiers[] = {{0100, "_E"},   {0200, "_N"},         {0400, "_D"},
                                      {01000, "_A"},  {c_compressed, "_C"}, {04000, "_Z"},
                                      {010000, "_K"}, {020000, "_0"},       {0100000, "_T"}};

// Drops the bits about storage, which does not matter to the reader of the values.
int ComparableCode(int code)
{
    return code & ~(c_compressed | c_checksum);
}

uint32_t Swap(uint32_t value)
{
    return __builtin_bswap32(value);
}
uint16_t Swap(uint16_t value)
{
    return __builtin_bswap16(value);
}

// Loads a number of that byte order.
template <class T>
T Load(const char* bytes, std::endian order)
{
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return order == std::endian::native ? value : Swap(value);
}

bool IsFinite(float value)
{
    return (std::bit_cast<uint32_t>(value) & c_exponentBits) != c_exponentBits;
}

// Four numbers at once: otherwise the compiler swaps bytes one by one.
using Bits = uint32_t __attribute__((vector_size(16)));
constexpr size_t c_bits = sizeof(Bits) / sizeof(uint32_t);

// Converts stored values to this machine's byte order. Returns false if one is NaN or infinite: it would spoil the mean
// of the whole corpus, and a later message could only name a minibatch.
template <std::endian order>
bool TakeFloats(float* values, size_t count)
{
    Bits isBad = {};
    size_t i = 0;
    for (; i + c_bits <= count; i += c_bits)
    {
        Bits bits;
        std::memcpy(&bits, values + i, sizeof bits);
        if constexpr (order != std::endian::native)
        {
            bits = (bits & 0x00FF00FFu) << 8 | (bits >> 8 & 0x00FF00FFu);
            bits = bits << 16 | bits >> 16;
            std::memcpy(values + i, &bits, sizeof bits);
        }
        isBad |= Bits((bits & c_exponentBits) == c_exponentBits);
    }
    for (; i < count; ++i)
    {
        const uint32_t bits = Load<uint32_t>(reinterpret_cast<const char*>(values + i), order);
        std::memcpy(values + i, &bits, sizeof bits);
        isBad[0] |= uint32_t((bits & c_exponentBits) == c_exponentBits);
    }
    const Bits none = {};
    return std::memcmp(&isBad, &none, sizeof isBad) == 0;
}

bool IsKnownKind(int code)
{
    const int base = code & c_baseMask;
    return base == c_kindFeatureStream || std::any_of(std::begin(c_kinds), std::end(c_kinds),
                                                      [&](const NamedKind& kind) { return kind.code == base; });
}

bool EndsWithUbyte(const std::string& path)
{
    return path.ends_with("-ubyte");
}

std::string ExistingPath(const std::string& path)
{
    std::string resolved = ResolveInputPath(path);
    if (!FileExists(resolved))
        Fail(ErrorKind::Data, "feature file '", resolved, "' does not exist", NearFilesHint(resolved));
    return resolved;
}

} // namespace

bool HtkKind::operator==(const HtkKind& other) const
{
    return ComparableCode(code) == ComparableCode(other.code) && dimension == other.dimension && period == other.period;
}

std::string HtkKind::Text() const
{
    std::string name = "kind " + std::to_string(code & c_baseMask);
    for (const NamedKind& kind : c_kinds)
        if (kind.code == (code & c_baseMask))
            name = kind.name;
    for (const NamedKind& qualifier : c_qualifiers)
        if ((code & qualifier.code) != 0)
            name += qualifier.name;
    char text[120];
    std::snprintf(text, sizeof text, "%zu-dimensional '%s' with frame shift %.1f ms", dimension, name.c_str(),
                  double(period) / 10000);
    return text;
}

HtkFile::HtkFile(const std::string& path) : m_file(ExistingPath(path))
{
    if (EndsWithUbyte(m_file.Path()))
        ReadImageHeader();
    else
        ReadHtkHeader();
}

// Loads a count; both kinds of file store a signed number.
size_t HtkFile::LoadCount(const char* bytes, std::endian order, size_t position, const char* things) const
{
    const auto count = int32_t(Load<uint32_t>(bytes, order));
    if (count < 0)
        Fail(ErrorKind::Data, "feature file '", Path(), "', byte ", position, ": the number of ", things, " is ", count,
             ", expected 0 or more");
    return size_t(count);
}

void HtkFile::ReadHtkHeader()
{
    if (m_file.Size() < c_htkHeaderBytes)
        Fail(ErrorKind::Data, "feature file '", Path(), "' has ", Counted(m_file.Size(), "byte"),
             ", expected an HTK header of ", c_htkHeaderBytes);
    char header[c_htkHeaderBytes];
    m_file.Read(0, header, sizeof header);
    // A frame shift is a small number of 100 ns, so the smaller reading is right.
    constexpr std::endian big = std::endian::big, little = std::endian::little;
    m_order = Load<uint32_t>(header + 4, big) < Load<uint32_t>(header + 4, little) ? big : little;
    m_kind.period = Load<uint32_t>(header + 4, m_order);
    m_kind.code = Load<uint16_t>(header + 10, m_order);
    if (!IsKnownKind(m_kind.code))
        FailForKind(Load<uint16_t>(header + 10, m_order == big ? little : big));
    m_frames = LoadCount(header, m_order, 0, "vectors");
    m_frameBytes = Load<uint16_t>(header + 8, m_order);
    if ((m_kind.code & c_baseMask) == c_kindFeatureStream)
    {
        m_kind.code = (m_kind.code & ~c_baseMask) | c_htkKindUser;
        m_dataOffset += c_streamIdBytes;
    }
    if ((m_kind.code & c_vectorQuantized) != 0)
        Fail(ErrorKind::Data, "feature file '", Path(),
             "', byte 10: vector-quantized features (_V) are not supported, expected vectors of numbers");
    const bool isCompressed = (m_kind.code & c_compressed) != 0;
    const size_t elementBytes = isCompressed ? sizeof(int16_t) : sizeof(float);
    if (m_frameBytes == 0 || m_frameBytes % elementBytes != 0)
        Fail(ErrorKind::Data, "feature file '", Path(), "', byte 8: a vector has ", Counted(m_frameBytes, "byte"),
             ", expected ", elementBytes, " for each of its elements");
    m_kind.dimension = m_frameBytes / elementBytes;
    if (isCompressed)
    {
        m_storage = Storage::Compressed;
        if (m_frames < c_scalesInFrames)
            Fail(ErrorKind::Data, "feature file '", Path(), "', byte 0: the number of vectors is ", m_frames,
                 ", expected ", c_scalesInFrames, " more than there are, as in every compressed file");
        m_frames -= c_scalesInFrames;
        ReadScales();
    }
    const size_t needed = m_dataOffset + m_frames * m_frameBytes;
    if (m_file.Size() < needed)
        Fail(ErrorKind::Data, "feature file '", Path(), "' ends at byte ", m_file.Size(), ", but its header says ",
             m_frames, " vectors of ", Counted(m_frameBytes, "byte"), ", which end at byte ", needed);
}

// otherwise: the field in the other byte order.
void HtkFile::FailForKind(int otherwise) const
{
    const std::string file = Concat("feature file '", Path(), "', byte ");
    const char* const order = m_order == std::endian::big ? "big-endian" : "little-endian";
    if (IsKnownKind(otherwise))
        Fail(ErrorKind::Data, file, "4: the sample period is ", int32_t(m_kind.period), " in units of 100 ns, ",
             m_kind.period == 0 ? "" : Concat("read as ", order, ", "), "expected the frame shift, such as ",
             c_htkPeriod10ms, " (10 ms): it shows the byte order of the file");
    Fail(ErrorKind::Data, file, "10: the parameter kind is ", m_kind.code & c_baseMask, ", read as ", order,
         ", expected MFCC (6), FBANK (7), USER (9), PLP (11) or FESTREAM (12); is it an HTK file?");
}

void HtkFile::ReadScales()
{
    const size_t dimension = m_kind.dimension;
    const size_t bytes = 2 * dimension * sizeof(float);
    if (m_file.Size() < m_dataOffset + bytes)
        Fail(ErrorKind::Data, "feature file '", Path(), "' ends at byte ", m_file.Size(),
             ", expected scales and offsets of ", Counted(dimension, "element"), " up to byte ", m_dataOffset + bytes);
    m_buffer.resize(bytes);
    m_file.Read(m_dataOffset, m_buffer.data(), bytes);
    for (size_t i = 0; i < 2 * dimension; ++i)
    {
        const uint32_t bits = Load<uint32_t>(m_buffer.data() + i * sizeof(float), m_order);
        float value;
        std::memcpy(&value, &bits, sizeof value);
        if (!IsFinite(value) || (i < dimension && value == 0))
            Fail(ErrorKind::Data, "feature file '", Path(), "', byte ", m_dataOffset + i * sizeof(float), ": the ",
                 i < dimension ? "scale" : "offset", " of element ", i % dimension, " is ", value,
                 ", expected a finite ", "number", i < dimension ? " other than 0" : "");
        (i < dimension ? m_scales : m_offsets).push_back(value);
    }
    m_dataOffset += bytes;
}

void HtkFile::ReadImageHeader()
{
    char header[c_imageHeaderBytes];
    if (m_file.Size() < sizeof header)
        Fail(ErrorKind::Data, "feature file '", Path(), "' has ", Counted(m_file.Size(), "byte"),
             ", expected an idx3 header of ", sizeof header);
    m_file.Read(0, header, sizeof header);
    const uint32_t magic = Load<uint32_t>(header, std::endian::big);
    if (magic != c_imageMagic)
        Fail(ErrorKind::Data, "feature file '", Path(), "', byte 0: the magic number is ", magic, ", expected ",
             c_imageMagic, " (idx3), since the name ends in -ubyte");
    m_storage = Storage::Bytes;
    m_frames = LoadCount(header + 4, std::endian::big, 4, "images");
    m_kind.code = c_htkKindUser;
    m_kind.period = c_htkPeriod10ms;
    m_kind.dimension =
        size_t(Load<uint32_t>(header + 8, std::endian::big)) * Load<uint32_t>(header + 12, std::endian::big);
    m_frameBytes = m_kind.dimension;
    m_dataOffset = c_imageHeaderBytes;
    if (m_frameBytes == 0 || m_frames > (m_file.Size() - m_dataOffset) / m_frameBytes)
        Fail(ErrorKind::Data, "feature file '", Path(), "' has ", Counted(m_file.Size(), "byte"),
             ", but its header says ", m_frames, " images of ", Counted(m_frameBytes, "byte"));
}

void HtkFile::Read(size_t first, size_t count, float* values)
{
    if (first + count > m_frames)
        Fail(ErrorKind::Data, "feature file '", Path(), "' has ", Counted(m_frames, "frame"), ", expected frames ",
             first, " to ", first + count - 1, ", which end at byte ", m_dataOffset + (first + count) * m_frameBytes);
    const size_t elements = count * m_kind.dimension;
    const size_t offset = m_dataOffset + first * m_frameBytes;
    if (m_storage == Storage::Floats)
    {
        m_file.Read(offset, reinterpret_cast<char*>(values), elements * sizeof(float));
        const bool areFinite = m_order == std::endian::big ? TakeFloats<std::endian::big>(values, elements)
                                                           : TakeFloats<std::endian::little>(values, elements);
        if (!areFinite)
            FailNotFinite(first, values);
        return;
    }
    m_buffer.resize(count * m_frameBytes);
    m_file.Read(offset, m_buffer.data(), m_buffer.size());
    if (m_storage == Storage::Bytes)
    {
        for (size_t i = 0; i < elements; ++i)
            values[i] = float(uint8_t(m_buffer[i]));
        return;
    }
    const char* stored = m_buffer.data();
    for (size_t frame = 0; frame < count; ++frame)
    {
        for (size_t i = 0; i < m_kind.dimension; ++i, stored += sizeof(int16_t))
            *values++ = (float(int16_t(Load<uint16_t>(stored, m_order))) + m_offsets[i]) / m_scales[i];
    }
}

void HtkFile::FailNotFinite(size_t first, const float* values) const
{
    size_t i = 0;
    while (IsFinite(values[i]))
        ++i;
    const size_t frame = first + i / m_kind.dimension;
    const size_t element = i % m_kind.dimension;
    Fail(ErrorKind::Data, "feature file '", Path(), "', byte ",
         m_dataOffset + frame * m_frameBytes + element * sizeof(float), ": element ", element, " of frame ", frame,
         " is ", values[i], ", expected a finite number");
}

std::array<char, c_htkHeaderBytes> MakeHtkHeader(size_t frames, size_t dimension)
{
    std::array<char, c_htkHeaderBytes> header;
    const uint32_t frames32 = Swap(uint32_t(frames));
    const uint32_t period = Swap(c_htkPeriod10ms);
    const uint16_t bytes = Swap(uint16_t(dimension * sizeof(float)));
    const uint16_t kind = Swap(uint16_t(c_htkKindUser));
    std::memcpy(header.data(), &frames32, sizeof frames32);
    std::memcpy(header.data() + 4, &period, sizeof period);
    std::memcpy(header.data() + 8, &bytes, sizeof bytes);
    std::memcpy(header.data() + 10, &kind, sizeof kind);
    return header;
}

} // namespace cntk
