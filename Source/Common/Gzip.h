// Texts that gzip has compressed. They are recognised by their first bytes, whatever the file's name is.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// True for the first bytes of a gzip file. Three bytes are enough.
bool IsGzip(std::string_view firstBytes);

// Returns the content of a gzip file of one or more members. Bytes after the last member are ignored. Fails (Data) if
// the file is damaged, incomplete, or has more than 64 MiB and 256 bytes of text for each byte, and (Device) if zlib is
// not installed. file: for messages, such as "label map 'x'".
std::string Gunzip(std::string_view packed, const std::string& file);

} // namespace cntk
