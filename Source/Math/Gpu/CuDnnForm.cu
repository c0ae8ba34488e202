// Translates windows over any axes to those of cuDNN.
#include "Math/Gpu/CuDnnForm.h"

#include <algorithm>
#include <climits>
#include <span>
#include <utility>

namespace cntk
{

namespace
{

struct Steps
{
    size_t input = 1;
    size_t output = 1;
};

// Nothing unless cuDNN computes the same windows from one padding for both sides, and each window overlaps the input.
std::optional<CuDnnAxis> AxisOf(const WindowAxis& a, const Steps& steps)
{
    if (a.start > 0)
        return std::nullopt;
    const size_t padding = size_t(-a.start);
    const size_t padded = a.input + 2 * padding;
    if (padding >= a.kernel || padded < a.kernel || (padded - a.kernel) / a.stride + 1 != a.windows)
        return std::nullopt;
    return CuDnnAxis{int(a.input),   int(a.kernel),    int(a.stride),    int(padding),
                     int(a.windows), int(steps.input), int(steps.output)};
}

bool FitsIntegers(const WindowGeometry& geometry)
{
    for (size_t axis = 0; axis < geometry.rank; ++axis)
        if (geometry.axes[axis].kernel > INT_MAX || geometry.axes[axis].stride > INT_MAX)
            return false;
    return geometry.InputElements() <= INT_MAX && geometry.OutputElements() <= INT_MAX &&
           geometry.KernelElements() <= INT_MAX;
}

// cuDNN needs at least two axes.
void FillUp(CuDnnForm& form, int inputStep, int outputStep)
{
    if (form.rank == 1)
        form.axes[size_t(form.rank++)] = {1, 1, 1, 0, 1, inputStep, outputStep};
}

// Adds the axes that a pooling does not change: the largest becomes the channels, the others windows of one element.
// Returns false if these are too many.
bool AddWhole(CuDnnForm& form, std::span<const CuDnnAxis> whole)
{
    const auto largest = std::max_element(whole.begin(), whole.end(),
                                          [](const CuDnnAxis& a, const CuDnnAxis& b) { return a.input < b.input; });
    for (auto axis = whole.begin(); axis != whole.end(); ++axis)
    {
        if (axis == largest)
        {
            form.channels = form.maps = axis->input;
            form.channelStep = axis->inputStep;
            form.mapStep = axis->outputStep;
            continue;
        }
        if (form.rank == CuDnnForm::c_maxAxes)
            return false;
        form.axes[size_t(form.rank++)] = *axis;
    }
    return true;
}

void SortBySteps(CuDnnForm& form)
{
    for (size_t i = 1; i < size_t(form.rank); ++i)
        for (size_t j = i; j > 0 && form.axes[j - 1].inputStep < form.axes[j].inputStep; --j)
            std::swap(form.axes[j - 1], form.axes[j]);
}

} // namespace

std::optional<CuDnnForm> CuDnnForm::OfConvolution(const ConvolutionGeometry& geometry)
{
    if (geometry.rank == 0 || !FitsIntegers(geometry))
        return std::nullopt;
    CuDnnForm form;
    form.isInterleaved = geometry.weights == ConvolutionGeometry::Weights::OutputsFastest;
    const size_t mapAxis = form.isInterleaved ? 0 : geometry.rank - 1;
    Steps steps;
    for (size_t axis = 0; axis < geometry.rank; ++axis)
    {
        const WindowAxis& a = geometry.axes[axis];
        if (!a.isShared && a.windows > 1)
            return std::nullopt;
        if (a.maps > 1 && axis != mapAxis)
            return std::nullopt;
        const bool isChannels = axis == mapAxis && a.kernel == a.input && a.windows == 1 && a.start == 0;
        if (isChannels)
        {
            form.channels = int(a.input);
            form.channelStep = int(steps.input);
            form.maps = int(a.maps);
            form.mapStep = int(steps.output);
        }
        else
        {
            const std::optional<CuDnnAxis> window = AxisOf(a, steps);
            // If the last axis has windows, there is one channel, and the maps follow all windows in memory.
            if (!window || form.rank == c_maxAxes || (axis == mapAxis && form.isInterleaved))
                return std::nullopt;
            form.axes[size_t(form.rank++)] = *window;
            if (axis == mapAxis)
            {
                form.maps = int(a.maps);
                form.channelStep = int(steps.input * a.input);
                form.mapStep = int(steps.output * a.windows);
            }
        }
        steps.input *= a.input;
        steps.output *= a.Output();
    }
    if (form.rank == 0)
        return std::nullopt;
    if (form.isInterleaved)
        FillUp(form, int(steps.input), int(steps.output));
    else
        FillUp(form, form.channelStep, form.mapStep);
    std::reverse(form.axes.begin(), form.axes.begin() + form.rank);
    return form;
}

std::optional<CuDnnForm> CuDnnForm::OfPooling(const WindowGeometry& geometry)
{
    if (geometry.rank == 0 || !FitsIntegers(geometry))
        return std::nullopt;
    // Axes that the pooling does not change. Adjacent ones are merged.
    std::array<CuDnnAxis, TensorShape::c_maxRank> whole;
    size_t wholes = 0;
    bool follows = false;
    CuDnnForm form;
    Steps steps;
    for (size_t axis = 0; axis < geometry.rank; ++axis)
    {
        const WindowAxis& a = geometry.axes[axis];
        if (a.maps != 1)
            return std::nullopt;
        const std::optional<CuDnnAxis> window = AxisOf(a, steps);
        if (!window)
            return std::nullopt;
        if (a.kernel == 1 && a.stride == 1)
        {
            if (follows)
                whole[wholes - 1].input = whole[wholes - 1].windows = whole[wholes - 1].input * int(a.input);
            else if (a.input > 1)
                whole[wholes++] = *window;
            follows = wholes > 0 && (follows || a.input > 1);
        }
        else
        {
            if (form.rank == c_maxAxes)
                return std::nullopt;
            form.axes[size_t(form.rank++)] = *window;
            follows = false;
        }
        steps.input *= a.input;
        steps.output *= a.windows;
    }
    if (form.rank == 0)
        return std::nullopt;
    form.channelStep = int(steps.input);
    form.mapStep = int(steps.output);
    if (!AddWhole(form, std::span(whole).first(wholes)))
        return std::nullopt;
    FillUp(form, int(steps.input), int(steps.output));
    SortBySteps(form);
    return form;
}

} // namespace cntk
