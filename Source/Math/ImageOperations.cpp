// Checks arguments, then makes one call of the backend.
#include "Math/ImageOperations.h"

#include "Common/Error.h"
#include "Math/Kernels.h"
#include "Math/OperandChecks.h"

#include <functional>

namespace cntk
{

namespace
{

// The product of a property of all axes.
template <class Property>
size_t ProductOf(const WindowGeometry& geometry, Property property)
{
    size_t product = 1;
    for (size_t axis = 0; axis < geometry.rank; ++axis)
        product *= std::invoke(property, geometry.axes[axis]);
    return product;
}

} // namespace

size_t WindowGeometry::InputElements() const
{
    return ProductOf(*this, &WindowAxis::input);
}

size_t WindowGeometry::OutputElements() const
{
    return ProductOf(*this, &WindowAxis::Output);
}

size_t WindowGeometry::KernelElements() const
{
    return ProductOf(*this, &WindowAxis::kernel);
}

size_t WindowGeometry::KernelCount() const
{
    return ProductOf(*this, &WindowAxis::Kernels);
}

std::string WindowGeometry::ToString() const
{
    TensorShape kernel;
    TensorShape input;
    TensorShape output;
    for (size_t axis = 0; axis < rank; ++axis)
    {
        kernel.SetDim(axis, axes[axis].kernel);
        input.SetDim(axis, axes[axis].input);
        output.SetDim(axis, axes[axis].Output());
    }
    return Concat(kernel.ToString(), " over ", input.ToString(), " gives ", output.ToString());
}

ImageKernels& Kernels::Images()
{
    Fail(ErrorKind::Device, "this device cannot compute convolutions and pooling; run the network on the CPU "
                            "(deviceId=-1)");
}

namespace Ops
{

namespace
{

void CheckColumns(const char* operation, const char* name, const MatrixView& view, size_t rows, size_t columns,
                  const WindowGeometry& geometry)
{
    if (view.rows != rows || view.columns != columns)
        Fail(ErrorKind::Internal, operation, " of ", geometry.ToString(), ": ", name, " is ", view.rows, " x ",
             view.columns, "; expected ", rows, " x ", columns);
}

void CheckWeights(const char* operation, const MatrixView& weights, const ConvolutionGeometry& geometry)
{
    const size_t expected = geometry.KernelCount() * geometry.KernelElements();
    if (weights.Elements() != expected || !weights.IsContiguous())
        Fail(ErrorKind::Internal, operation, " of ", geometry.ToString(), ": the weights are ", weights.rows, " x ",
             weights.columns, "; expected ", expected, " elements");
}

} // namespace

void Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
              const MatrixView& output, const ConvolutionEnding& ending)
{
    ImageKernels& kernels = CheckOperands("Convolve", output, weights, input).Images();
    CheckWeights("Convolve", weights, geometry);
    CheckColumns("Convolve", "the input", input, geometry.InputElements(), output.columns, geometry);
    CheckColumns("Convolve", "the output", output, geometry.OutputElements(), input.columns, geometry);
    if (ending.bias.data)
    {
        CheckOperands("Convolve", output, ending.bias);
        CheckColumns("Convolve", "the bias", ending.bias, ProductOf(geometry, &WindowAxis::maps), 1, geometry);
    }
    if (output.Elements() > 0)
        kernels.Convolve(geometry, weights, input, output, ending);
}

void ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& gradient,
                           const MatrixView& inputGradient, bool accumulate)
{
    ImageKernels& kernels = CheckOperands("ConvolveInputGradient", gradient, weights, inputGradient).Images();
    CheckWeights("ConvolveInputGradient", weights, geometry);
    CheckColumns("ConvolveInputGradient", "the gradient", gradient, geometry.OutputElements(), inputGradient.columns,
                 geometry);
    CheckColumns("ConvolveInputGradient", "the input's gradient", inputGradient, geometry.InputElements(),
                 gradient.columns, geometry);
    if (inputGradient.Elements() > 0)
        kernels.ConvolveInputGradient(geometry, weights, gradient, inputGradient, accumulate ? 1 : 0);
}

void ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient, const MatrixView& input,
                            const MatrixView& weightGradient, bool accumulate)
{
    ImageKernels& kernels = CheckOperands("ConvolveWeightGradient", gradient, input, weightGradient).Images();
    CheckWeights("ConvolveWeightGradient", weightGradient, geometry);
    CheckColumns("ConvolveWeightGradient", "the gradient", gradient, geometry.OutputElements(), input.columns,
                 geometry);
    CheckColumns("ConvolveWeightGradient", "the input", input, geometry.InputElements(), gradient.columns, geometry);
    kernels.ConvolveWeightGradient(geometry, gradient, input, weightGradient,
                                   accumulate ? 1 : 0); // also without samples
}

void Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input, const MatrixView& output)
{
    ImageKernels& kernels = CheckOperands("Pool", output, input).Images();
    CheckColumns("Pool", "the input", input, geometry.InputElements(), output.columns, geometry);
    CheckColumns("Pool", "the output", output, geometry.OutputElements(), input.columns, geometry);
    if (output.Elements() > 0)
        kernels.Pool(kind, geometry, input, output);
}

void PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input, const MatrixView& output,
                  const MatrixView& gradient, const MatrixView& inputGradient, bool accumulate)
{
    ImageKernels& kernels = CheckOperands("PoolGradient", gradient, input, output, inputGradient).Images();
    const size_t columns = gradient.columns;
    CheckColumns("PoolGradient", "the gradient", gradient, geometry.OutputElements(), columns, geometry);
    CheckColumns("PoolGradient", "the output", output, geometry.OutputElements(), columns, geometry);
    CheckColumns("PoolGradient", "the input", input, geometry.InputElements(), columns, geometry);
    CheckColumns("PoolGradient", "the input's gradient", inputGradient, geometry.InputElements(), columns, geometry);
    if (inputGradient.Elements() > 0)
        kernels.PoolGradient(kind, geometry, input, output, gradient, inputGradient, accumulate ? 1 : 0);
}

} // namespace Ops
} // namespace cntk
