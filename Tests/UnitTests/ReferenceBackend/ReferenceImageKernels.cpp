// Convolution and pooling by their definitions. Sums are in long double.
#include "ReferenceBackend/ReferenceImageKernels.h"

#include "Math/Kernels.h"
#include "Math/Operations.h"
#include "ReferenceBackend/MatrixElements.h"

#include <vector>

namespace cntk
{

namespace
{

// An element of a weight matrix, whatever its number of rows.
double GetFlat(const MatrixView& view, size_t index)
{
    return Get(view, index % view.rows, index / view.rows);
}

// One product of a convolution: output element, weight and input element; or one member of a pooling window.
struct Contact
{
    size_t output;
    size_t weight;
    size_t input;
};

size_t WeightIndex(const ConvolutionGeometry& geometry, size_t kernel, const std::vector<size_t>& cell)
{
    if (geometry.weights == ConvolutionGeometry::Weights::KernelByKernel)
    {
        size_t element = 0;
        for (size_t axis = geometry.rank; axis-- > 0;)
            element = element * geometry.axes[axis].kernel + cell[axis];
        return kernel * geometry.KernelElements() + element;
    }
    size_t column = cell[0];
    for (size_t axis = geometry.rank; axis-- > 1;)
        column = column * geometry.axes[axis].kernel + cell[axis];
    return column * geometry.KernelCount() + kernel;
}

// Calls body(contact) for each element of each window that lies inside the input.
template <class Body>
void ForEachContact(const ConvolutionGeometry& geometry, Body&& body)
{
    const size_t outputs = geometry.OutputElements();
    const size_t elements = geometry.KernelElements();
    std::vector<size_t> window(geometry.rank);
    std::vector<size_t> cell(geometry.rank);
    for (size_t output = 0; output < outputs; ++output)
    {
        size_t rest = output;
        size_t kernel = 0;
        size_t kernels = 1;
        for (size_t axis = 0; axis < geometry.rank; ++axis)
        {
            const WindowAxis& a = geometry.axes[axis];
            const size_t at = rest % a.Output();
            rest /= a.Output();
            window[axis] = at % a.windows;
            const size_t map = at / a.windows;
            if (!a.isShared)
            {
                kernel += window[axis] * kernels;
                kernels *= a.windows;
            }
            kernel += map * kernels;
            kernels *= a.maps;
        }
        for (size_t element = 0; element < elements; ++element)
        {
            size_t of = element;
            size_t input = 0;
            size_t inputs = 1;
            bool isInside = true;
            for (size_t axis = 0; axis < geometry.rank; ++axis)
            {
                const WindowAxis& a = geometry.axes[axis];
                cell[axis] = of % a.kernel;
                of /= a.kernel;
                const ptrdiff_t position = a.start + ptrdiff_t(window[axis] * a.stride + cell[axis]);
                isInside = isInside && position >= 0 && size_t(position) < a.input;
                input += size_t(position) * inputs;
                inputs *= a.input;
            }
            if (isInside)
                body(Contact{output, WeightIndex(geometry, kernel, cell), input});
        }
    }
}

ConvolutionGeometry AsConvolution(const WindowGeometry& geometry)
{
    ConvolutionGeometry result;
    static_cast<WindowGeometry&>(result) = geometry;
    return result;
}

// Returns the map of an output element.
size_t MapOf(const WindowGeometry& geometry, size_t output)
{
    size_t map = 0;
    size_t maps = 1;
    for (size_t axis = 0; axis < geometry.rank; ++axis)
    {
        const WindowAxis& a = geometry.axes[axis];
        map += output % a.Output() / a.windows * maps;
        output /= a.Output();
        maps *= a.maps;
    }
    return map;
}

} // namespace

void ReferenceImageKernels::Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                     const MatrixView& input, const MatrixView& output, const ConvolutionEnding& ending)
{
    for (size_t column = 0; column < output.columns; ++column)
    {
        std::vector<long double> sums(output.rows);
        ForEachContact(geometry,
                       [&](const Contact& contact)
                       {
                           sums[contact.output] += static_cast<long double>(GetFlat(weights, contact.weight)) *
                                                   Get(input, contact.input, column);
                       });
        for (size_t row = 0; row < output.rows; ++row)
            Set(output, row, column,
                double(sums[row]) + (ending.bias.data ? Get(ending.bias, MapOf(geometry, row), 0) : 0));
    }
    if (ending.activation != ElementwiseOp::Copy)
        Ops::Elementwise(ending.activation, output, output);
}

