// The fields that Convolution and Pooling share in model files.
#pragma once

#include "ComputationNetwork/Files/ModelArchive.h"
#include "ComputationNetwork/Nodes/ImageGeometry.h"

#include <cstdint>
#include <string>

namespace cntk
{

// Converts a layout number of a file. Fails (Model) for an unknown number.
ImageLayout LayoutOfFile(int64_t number);

// Reads or writes kernel, maps, stride, sharing, padding, kind of pooling, layout and limit of temporary memory:
// version 5 and later.
void WindowFields(ModelArchive& archive, WindowSpec& spec, int32_t& poolKind, ImageLayout& layout,
                  uint64_t& maxTempMem);

// Formats the padding: "autoPadding=true", "lowerPad=1 x 1 upperPad=0".
std::string DescribePadding(const WindowSpec& spec);

} // namespace cntk
