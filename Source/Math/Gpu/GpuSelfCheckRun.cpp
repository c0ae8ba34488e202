// The same numbers on every device, and what came of them.
#include "Math/Gpu/GpuSelfCheckRun.h"

namespace cntk
{

// Numerical Recipes' generator: the same numbers everywhere, of few bits, so that all are numbers of float.
double SelfCheckRun::Draw(double low, double high)
{
    m_state = m_state * 1664525u + 1013904223u;
    return low + (high - low) * double(m_state >> 12) / double(1u << 20);
}

const Matrix& SelfCheckRun::Make(size_t rows, size_t columns, double low, double high)
{
    Matrix& matrix = m_matrices.emplace_back(rows, columns, m_type, m_device);
    std::vector<float> values(matrix.Elements());
    for (float& value : values)
        value = float(Draw(low, high));
    matrix.FromHost(values);
    return matrix;
}

MatrixView SelfCheckRun::Input(size_t rows, size_t columns, double low, double high, size_t pad)
{
    return Make(rows + pad, columns, low, high).View().Rows(0, rows);
}

MatrixView SelfCheckRun::Output(size_t rows, size_t columns, size_t pad, double low, double high)
{
    m_outputs.push_back(&Make(rows + pad, columns, low, high));
    return m_outputs.back()->View().Rows(0, rows);
}

MatrixView SelfCheckRun::Number(double value)
{
    Matrix& matrix = m_matrices.emplace_back(1, 1, m_type, m_device);
    matrix.FromHost(std::span<const double>(&value, 1));
    return matrix;
}

SparseView SelfCheckRun::Sparse(size_t rows, size_t columns, size_t perColumn)
{
    std::vector<int32_t> indices;
    std::vector<int32_t> starts{0};
    for (size_t column = 0; column < columns; ++column)
    {
        // Some columns have nothing.
        const size_t step = rows / perColumn;
        for (size_t i = 0; i < perColumn && column % 7 != 5; ++i)
            indices.push_back(int32_t(i * step + size_t(Draw(0, double(step)))));
        starts.push_back(int32_t(indices.size()));
    }
    std::vector<double> doubles(indices.size());
    for (double& value : doubles)
        value = Draw(0.5, 1.5);
    const std::vector<float> floats(doubles.begin(), doubles.end());
    doubles.assign(floats.begin(), floats.end());
    SparseMatrix& matrix = m_sparse.emplace_back(m_type, m_device);
    const void* const values = m_type == DataType::Float32 ? static_cast<const void*>(floats.data())
                                                           : static_cast<const void*>(doubles.data());
    matrix.FromHost(rows, columns, values, indices, starts);
    return matrix;
}

std::vector<double> SelfCheckRun::Results() const
{
    std::vector<double> results;
    for (const Matrix* output : m_outputs)
    {
        const std::vector<double> values = output->ToHost();
        results.insert(results.end(), values.begin(), values.end());
    }
    results.insert(results.end(), m_recorded.begin(), m_recorded.end());
    return results;
}

} // namespace cntk
