// Headers of PNG (ISO 15948), JPEG (ITU T.81, B.2), Windows bitmaps and PNM (netpbm).
#include "Common/ImageHeader.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace cntk
{

namespace
{

size_t BigEndian(std::string_view file, size_t at, size_t bytes)
{
    size_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | uint8_t(file[at + i]);
    return number;
}

size_t LittleEndian(std::string_view file, size_t at, size_t bytes)
{
    size_t number = 0;
    for (size_t i = bytes; i > 0; i--)
        number = number << 8 | uint8_t(file[at + i - 1]);
    return number;
}

// Color types 0 and 4 are grey, without and with transparency.
std::optional<ImageHeader> ReadPng(std::string_view file)
{
    if (file.size() < 26)
        return std::nullopt;
    const char type = file[25];
    return ImageHeader{BigEndian(file, 16, 4), BigEndian(file, 20, 4), type == 0 || type == 4 ? 1u : 3u};
}

// Walks over the segments to the frame header: FF C0 to FF CF, except C4, C8 and CC.
std::optional<ImageHeader> ReadJpeg(std::string_view file)
{
    size_t at = 2;
    while (at + 10 <= file.size() && uint8_t(file[at]) == 0xFF)
    {
        const uint8_t marker = uint8_t(file[at + 1]);
        const bool isFrame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
        if (isFrame)
            return ImageHeader{BigEndian(file, at + 7, 2), BigEndian(file, at + 5, 2), file[at + 9] == 1 ? 1u : 3u};
        at += marker == 0xFF ? 1 : 2 + BigEndian(file, at + 2, 2); // a marker byte may be repeated
    }
    return std::nullopt;
}

std::optional<ImageHeader> ReadBitmap(std::string_view file)
{
    constexpr size_t oldHeader = 12;
    if (file.size() < 26)
        return std::nullopt;
    if (LittleEndian(file, 14, 4) == oldHeader)
        return ImageHeader{LittleEndian(file, 18, 2), LittleEndian(file, 20, 2), 3};
    // A negative height means that the first row is at the top.
    const auto absolute = [&](size_t at)
    { return size_t(std::abs(int64_t(int32_t(uint32_t(LittleEndian(file, at, 4)))))); };
    return ImageHeader{absolute(18), absolute(22), 3};
}

// Two numbers between white space and comments follow the mark: P3 and P6 are in colour.
std::optional<ImageHeader> ReadPnm(std::string_view file)
{
    size_t numbers[2] = {0, 0};
    size_t at = 2;
    for (size_t& number : numbers)
    {
        while (at < file.size() && (std::isspace(uint8_t(file[at])) != 0 || file[at] == '#'))
            at = file[at] == '#' ? std::min(file.find('\n', at), file.size()) : at + 1;
        const size_t first = at;
        for (; at < file.size() && std::isdigit(uint8_t(file[at])) != 0 && at < first + 10; at++)
            number = 10 * number + size_t(file[at] - '0');
        if (at == first)
            return std::nullopt;
        at = std::min(at + 1, file.size()); // any byte ends a number, as for OpenCV
    }
    return ImageHeader{numbers[0], numbers[1], file[1] == '3' || file[1] == '6' ? 3u : 1u};
}

} // namespace

std::optional<ImageHeader> ReadImageHeader(std::string_view file)
{
    if (file.starts_with("\x89PNG\r\n\x1a\n"))
        return ReadPng(file);
    if (file.starts_with("\xFF\xD8\xFF"))
        return ReadJpeg(file);
    if (file.starts_with("BM"))
        return ReadBitmap(file);
    if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6')
        return ReadPnm(file);
    return std::nullopt;
}

} // namespace cntk
