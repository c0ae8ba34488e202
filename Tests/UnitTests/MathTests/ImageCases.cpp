// Kernel cases of convolution and pooling: both memory layouts, sizes that fill no register, strides, padding, more
// axes, kernels that are not shared.
#include "MathTests/KernelCases.h"
#include "MathTests/WindowAxes.h"

namespace cntk
{

namespace
{

using Weights = ConvolutionGeometry::Weights;

struct Plane
{
    const char* name;
    size_t channels;
    size_t maps;
    WindowAxis a;
    WindowAxis b;
};

const Plane c_planes[] = {
    {"Valid", 3, 8, Axis(7, 3, 1, 0, 5), Axis(6, 2, 1, 0, 5)},
    {"Same", 1, 16, Axis(13, 5, 1, -2, 13), Axis(28, 5, 1, -2, 28)},
    {"SameDeep", 6, 20, Axis(8, 5, 1, -2, 8), Axis(9, 5, 1, -2, 9)},
    {"Even", 2, 3, Axis(5, 4, 1, -2, 5), Axis(3, 2, 1, -1, 3)},
    {"Strided", 5, 19, Axis(9, 3, 2, -1, 5), Axis(11, 3, 3, 1, 3)},
    {"Sparse", 4, 7, Axis(8, 2, 3, 0, 3), Axis(8, 1, 2, 0, 4)},
    {"Line", 2, 33, Axis(20, 7, 1, 0, 14), Axis(1, 1, 1, 0, 1)},
    {"Point", 40, 10, Axis(3, 1, 1, 0, 3), Axis(4, 1, 1, 0, 4)},
    {"BeyondTheEdge", 2, 4, Axis(3, 2, 1, -3, 8), Axis(3, 3, 2, -1, 3)},
};

ConvolutionGeometry GeometryOf(const Plane& plane, Weights weights)
{
    ConvolutionGeometry geometry;
    geometry.rank = 3;
    geometry.weights = weights;
    const WindowAxis channels{
        .input = plane.channels, .kernel = plane.channels, .stride = plane.channels, .maps = plane.maps};
    if (weights == Weights::OutputsFastest)
        geometry.axes = {channels, plane.a, plane.b};
    else
        geometry.axes = {plane.a, plane.b, channels};
    return geometry;
}

void RunConvolution(KernelCaseRun& run, const ConvolutionGeometry& geometry, size_t samples)
{
    const MatrixView weights = run.Input(geometry.KernelCount(), geometry.KernelElements());
    const MatrixView input = run.Input(geometry.InputElements(), samples, 3);
    const MatrixView output = run.Undefined(geometry.OutputElements(), samples, 1);
    Ops::Convolve(geometry, weights, input, output);
    size_t maps = 1;
    for (size_t axis = 0; axis < geometry.rank; ++axis)
        maps *= geometry.axes[axis].maps;
    const MatrixView bias = run.Input(maps, 1);
    for (const ElementwiseOp activation : {ElementwiseOp::Copy, ElementwiseOp::RectifiedLinear, ElementwiseOp::Tanh})
        Ops::Convolve(geometry, weights, input, run.Undefined(geometry.OutputElements(), samples), {bias, activation});

    const MatrixView gradient = run.Input(geometry.OutputElements(), samples, 2);
    Ops::ConvolveInputGradient(geometry, weights, gradient, run.Undefined(geometry.InputElements(), samples, 1), false);
    Ops::ConvolveInputGradient(geometry, weights, gradient, run.Output(geometry.InputElements(), samples), true);
    Ops::ConvolveWeightGradient(geometry, gradient, input,
                                run.Undefined(geometry.KernelCount(), geometry.KernelElements()), false);
    Ops::ConvolveWeightGradient(geometry, gradient, input,
                                run.Output(geometry.KernelCount(), geometry.KernelElements()), true);
}

void RunPooling(KernelCaseRun& run, const WindowGeometry& geometry, size_t samples)
{
    for (const PoolKind kind : {PoolKind::Max, PoolKind::Average})
    {
        const MatrixView input = run.Input(geometry.InputElements(), samples, 3);
        const MatrixView output = run.Undefined(geometry.OutputElements(), samples, 1);
        Ops::Pool(kind, geometry, input, output);
        const MatrixView gradient = run.Input(geometry.OutputElements(), samples);
        Ops::PoolGradient(kind, geometry, input, output, gradient, run.Undefined(geometry.InputElements(), samples, 2),
                          false);
        Ops::PoolGradient(kind, geometry, input, output, gradient, run.Output(geometry.InputElements(), samples), true);
    }
}

// Windows in each channel separately.
WindowGeometry PoolingOf(const Plane& plane, bool channelsFirst)
{
    WindowGeometry geometry;
    geometry.rank = 3;
    const WindowAxis channels{.input = plane.maps, .windows = plane.maps};
    if (channelsFirst)
        geometry.axes = {channels, plane.a, plane.b};
    else
        geometry.axes = {plane.a, plane.b, channels};
    return geometry;
}

} // namespace

std::vector<KernelCase> ImageCases()
{
    std::vector<KernelCase> cases;
    for (const Plane& plane : c_planes)
    {
        cases.push_back({std::string("Convolution") + plane.name,
                         [plane](KernelCaseRun& run)
                         {
                             for (const Weights weights : {Weights::OutputsFastest, Weights::KernelByKernel})
                                 for (const size_t samples : {1, 5, 0})
                                     RunConvolution(run, GeometryOf(plane, weights), samples);
                         },
                         1024});
        cases.push_back({std::string("Pooling") + plane.name, [plane](KernelCaseRun& run)
                         {
                             for (const bool channelsFirst : {true, false})
                                 for (const size_t samples : {1, 5, 0})
                                     RunPooling(run, PoolingOf(plane, channelsFirst), samples);
                         }});
    }
    cases.push_back({"ConvolutionOfManySamples",
                     [](KernelCaseRun& run)
                     {
                         for (const Weights weights : {Weights::OutputsFastest, Weights::KernelByKernel})
                             for (const size_t most : {0, 2})
                             {
                                 ConvolutionGeometry geometry = GeometryOf(c_planes[0], weights);
                                 geometry.mostSamplesAtOnce = most;
                                 RunConvolution(run, geometry, 70);
                             }
                     },
                     4096});
    cases.push_back({"ConvolutionWithoutSharing",
                     [](KernelCaseRun& run)
                     {
                         ConvolutionGeometry geometry;
                         geometry.rank = 3;
                         geometry.axes = {Axis(5, 3, 2, -1, 3), Axis(4, 2, 1, 0, 3), Axis(2, 2, 1, 0, 1)};
                         geometry.axes[0].isShared = false;
                         geometry.axes[2].maps = 3;
                         RunConvolution(run, geometry, 3);
                         geometry.axes[1].isShared = false;
                         geometry.axes[1].maps = 2;
                         RunConvolution(run, geometry, 2);
                     },
                     256});
    cases.push_back(
        {"WindowsOverFourAxes",
         [](KernelCaseRun& run)
         {
             ConvolutionGeometry geometry;
             geometry.rank = 4;
             geometry.axes = {Axis(4, 3, 1, -1, 4), Axis(3, 2, 1, -1, 4), Axis(5, 2, 2, 0, 2), Axis(2, 2, 1, 0, 1)};
             RunPooling(run, geometry, 3);
             geometry.axes[3].maps = 5;
             RunConvolution(run, geometry, 3);
         },
         256});
    // Each of several equal values gets the gradient.
    cases.push_back({"MaxPoolingOfTies", [](KernelCaseRun& run)
                     {
                         const WindowGeometry geometry = PoolingOf(c_planes[0], true);
                         const MatrixView input = run.Output(geometry.InputElements(), 2);
                         Ops::Fill(input, 1);
                         const MatrixView output = run.Undefined(geometry.OutputElements(), 2);
                         Ops::Pool(PoolKind::Max, geometry, input, output);
                         Ops::PoolGradient(PoolKind::Max, geometry, input, output,
                                           run.Input(geometry.OutputElements(), 2),
                                           run.Undefined(geometry.InputElements(), 2), false);
                     }});
    return cases;
}

} // namespace cntk
