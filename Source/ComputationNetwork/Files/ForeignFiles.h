// What a file is that was given as a model and is none: says so, and what to give instead.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// Always fails (Model). content: the file's bytes, which do not begin as a model does.
[[noreturn]] void FailNotAModel(std::string_view content, const std::string& path);

} // namespace cntk
