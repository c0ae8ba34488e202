// Error messages for files that were given as a model but are none: the kind of file, and the file to give instead.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// Always fails (Model). content: the file's bytes, which do not begin like a model.
[[noreturn]] void FailNotAModel(std::string_view content, const std::string& path);

} // namespace cntk
