// The fields that Convolution and Pooling share in model files.
#pragma once

#include "ComputationNetwork/Files/ModelArchive.h"
#include "ComputationNetwork/Nodes/ImageGeometry.h"

#include <cstdint>
#include <string>

namespace cntk
{

// Fails (Model) for a number that is no layout.
ImageLayout LayoutOfFile(int64_t number);

// Kernel, maps, stride, sharing, padding, kind of pooling, layout, limit of temporary memory: version 5 and later.
void WindowFields(ModelArchive& archive, WindowSpec& spec, int32_t& poolKind, ImageLayout& layout,
                  uint64_t& maxTempMem);

// "autoPadding=true", "lowerPad=1 x 1 upperPad=0"
std::string DescribePadding(const WindowSpec& spec);

} // namespace cntk
