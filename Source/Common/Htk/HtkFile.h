// HTK parameter files: a header of 12 bytes, then vectors of 4-byte floats, or, in kinds with _C, of 2-byte integers
// with a scale and an offset for each element. Either byte order. Also reads MNIST images (-ubyte).
#pragma once

#include "Common/File.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// The properties that all files of one stream must share.
struct HtkKind
{
    int code = 0; // base kind and qualifiers, as stored
    size_t dimension = 0;
    uint32_t period = 0; // in units of 100 ns

    bool operator==(const HtkKind& other) const;
    // Returns "33-dimensional 'USER' with frame shift 10.0 ms".
    std::string Text() const;
};

constexpr int c_htkKindUser = 9;
constexpr uint32_t c_htkPeriod10ms = 100000;
constexpr size_t c_htkHeaderBytes = 12;

class HtkFile
{
public:
    // Fails (Data) with the file and the byte.
    explicit HtkFile(const std::string& path);

    const HtkKind& Kind() const { return m_kind; }
    size_t Frames() const { return m_frames; }
    const std::string& Path() const { return m_file.Path(); }

    // Reads the frames first .. first+count-1 in order. Fails (Data) if the file has fewer, or at a NaN or infinite
    // value, with the frame and byte.
    void Read(size_t first, size_t count, float* values);

private:
    enum class Storage
    {
        Floats,
        Compressed, // value = (stored + offset) / scale
        Bytes
    };

    size_t LoadCount(const char* bytes, std::endian order, size_t position, const char* things) const;
    void ReadHtkHeader();
    void ReadImageHeader();
    [[noreturn]] void FailForKind(int otherwise) const;
    void ReadScales();
    [[noreturn]] void FailNotFinite(size_t first, const float* values) const;

    PiecewiseFile m_file;
    HtkKind m_kind;
    size_t m_frames = 0;
    Storage m_storage = Storage::Floats;
    std::endian m_order = std::endian::big; // byte order of the file
    size_t m_dataOffset = c_htkHeaderBytes;
    size_t m_frameBytes = 0;
    std::vector<float> m_scales;
    std::vector<float> m_offsets;
    std::vector<char> m_buffer;
};

// Returns a big-endian header of kind USER, 10 ms, for vectors of floats.
std::array<char, c_htkHeaderBytes> MakeHtkHeader(size_t frames, size_t dimension);

} // namespace cntk
