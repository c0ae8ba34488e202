// The fields that Convolution and Pooling share.
#include "ComputationNetwork/Nodes/WindowFields.h"

#include "Common/Error.h"

namespace cntk
{

ImageLayout LayoutOfFile(int64_t number)
{
    if (number != 0 && number != 1)
        Fail(ErrorKind::Model, "the image layout is ", number, "; expected 0 (HWC) or 1 (CHW)");
    return number == 0 ? ImageLayout::Hwc : ImageLayout::Chw;
}

void WindowFields(ModelArchive& archive, WindowSpec& spec, int32_t& poolKind, ImageLayout& layout, uint64_t& maxTempMem)
{
    archive.Shape(spec.kernel);
    archive.Shape(spec.mapCount);
    archive.Shape(spec.stride);
    archive.List(spec.sharing);
    archive.List(spec.autoPadding);
    archive.Shape(spec.lowerPad);
    archive.Shape(spec.upperPad);
    archive.Field(poolKind);
    int32_t number = int32_t(layout);
    archive.Field(number);
    layout = LayoutOfFile(number);
    archive.Field(maxTempMem);
}

std::string DescribePadding(const WindowSpec& spec)
{
    std::string padding;
    for (const bool isPadded : spec.autoPadding)
        padding += Concat(padding.empty() ? "" : ":", isPadded ? "true" : "false");
    const bool isExplicit = !(spec.lowerPad == TensorShape{0}) || !(spec.upperPad == TensorShape{0});
    return Concat("autoPadding=", padding,
                  isExplicit ? Concat("  lowerPad=", spec.lowerPad.ToString(), "  upperPad=", spec.upperPad.ToString())
                             : "");
}

} // namespace cntk
