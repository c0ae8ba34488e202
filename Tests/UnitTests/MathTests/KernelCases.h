// Kernel cases: each is defined once and run on every device and element type, with the same random inputs.
#pragma once

#include "Math/Operations.h"

#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace cntk
{

// The inputs, guarded outputs and results of a case.
class KernelCaseRun
{
public:
    KernelCaseRun(Device& device, DataType type) : m_device(device), m_type(type) {}

    Device& GetDevice() { return m_device; }
    DataType Type() const { return m_type; }

    // Random matrices with holes of pad elements between the columns; outputs have guard elements all around, checked
    // in the end, and are part of the result.
    MatrixView Input(size_t rows, size_t columns, size_t pad = 0, double low = -2, double high = 2);
    MatrixView Output(size_t rows, size_t columns, size_t pad = 0);
    MatrixView Undefined(size_t rows, size_t columns, size_t pad = 0); // an output full of NaN
    TensorView TensorInput(const TensorShape& shape, double low = -2, double high = 2);
    TensorView TensorOutput(const TensorShape& shape);
    // Each element is present with the given probability.
    SparseView Sparse(size_t rows, size_t columns, double density);
    SparseView OneHot(size_t rows, size_t columns);

    void Record(double value) { m_recorded.push_back(value); }
    std::vector<uint8_t> Mask(size_t columns);
    size_t Random(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(m_random); }

    // Returns the values of all outputs, then the recorded values.
    std::vector<double> Results() const;
    bool GuardsAreIntact() const;

private:
    struct Block
    {
        Matrix memory;
        std::vector<double> before;
        MatrixView view;
        size_t first = 0;
        size_t stride = 0;
        bool isOutput = false;
    };

    MatrixView Make(size_t rows, size_t columns, size_t pad, double low, double high, bool isOutput, bool isDefined);

    Device& m_device;
    DataType m_type;
    std::mt19937 m_random{4711};
    std::deque<Block> m_blocks;
    std::deque<SparseMatrix> m_sparse;
    std::vector<double> m_recorded;
};

struct KernelCase
{
    std::string name;
    std::function<void(KernelCaseRun&)> run;
    // Relative to the largest magnitude of the result, in units of the element type's epsilon.
    double tolerance = 64;
};

std::vector<KernelCase> ElementwiseCases();
std::vector<KernelCase> MatrixCases();
std::vector<KernelCase> SoftmaxCases();
std::vector<KernelCase> SampledProductsCases();
std::vector<KernelCase> UpdateCases();
std::vector<KernelCase> ImageCases();

} // namespace cntk
