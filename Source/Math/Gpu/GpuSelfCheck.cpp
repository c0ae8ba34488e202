// Compares each result with plain loops in double precision. The check finds broken cards, drivers and libraries; the
// unit tests check the kernels.
#include "Math/Gpu/GpuSelfCheck.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/ImageOperations.h"
#include "Math/Matrix.h"
#include "Math/Operations.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

struct Outcome
{
    std::vector<double> found;
    std::vector<double> expected;
};

// Multiples of 1/64 between -1 and 1. Seven bits are exact in every type that a GPU multiplies.
std::vector<double> TestValues(size_t count, size_t seed)
{
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i)
        values[i] = double((i * 37 + seed * 11) % 129) / 64 - 1;
    return values;
}

Matrix Uploaded(Device& gpu, DataType type, size_t rows, size_t columns, const std::vector<double>& values)
{
    Matrix matrix(rows, columns, type, gpu);
    matrix.FromHost(values);
    return matrix;
}

Outcome Multiply(Device& gpu, DataType type)
{
    constexpr size_t rows = 65, inner = 40, columns = 35;
    const std::vector<double> a = TestValues(rows * inner, 1), b = TestValues(inner * columns, 2);
    const Matrix product(rows, columns, type, gpu);
    Ops::Multiply(Uploaded(gpu, type, rows, inner, a), Ops::Transpose::No, Uploaded(gpu, type, inner, columns, b),
                  Ops::Transpose::No, product);
    std::vector<double> expected(rows * columns);
    for (size_t column = 0; column < columns; ++column)
        for (size_t i = 0; i < inner; ++i)
            for (size_t row = 0; row < rows; ++row)
                expected[column * rows + row] += a[i * rows + row] * b[column * inner + i];
    return {product.ToHost(), expected};
}

Outcome SumColumns(Device& gpu, DataType type)
{
    constexpr size_t rows = 700, columns = 9;
    const std::vector<double> values = TestValues(rows * columns, 3);
    const Matrix sums(1, columns, type, gpu);
    Ops::Elementwise(ElementwiseOp::Copy, Uploaded(gpu, type, rows, columns, values).View(), sums.View());
    std::vector<double> expected(columns);
    for (size_t i = 0; i < values.size(); ++i)
        expected[i / rows] += values[i];
    return {sums.ToHost(), expected};
}

// Kernels of 3 x 2 over padded images of 7 x 6 with three channels.
Outcome Convolve(Device& gpu, DataType type)
{
    const WindowAxis x{.input = 7, .kernel = 3, .stride = 1, .start = -1, .windows = 7};
    const WindowAxis y{.input = 6, .kernel = 2, .stride = 2, .start = 0, .windows = 3};
    const WindowAxis channels{.input = 3, .kernel = 3, .stride = 3, .maps = 5};
    ConvolutionGeometry geometry;
    geometry.rank = 3;
    geometry.axes = {x, y, channels};
    const size_t samples = 4, pixels = x.input * y.input, windows = x.windows * y.windows, maps = channels.maps;
    const std::vector<double> weights = TestValues(maps * geometry.KernelElements(), 4),
                              images = TestValues(samples * geometry.InputElements(), 5);
    const Matrix output(geometry.OutputElements(), samples, type, gpu);
    Ops::Convolve(geometry, Uploaded(gpu, type, maps, geometry.KernelElements(), weights),
                  Uploaded(gpu, type, geometry.InputElements(), samples, images), output);

    std::vector<double> expected(output.Elements());
    for (size_t i = 0; i < expected.size(); ++i)
    {
        const size_t column = i % x.windows, row = i / x.windows % y.windows, map = i / windows % maps;
        const double* const image = images.data() + i / windows / maps * geometry.InputElements();
        const double* const kernel = weights.data() + map * geometry.KernelElements();
        for (size_t element = 0; element < geometry.KernelElements(); ++element)
        {
            const size_t right = column + element % x.kernel, down = row * y.stride + element / x.kernel % y.kernel;
            const size_t channel = element / x.kernel / y.kernel;
            if (right >= 1 && right <= x.input)
                expected[i] += kernel[element] * image[channel * pixels + down * x.input + right - 1];
        }
    }
    return {output.ToHost(), expected};
}

Outcome Update(Device& gpu, DataType type)
{
    constexpr size_t rows = 130, columns = 5;
    constexpr double rate = 0.125, momentum = 0.75;
    std::vector<double> parameter = TestValues(rows * columns, 6), smoothed = TestValues(rows * columns, 7);
    const std::vector<double> gradient = TestValues(rows * columns, 8);
    const Matrix p = Uploaded(gpu, type, rows, columns, parameter), s = Uploaded(gpu, type, rows, columns, smoothed);
    Ops::MomentumUpdate(p, s, Uploaded(gpu, type, rows, columns, gradient), rate, momentum);
    for (size_t i = 0; i < gradient.size(); ++i)
    {
        smoothed[i] = momentum * smoothed[i] + (1 - momentum) * rate * gradient[i];
        parameter[i] -= smoothed[i];
    }
    std::vector<double> found = p.ToHost();
    const std::vector<double> state = s.ToHost();
    found.insert(found.end(), state.begin(), state.end());
    parameter.insert(parameter.end(), smoothed.begin(), smoothed.end());
    return {found, parameter};
}

std::string Compare(const Outcome& outcome, double relativeTolerance)
{
    double largest = 0;
    for (const double value : outcome.expected)
        largest = std::max(largest, std::fabs(value));
    const double tolerance = relativeTolerance * largest;
    for (size_t i = 0; i < outcome.expected.size(); ++i)
        if (!(std::fabs(outcome.found[i] - outcome.expected[i]) <= tolerance))
            return Concat(" gives ", outcome.found[i], " instead of ", outcome.expected[i], " (element ", i,
                          ", tolerance ", tolerance, ")");
    return {};
}

} // namespace

std::string CheckGpu(Device& gpu, GpuMatrixMath math)
{
    constexpr std::pair<const char*, Outcome (*)(Device&, DataType)> operations[] = {{"the product", Multiply},
                                                                                     {"the reduction", SumColumns},
                                                                                     {"the convolution", Convolve},
                                                                                     {"the update", Update}};
    for (const DataType type : {DataType::Float32, DataType::Float64})
        for (const auto& [name, run] : operations)
        {
            // TF32 and bfloat16 round factors, also those that cuDNN computes on the way.
            const double tolerance = type == DataType::Float64 ? 1e-13 : math == GpuMatrixMath::Float ? 1e-5 : 0x1p-5;
            std::string problem;
            try
            {
                problem = Compare(run(gpu, type), tolerance);
            }
            catch (const Error& error)
            {
                problem = " fails: " + error.Message();
            }
            if (!problem.empty())
                return Concat(name, " of ", NameOf(type), problem);
        }
    return {};
}

} // namespace cntk
