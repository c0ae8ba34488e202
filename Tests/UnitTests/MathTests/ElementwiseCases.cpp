// Element-wise kernel cases: every formula, broadcasting, reductions, strides, empty tensors, aliasing.
#include "MathTests/KernelCases.h"

#include <limits>

namespace cntk
{

namespace
{

constexpr ElementwiseOp c_allOperations[] = {
#define CNTK_OPERATION_ROW(name, arity, expression) ElementwiseOp::name,
    CNTK_ELEMENTWISE_OPS(CNTK_OPERATION_ROW)
#undef CNTK_OPERATION_ROW
};

void Apply(ElementwiseOp op, const std::vector<TensorView>& inputs, const TensorView& output, double alpha = 1,
           double beta = 0, ReduceOp reduce = ReduceOp::Sum)
{
    if (ArityOf(op) == 1)
        Ops::Elementwise(op, inputs[0], output, alpha, beta, reduce);
    else if (ArityOf(op) == 2)
        Ops::Elementwise(op, inputs[0], inputs[1], output, alpha, beta, reduce);
    else
        Ops::Elementwise(op, inputs[0], inputs[1], inputs[2], output, alpha, beta, reduce);
}

// Limits of Clip and SoftThreshold must be positive.
std::vector<TensorView> InputsOf(KernelCaseRun& run, ElementwiseOp op, const TensorShape& shape)
{
    std::vector<TensorView> inputs{run.TensorInput(shape)};
    if (ArityOf(op) > 1)
        inputs.push_back(run.TensorInput(shape, 0.1, 0.9));
    if (ArityOf(op) > 2)
        inputs.push_back(run.TensorInput(shape, 1.0, 1.5));
    return inputs;
}

void AddOperationCases(std::vector<KernelCase>& cases)
{
    for (ElementwiseOp op : c_allOperations)
    {
        const std::string name = NameOf(op);
        cases.push_back({name + "Sizes", [op](KernelCaseRun& run)
                         {
                             for (size_t size : {1, 2, 3, 7, 8, 15, 31, 32, 33, 50, 255, 1250})
                             {
                                 const TensorShape shape{size};
                                 Apply(op, InputsOf(run, op, shape), run.TensorOutput(shape));
                             }
                         }});
        cases.push_back({name + "Accumulated", [op](KernelCaseRun& run)
                         {
                             const TensorShape shape{13, 5};
                             Apply(op, InputsOf(run, op, shape), run.TensorOutput(shape), 0.5, 1);
                             Apply(op, InputsOf(run, op, shape), run.TensorOutput(shape), -2, 0.25);
                         }});
        cases.push_back({name + "InPlace", [op](KernelCaseRun& run)
                         {
                             for (size_t position = 0; position < ArityOf(op); ++position)
                             {
                                 std::vector<TensorView> inputs = InputsOf(run, op, {37, 3});
                                 inputs[position] = run.TensorOutput({37, 3});
                                 Apply(op, inputs, inputs[position]);
                             }
                         }});
        cases.push_back({name + "Reduced", [op](KernelCaseRun& run)
                         {
                             const TensorShape shape{9, 11};
                             Apply(op, InputsOf(run, op, shape), run.TensorOutput({9, 1}));
                             Apply(op, InputsOf(run, op, shape), run.TensorOutput({1, 11}), 2, 1);
                             Apply(op, InputsOf(run, op, shape), run.TensorOutput({1, 1}), 1, 0.5);
                         }});
    }
}

// Shapes of inputs and output.
struct Broadcast
{
    const char* name;
    TensorShape a;
    TensorShape b;
    TensorShape output;
};

void AddBroadcastCases(std::vector<KernelCase>& cases)
{
    static const Broadcast broadcasts[] = {
        {"BiasColumn", {50, 25}, {50}, {50, 25}},
        {"BiasColumnFirst", {50}, {50, 25}, {50, 25}},
        {"BiasOfTwo", {2, 25}, {2, 1}, {2, 25}},
        {"RowOverColumns", {50, 25}, {1, 25}, {50, 25}},
        {"RowFirst", {1, 25}, {50, 25}, {50, 25}},
        {"Scalar", {50, 25}, {1}, {50, 25}},
        {"ScalarFirst", {}, {50, 25}, {50, 25}},
        {"BothScalars", {}, {1, 1}, {5, 3}},
        {"Outer", {300, 1}, {1, 7}, {300, 7}},
        {"OutputLarger", {4, 1, 3}, {4}, {4, 600, 3}},
        {"Middle", {5, 1, 6}, {5, 4, 6}, {5, 4, 6}},
        {"Alternating", {2, 1, 3, 1, 2, 1, 3, 1}, {1, 3, 1, 2, 1, 3, 1, 2}, {2, 3, 3, 2, 2, 3, 3, 2}},
        {"TenAxes", {2, 1, 2, 2, 1, 2, 2, 1, 2, 3}, {2, 3, 1, 2, 2, 1, 2, 2, 1, 3}, {2, 3, 2, 2, 2, 2, 2, 2, 2, 3}},
        {"ReduceColumns", {50, 25}, {50}, {50, 1}},
        {"ReduceRows", {50, 25}, {50}, {1, 25}},
        {"ReduceAll", {50, 25}, {50}, {1, 1}},
        {"ReduceRowsOfScaled", {50, 25}, {1, 25}, {50}},
        {"ReduceMiddle", {5, 8, 6}, {5, 1, 6}, {5, 1, 6}},
        {"ReduceOuterAxes", {5, 8, 6}, {5, 8, 6}, {1, 8}},
        {"ReduceInnerAndOuter", {300, 3, 20}, {1}, {1, 3, 1}},
        {"ReduceAlternating", {2, 3, 3, 2, 2, 3, 3, 2}, {1, 3, 1, 2, 1, 3, 1, 2}, {2, 1, 3, 1, 2, 1, 3, 1}},
        {"ReduceAlternatingOther", {2, 3, 3, 2, 2, 3, 3, 2}, {2, 1, 1, 2, 1, 3, 1, 2}, {1, 3, 1, 2, 1, 3, 1, 2}},
        {"ReduceWide", {700, 5}, {1}, {700}},
        {"ReduceLong", {7, 1000}, {1}, {7}},
        // Large enough for three threads.
        {"Large", {700, 150}, {700, 150}, {700, 150}},
        {"LargeBias", {700, 150}, {700}, {700, 150}},
        {"LargeReduceColumns", {700, 800}, {700}, {700}},
        {"LargeReduceRows", {700, 150}, {700}, {1, 150}},
        {"LargeReduceAll", {700, 570}, {700}, {}},
    };
    for (const Broadcast& broadcast : broadcasts)
    {
        for (ReduceOp reduce : {ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min})
        {
            const char* suffix = reduce == ReduceOp::Sum ? "Sum" : reduce == ReduceOp::Max ? "Max" : "Min";
            cases.push_back(
                {std::string("Broadcast") + broadcast.name + suffix, [broadcast, reduce](KernelCaseRun& run)
                 {
                     const TensorView a = run.TensorInput(broadcast.a);
                     const TensorView b = run.TensorInput(broadcast.b);
                     for (ElementwiseOp op : {ElementwiseOp::Sum, ElementwiseOp::Product})
                     {
                         Apply(op, {a, b}, run.TensorOutput(broadcast.output), 1, 0, reduce);
                         Apply(op, {a, b}, run.TensorOutput(broadcast.output), 0.5, 1, reduce);
                     }
                     Apply(ElementwiseOp::Copy, {a}, run.TensorOutput(broadcast.output), 1, 0, reduce);
                     Apply(ElementwiseOp::NormalizePerDim, {a, b, b}, run.TensorOutput(broadcast.output), 1, 1, reduce);
                 }});
        }
    }
}

void AddStrideCases(std::vector<KernelCase>& cases)
{
    cases.push_back({"StridedViews", [](KernelCaseRun& run)
                     {
                         const MatrixView a = run.Input(13, 7, 3);
                         const MatrixView b = run.Input(13, 7, 1);
                         Apply(ElementwiseOp::Sum, {a, b}, run.Output(13, 7, 5), 1, 1);
                         Apply(ElementwiseOp::Tanh, {a}, run.Undefined(13, 7, 2));
                         Apply(ElementwiseOp::Copy, {a}, run.Output(13, 1));
                         Apply(ElementwiseOp::Copy, {a}, run.Output(1, 7, 4));
                     }});
    cases.push_back({"TransposedViews", [](KernelCaseRun& run)
                     {
                         TensorView a = run.Input(300, 7, 3);
                         std::swap(a.dims[0], a.dims[1]);
                         std::swap(a.strides[0], a.strides[1]);
                         const TensorView b = run.Input(7, 300);
                         Apply(ElementwiseOp::Difference, {a, b}, run.Output(7, 300), 1, 1);
                         TensorView output = run.Output(300, 7, 1);
                         std::swap(output.dims[0], output.dims[1]);
                         std::swap(output.strides[0], output.strides[1]);
                         Apply(ElementwiseOp::Difference, {a, b}, output, 1, 1);
                         Apply(ElementwiseOp::Difference, {b, a}, output);
                         Apply(ElementwiseOp::Product, {a, b}, run.Output(7, 1));
                         Apply(ElementwiseOp::Product, {a, b}, run.Output(1, 300));
                     }});
    cases.push_back({"RowOfMatrix", [](KernelCaseRun& run)
                     {
                         const MatrixView row = run.Input(5, 900).Rows(2, 1);
                         Apply(ElementwiseOp::Sigmoid, {row}, run.Output(1, 900));
                         Apply(ElementwiseOp::Sum, {row, run.Input(4, 900)}, run.Output(6, 900).Rows(1, 4));
                         Apply(ElementwiseOp::Square, {row}, run.Output(3, 900).Rows(2, 1), 1, 1);
                     }});
    // Gaps hold NaN. None, some or all of the samples are data; there may be one sample.
    cases.push_back(
        {"OverData", [](KernelCaseRun& run)
         {
             const auto none = std::numeric_limits<double>::quiet_NaN();
             for (const size_t samples : {1, 2, 20, 900})
                 for (const int share : {0, 1, 2})
                 {
                     std::vector<uint8_t> mask(samples, uint8_t(share));
                     if (share == 1)
                         mask = run.Mask(samples);
                     const MatrixView a = run.Output(12, samples, 2), b = run.Output(12, samples);
                     Ops::MaskColumns(a, mask, none);
                     Ops::MaskColumns(b, mask, none);
                     Ops::ElementwiseOverData(ElementwiseOp::Product, a, b, mask, run.Output(12, 1), -1, 1);
                     Ops::ElementwiseOverData(ElementwiseOp::SquaredDifference, a, run.Input(12, 1), mask,
                                              run.Undefined(12, 1));
                     Ops::ElementwiseOverData(ElementwiseOp::Abs, a, mask, run.Undefined(1, 1), 0.5);
                     const auto sample = [](const MatrixView& view, const TensorShape& shape, bool isSamples)
                     { return TensorView::OfSamples(view, shape, 3, isSamples); };
                     // Sums over an axis of the sample, too, before and after another axis.
                     for (const TensorShape& shape : {TensorShape{1, 2, 2}, TensorShape{3, 2, 1}})
                         Ops::ElementwiseOverData(ElementwiseOp::Copy, sample(a, {3, 2, 2}, true), mask,
                                                  sample(run.Output(shape.Elements(), 1), shape, false), 2, 0.5);
                 }
         }});
    cases.push_back({"Empty", [](KernelCaseRun& run)
                     {
                         Apply(ElementwiseOp::Sum, {run.Input(0, 5), run.Input(1, 5)}, run.Output(0, 5));
                         Apply(ElementwiseOp::Copy, {run.Input(4, 0)}, run.Output(4, 1));
                         Apply(ElementwiseOp::Copy, {run.Input(4, 0)}, run.Output(4, 1), 1, 1);
                         Apply(ElementwiseOp::Copy, {run.Input(0, 3)}, run.Output(1, 3), 1, 0.5);
                         Apply(ElementwiseOp::Copy, {run.Input(0, 3)}, run.Output(1, 1));
                         Apply(ElementwiseOp::Copy, {run.Input(4, 0)}, run.Output(4, 1), 1, 0, ReduceOp::Max);
                     }});
    cases.push_back({"UndefinedOutputIsNotRead", [](KernelCaseRun& run)
                     {
                         const MatrixView a = run.Input(33, 9);
                         Apply(ElementwiseOp::Square, {a}, run.Undefined(33, 9));
                         Apply(ElementwiseOp::Sum, {a, run.Input(33, 1)}, run.Undefined(33, 9, 1));
                         Apply(ElementwiseOp::Square, {a}, run.Undefined(33, 1));
                         Apply(ElementwiseOp::Square, {a}, run.Undefined(1, 9));
                         Apply(ElementwiseOp::Square, {a}, run.Undefined(1, 1));
                     }});
}

} // namespace

std::vector<KernelCase> ElementwiseCases()
{
    std::vector<KernelCase> cases;
    AddOperationCases(cases);
    AddBroadcastCases(cases);
    AddStrideCases(cases);
    return cases;
}

} // namespace cntk
