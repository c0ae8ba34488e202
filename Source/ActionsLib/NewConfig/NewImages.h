// A folder of the user with one sub-folder of images a class.
#pragma once

#include "ActionsLib/NewConfig/NewConfig.h"

#include <cstddef>
#include <string>

namespace cntk
{

struct ImageSize
{
    size_t width = 0;
    size_t height = 0;
    size_t channels = 0; // 1 or 3
};

// Reads the size from the first bytes of a PNG, JPEG or PNM file. All 0: another format.
ImageSize SizeOfImage(const std::string& path);

std::string WriteImageConfig(const NewConfigRequest& request);

} // namespace cntk