void ReferenceImageKernels::ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                                  const MatrixView& gradient, const MatrixView& inputGradient,
                                                  double beta)
{
    for (size_t column = 0; column < gradient.columns; ++column)
    {
        std::vector<long double> sums(inputGradient.rows);
        ForEachContact(geometry,
                       [&](const Contact& contact)
                       {
                           sums[contact.input] += static_cast<long double>(GetFlat(weights, contact.weight)) *
                                                  Get(gradient, contact.output, column);
                       });
        for (size_t row = 0; row < inputGradient.rows; ++row)
            Set(inputGradient, row, column,
                double(sums[row]) + (beta == 0 ? 0 : beta * Get(inputGradient, row, column)));
    }
}

void ReferenceImageKernels::ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                                   const MatrixView& input, const MatrixView& weightGradient,
                                                   double beta)
{
    std::vector<long double> sums(weightGradient.Elements());
    for (size_t column = 0; column < gradient.columns; ++column)
        ForEachContact(geometry,
                       [&](const Contact& contact)
                       {
                           sums[contact.weight] += static_cast<long double>(Get(gradient, contact.output, column)) *
                                                   Get(input, contact.input, column);
                       });
    for (size_t i = 0; i < sums.size(); ++i)
    {
        const size_t row = i % weightGradient.rows;
        const size_t column = i / weightGradient.rows;
        Set(weightGradient, row, column, double(sums[i]) + (beta == 0 ? 0 : beta * Get(weightGradient, row, column)));
    }
}

void ReferenceImageKernels::Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                                 const MatrixView& output)
{
    for (size_t column = 0; column < output.columns; ++column)
    {
        std::vector<long double> values(output.rows);
        std::vector<size_t> counts(output.rows);
        ForEachContact(AsConvolution(geometry),
                       [&](const Contact& contact)
                       {
                           const double x = Get(input, contact.input, column);
                           long double& value = values[contact.output];
                           if (kind == PoolKind::Average)
                               value += x;
                           else if (counts[contact.output] == 0 || x > value)
                               value = x;
                           ++counts[contact.output];
                       });
        for (size_t row = 0; row < output.rows; ++row)
            Set(output, row, column,
                double(kind == PoolKind::Average && counts[row] > 0 ? values[row] / counts[row] : values[row]));
    }
}

void ReferenceImageKernels::PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                                         const MatrixView& output, const MatrixView& gradient,
                                         const MatrixView& inputGradient, double beta)
{
    std::vector<size_t> counts(output.rows);
    ForEachContact(AsConvolution(geometry), [&](const Contact& contact) { ++counts[contact.output]; });
    for (size_t column = 0; column < gradient.columns; ++column)
    {
        std::vector<long double> sums(inputGradient.rows);
        ForEachContact(AsConvolution(geometry),
                       [&](const Contact& contact)
                       {
                           const long double g = Get(gradient, contact.output, column);
                           if (kind == PoolKind::Average)
                               sums[contact.input] += g / counts[contact.output];
                           else if (Get(input, contact.input, column) == Get(output, contact.output, column))
                               sums[contact.input] += g;
                       });
        for (size_t row = 0; row < inputGradient.rows; ++row)
            Set(inputGradient, row, column,
                double(sums[row]) + (beta == 0 ? 0 : beta * Get(inputGradient, row, column)));
    }
}

} // namespace cntk
