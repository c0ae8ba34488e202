// Inputs, guards and results of kernel cases.
#include "MathTests/KernelCases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace cntk
{

namespace
{

constexpr size_t c_guard = 19; // elements before and after a block

bool AreTheSame(const std::vector<double>& a, const std::vector<double>& b, size_t begin, size_t end)
{
    return std::memcmp(a.data() + begin, b.data() + begin, (end - begin) * sizeof(double)) == 0;
}

} // namespace

MatrixView KernelCaseRun::Make(size_t rows, size_t columns, size_t pad, double low, double high, bool isOutput,
                               bool isDefined)
{
    Block& block = m_blocks.emplace_back();
    block.stride = rows + pad;
    block.first = c_guard;
    block.isOutput = isOutput;
    const size_t elements = 2 * c_guard + block.stride * columns;
    block.memory = Matrix(elements, 1, m_type, m_device);
    std::vector<double> values(elements);
    std::uniform_real_distribution<double> uniform(low, high);
    for (double& value : values)
        value = m_type == DataType::Float32 ? double(float(uniform(m_random))) : uniform(m_random);
    if (!isDefined)
        for (size_t column = 0; column < columns; ++column)
            std::fill_n(values.begin() + ptrdiff_t(c_guard + column * block.stride), rows,
                        std::numeric_limits<double>::quiet_NaN());
    block.memory.FromHost(values);
    block.before = std::move(values);
    block.view = block.memory.View();
    block.view.data = static_cast<std::byte*>(block.view.data) + c_guard * SizeOf(m_type);
    block.view.rows = rows;
    block.view.columns = columns;
    block.view.stride = block.stride;
    return block.view;
}

MatrixView KernelCaseRun::Input(size_t rows, size_t columns, size_t pad, double low, double high)
{
    return Make(rows, columns, pad, low, high, false, true);
}

MatrixView KernelCaseRun::Output(size_t rows, size_t columns, size_t pad)
{
    return Make(rows, columns, pad, -2, 2, true, true);
}

MatrixView KernelCaseRun::Undefined(size_t rows, size_t columns, size_t pad)
{
    return Make(rows, columns, pad, -2, 2, true, false);
}

TensorView KernelCaseRun::TensorInput(const TensorShape& shape, double low, double high)
{
    return TensorView::OfSamples(Input(shape.Elements(), 1, 0, low, high), shape, shape.Rank());
}

TensorView KernelCaseRun::TensorOutput(const TensorShape& shape)
{
    return TensorView::OfSamples(Output(shape.Elements(), 1), shape, shape.Rank());
}

SparseView KernelCaseRun::Sparse(size_t rows, size_t columns, double density)
{
    std::vector<double> values;
    std::vector<int32_t> rowIndices;
    std::vector<int32_t> columnStarts{0};
    std::uniform_real_distribution<double> uniform(0, 1);
    for (size_t column = 0; column < columns; ++column)
    {
        for (size_t row = 0; row < rows; ++row)
        {
            if (uniform(m_random) >= density)
                continue;
            values.push_back(double(float(uniform(m_random) * 4 - 2)));
            rowIndices.push_back(int32_t(row));
        }
        columnStarts.push_back(int32_t(rowIndices.size()));
    }
    SparseMatrix& sparse = m_sparse.emplace_back(m_type, m_device);
    const std::vector<float> floats(values.begin(), values.end());
    const void* data = m_type == DataType::Float32 ? static_cast<const void*>(floats.data()) : values.data();
    sparse.FromHost(rows, columns, data, rowIndices, columnStarts);
    return sparse.View();
}

SparseView KernelCaseRun::OneHot(size_t rows, size_t columns)
{
    const std::vector<double> doubles(columns, 1.0);
    const std::vector<float> floats(columns, 1.0f);
    std::vector<int32_t> rowIndices;
    std::vector<int32_t> columnStarts{0};
    for (size_t column = 0; column < columns; ++column)
    {
        rowIndices.push_back(int32_t(Random(rows)));
        columnStarts.push_back(int32_t(rowIndices.size()));
    }
    SparseMatrix& sparse = m_sparse.emplace_back(m_type, m_device);
    const void* data = m_type == DataType::Float32 ? static_cast<const void*>(floats.data()) : doubles.data();
    sparse.FromHost(rows, columns, data, rowIndices, columnStarts);
    return sparse.View();
}

std::vector<uint8_t> KernelCaseRun::Mask(size_t columns)
{
    std::vector<uint8_t> mask(columns);
    for (uint8_t& byte : mask)
        byte = uint8_t(Random(3) > 0);
    return mask;
}

std::vector<double> KernelCaseRun::Results() const
{
    std::vector<double> results;
    for (const Block& block : m_blocks)
    {
        if (!block.isOutput)
            continue;
        const std::vector<double> values = block.memory.ToHost();
        for (size_t column = 0; column < block.view.columns; ++column)
        {
            const auto begin = values.begin() + ptrdiff_t(block.first + column * block.stride);
            results.insert(results.end(), begin, begin + ptrdiff_t(block.view.rows));
        }
    }
    results.insert(results.end(), m_recorded.begin(), m_recorded.end());
    return results;
}

bool KernelCaseRun::GuardsAreIntact() const
{
    for (const Block& block : m_blocks)
    {
        const std::vector<double> after = block.memory.ToHost();
        size_t unchecked = 0;
        for (size_t column = 0; block.isOutput && column < block.view.columns; ++column)
        {
            const size_t begin = block.first + column * block.stride;
            if (!AreTheSame(after, block.before, unchecked, begin))
                return false;
            unchecked = begin + block.view.rows;
        }
        if (!AreTheSame(after, block.before, unchecked, after.size()))
            return false;
    }
    return true;
}

} // namespace cntk
