// What an operation of the self-check computes with.
#pragma once

#include "Math/Matrix.h"
#include "Math/TensorView.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace cntk
{

// One operation on one device: makes inputs and outputs, and fetches the outputs.
class SelfCheckRun
{
public:
    SelfCheckRun(Device& device, DataType type) : m_device(device), m_type(type) {}

    Device& GetDevice() { return m_device; }
    DataType Type() const { return m_type; }

    // Numbers between low and high, in columns that pad elements lie between.
    MatrixView Input(size_t rows, size_t columns, double low = -2, double high = 2, size_t pad = 0);
    // The same; whatever is in it in the end, between the columns too, is a result.
    MatrixView Output(size_t rows, size_t columns, size_t pad = 0, double low = -2, double high = 2);
    MatrixView Number(double value);
    SparseView Sparse(size_t rows, size_t columns, size_t perColumn);
    void Record(double value) { m_recorded.push_back(value); }

    std::vector<double> Results() const;

private:
    const Matrix& Make(size_t rows, size_t columns, double low, double high);
    double Draw(double low, double high);

    Device& m_device;
    DataType m_type;
    uint32_t m_state = 4711;
    std::deque<Matrix> m_matrices;
    std::deque<SparseMatrix> m_sparse;
    std::vector<const Matrix*> m_outputs;
    std::vector<double> m_recorded;
};

} // namespace cntk
