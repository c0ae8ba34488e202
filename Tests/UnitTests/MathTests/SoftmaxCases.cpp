// Kernel cases of the softmax family and its criterion.
#include "MathTests/KernelCases.h"

namespace cntk
{

namespace
{

struct Size
{
    size_t rows;
    size_t columns;
};
// Few rows use another kernel than many.
constexpr Size c_sizes[] = {{1, 1},  {2, 25}, {2, 3},    {3, 70},     {10, 33},
                            {16, 4}, {17, 9}, {183, 20}, {2000, 150}, {4, 0}};

template <class Body>
KernelCase ForSizes(const char* name, Body body)
{
    return {name, [body](KernelCaseRun& run)
            {
                for (const Size& size : c_sizes)
                    for (size_t pad : {0, 3})
                        body(run, size.rows, size.columns, pad);
            }};
}

template <class Labels>
void RunCriterion(KernelCaseRun& run, const Labels& labels, size_t rows, size_t columns, size_t pad)
{
    const MatrixView prediction = run.Input(rows, columns, pad, -8, 8);
    for (const std::vector<uint8_t>& mask : {std::vector<uint8_t>(), run.Mask(columns)})
    {
        const MatrixView softmax = run.Undefined(rows, columns, pad);
        Ops::CrossEntropyWithSoftmax(labels, prediction, mask, run.Undefined(rows, columns), softmax,
                                     run.Undefined(1, 1));
        Ops::CrossEntropyWithSoftmaxGradient(labels, softmax, mask, run.Input(1, 1), run.Output(rows, columns, pad));
        Ops::CrossEntropyWithSoftmaxGradient(labels, softmax, mask, run.Input(1, 1), run.Undefined(rows, columns, pad),
                                             0);
        const MatrixView replacedPrediction = run.Undefined(rows, columns, pad);
        Ops::Elementwise(ElementwiseOp::Copy, prediction, replacedPrediction);
        Ops::CrossEntropyWithSoftmax(labels, replacedPrediction, mask, run.Undefined(rows, columns), replacedPrediction,
                                     run.Undefined(1, 1));
        for (const double scale : {1.0, 0.5})
        {
            const MatrixView replaced = run.Undefined(rows, columns, pad);
            const MatrixView factor = run.Undefined(1, 1);
            Ops::Elementwise(ElementwiseOp::Copy, softmax, replaced);
            Ops::Fill(factor, scale);
            Ops::CrossEntropyWithSoftmaxGradient(labels, replaced, mask, factor, replaced, 0);
        }
        if constexpr (std::is_same_v<Labels, SparseView>)
        {
            const Matrix undefined(rows, columns, prediction.type, *prediction.device);
            Ops::CrossEntropyWithSoftmax(labels, prediction, mask, undefined, run.Undefined(rows, columns, pad),
                                         run.Undefined(1, 1), false);
            const MatrixView replaced = run.Undefined(rows, columns, pad);
            Ops::Elementwise(ElementwiseOp::Copy, prediction, replaced);
            Ops::CrossEntropyWithSoftmax(labels, replaced, mask, undefined, replaced, run.Undefined(1, 1), false);
        }
    }
}

} // namespace

std::vector<KernelCase> SoftmaxCases()
{
    std::vector<KernelCase> cases;
    cases.push_back(
        ForSizes("LogSoftmax", [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                 { Ops::LogSoftmax(run.Input(rows, columns, pad, -50, 50), run.Undefined(rows, columns)); }));
    cases.push_back(ForSizes("LogSoftmaxInPlace",
                             [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                             {
                                 const MatrixView values = run.Output(rows, columns, pad);
                                 Ops::LogSoftmax(values, values);
                             }));
    cases.push_back(ForSizes("Softmax", [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                             { Ops::Softmax(run.Input(rows, columns, pad), run.Undefined(rows, columns, 1)); }));
    cases.push_back(ForSizes("SoftmaxInPlace",
                             [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                             {
                                 const MatrixView values = run.Output(rows, columns, pad);
                                 Ops::Softmax(values, values);
                             }));
    cases.push_back(ForSizes("SoftmaxGradient",
                             [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                             {
                                 Ops::SoftmaxGradient(run.Input(rows, columns, pad), run.Input(rows, columns, 0, 0, 1),
                                                      run.Output(rows, columns, pad));
                             }));
    cases.push_back(ForSizes("LogSoftmaxGradient",
                             [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                             {
                                 Ops::LogSoftmaxGradient(run.Input(rows, columns, pad),
                                                         run.Input(rows, columns, 0, -9, 0),
                                                         run.Output(rows, columns, pad));
                             }));
    cases.push_back(ForSizes("ArgMax",
                             [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                             {
                                 const MatrixView values = run.Output(rows, columns, pad);
                                 // Whole numbers, so that some elements are equal.
                                 if (columns > 4)
                                     Ops::Fill(values.Columns(1, 3), 1);
                                 Ops::ArgMax(values, run.Undefined(1, columns));
                             }));
    cases.push_back(ForSizes("ArgMaxSparse",
                             [](KernelCaseRun& run, size_t rows, size_t columns, size_t)
                             {
                                 Ops::ArgMax(run.OneHot(rows, columns), run.Undefined(1, columns));
                                 for (double density : {0.0, 0.3, 1.0})
                                     Ops::ArgMax(run.Sparse(rows, columns, density), run.Undefined(1, columns));
                             }));
    cases.push_back(ForSizes("CrossEntropyWithSoftmax", [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                             { RunCriterion(run, run.Input(rows, columns, pad, 0, 1), rows, columns, pad); }));
    cases.push_back(ForSizes("CrossEntropyWithSoftmaxSparse",
                             [](KernelCaseRun& run, size_t rows, size_t columns, size_t pad)
                             {
                                 RunCriterion(run, run.OneHot(rows, columns), rows, columns, pad);
                                 RunCriterion(run, run.Sparse(rows, columns, 0.2), rows, columns, pad);
                             }));
    return cases;
}

} // namespace cntk
