// Headers of PNG (ISO 15948), JPEG (ITU T.81, B.2), Windows bitmaps and PNM (netpbm).
#include "Readers/ImageReader/ImageSize.h"

#include "Common/Error.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>

namespace cntk
{

namespace
{

uint64_t BigEndian(std::string_view file, size_t at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | uint8_t(file[at + i]);
    return number;
}

uint64_t LittleEndian(std::string_view file, size_t at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i > 0; i--)
        number = number << 8 | uint8_t(file[at + i - 1]);
    return number;
}

std::optional<ImageSize> SizeOfJpeg(std::string_view file)
{
    size_t at = 2;
    while (at + 9 <= file.size() && uint8_t(file[at]) == 0xFF)
    {
        const uint8_t marker = uint8_t(file[at + 1]);
        const bool isFrame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
        if (isFrame)
            return ImageSize{BigEndian(file, at + 7, 2), BigEndian(file, at + 5, 2)};
        at += marker == 0xFF ? 1 : 2 + size_t(BigEndian(file, at + 2, 2)); // a marker byte may be repeated
    }
    return std::nullopt;
}

std::optional<ImageSize> SizeOfBitmap(std::string_view file)
{
    constexpr size_t oldHeader = 12;
    if (file.size() < 26)
        return std::nullopt;
    if (LittleEndian(file, 14, 4) == oldHeader)
        return ImageSize{LittleEndian(file, 18, 2), LittleEndian(file, 20, 2)};
    // A negative height means that the first row is at the top.
    const auto absolute = [&](size_t at)
    { return uint64_t(std::abs(int64_t(int32_t(uint32_t(LittleEndian(file, at, 4)))))); };
    return ImageSize{absolute(18), absolute(22)};
}

// Two numbers between white space and comments after the mark, such as "P6".
std::optional<ImageSize> SizeOfPnm(std::string_view file)
{
    uint64_t numbers[2] = {0, 0};
    size_t at = 2;
    for (uint64_t& number : numbers)
    {
        while (at < file.size() && (std::isspace(uint8_t(file[at])) != 0 || file[at] == '#'))
            at = file[at] == '#' ? std::min(file.find('\n', at), file.size()) : at + 1;
        const size_t first = at;
        for (; at < file.size() && std::isdigit(uint8_t(file[at])) != 0 && at < first + 10; at++)
            number = 10 * number + uint64_t(file[at] - '0');
        if (at == first)
            return std::nullopt;
    }
    return ImageSize{numbers[0], numbers[1]};
}

} // namespace

std::optional<ImageSize> ReadImageSize(std::string_view file)
{
    if (file.starts_with("\x89PNG\r\n\x1a\n") && file.size() >= 24)
        return ImageSize{BigEndian(file, 16, 4), BigEndian(file, 20, 4)};
    if (file.starts_with("\xFF\xD8\xFF"))
        return SizeOfJpeg(file);
    if (file.starts_with("BM"))
        return SizeOfBitmap(file);
    if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6')
        return SizeOfPnm(file);
    return std::nullopt;
}

void RequireLikelySize(std::string_view file, const std::string& path)
{
    constexpr uint64_t channels = 3;
    const uint64_t mostPixels = ((uint64_t(512) << 20) + 2000 * uint64_t(file.size())) / channels;
    const std::optional<ImageSize> size = ReadImageSize(file);
    if (size && size->height != 0 && size->width > mostPixels / size->height)
        Fail(ErrorKind::Data, "image '", path, "' is damaged: it promises ", size->width, " x ", size->height,
             " pixels; expected at most ", mostPixels, " pixels in ", file.size(), " bytes");
}

} // namespace cntk
