// Size of an image from the header of its file. OpenCV allocates all pixels that a header promises before it reads the
// first one, so that a small damaged file could take gigabytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cntk
{

struct ImageSize
{
    uint64_t width = 0;
    uint64_t height = 0;
};

// Returns the size that a PNG, JPEG, BMP or PNM file promises. Nothing for other formats and damaged headers, which
// OpenCV refuses, or whose pixels it limits to 2^30.
std::optional<ImageSize> ReadImageSize(std::string_view file);

// Fails (Data) if the decoded pixels take more than 512 MiB and 2000 bytes for each byte of the file.
void RequireLikelySize(std::string_view file, const std::string& path);

} // namespace cntk
