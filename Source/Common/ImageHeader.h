// Reads the size of an image from the header of its file, without decoding the pixels.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace cntk
{

struct ImageHeader
{
    size_t width = 0;
    size_t height = 0;
    size_t channels = 0; // 1 (grey) or 3; transparency is no channel
};

// Returns what a PNG, JPEG, BMP or PNM file promises. file: all its bytes, or the first ones up to the size. Empty for
// other formats and damaged headers.
std::optional<ImageHeader> ReadImageHeader(std::string_view file);

} // namespace cntk
