// Sizes are as small as they can be and still take several warps and blocks of each kernel.
#include "Math/Gpu/GpuSelfCheckCases.h"

#include "Math/ElementwiseChain.h"
#include "Math/ImageOperations.h"
#include "Math/Operations.h"
#include "Math/RepeatedWork.h"
#include "Math/SampledProducts.h"
#include "Math/UpdateRules.h"

#include <limits>
#include <type_traits>

namespace cntk
{

namespace
{

using Ops::Transpose;
using Run = SelfCheckRun;

// ---- memory, whole matrices -----------------------------------------------------------------------------------------

void Copies(Run& run)
{
    const MatrixView source = run.Input(300, 5);
    const size_t bytes = source.Elements() * SizeOf(source.type);
    const MatrixView there = run.Output(300, 5), zeros = run.Output(300, 5);
    run.GetDevice().Copy(there.data, source.data, bytes);
    run.GetDevice().Zero(zeros.Columns(1, 3).data, bytes * 3 / 5);
    Ops::Copy(source, run.Output(300, 5));
    Ops::Copy(source.Rows(3, 290), run.Output(290, 5, 2));
}

void Fills(Run& run)
{
    Ops::Fill(run.Output(300, 5, 1), 0.75);
    Ops::Scale(run.Output(300, 5, 1), -1.5);
    const std::vector<int32_t> columns{0, 3, 4};
    Ops::ZeroColumns(run.Output(300, 5, 1), columns);
    const std::vector<uint8_t> mask{1, 0, 1, 1, 0};
    Ops::MaskColumns(run.Output(300, 5, 1), mask, 0.25);
    const MatrixView values = run.Output(300, 5, 1);
    for (const size_t row : {1, 298})
        Ops::Fill(values.Rows(row, 1), 1e308 * 10);
    Ops::ClearNotFinite(values, mask);
}

void Sums(Run& run)
{
    const MatrixView values = run.Output(700, 9, 1, 0.5, 1);
    Ops::SumAll(values, run.Output(1, 1), 2, 1);
    run.Record(Ops::FrobeniusNorm(values));
    run.Record(Ops::HasNotFinite(values));
    Ops::Fill(values.Rows(699, 1).Columns(8, 1), 1e308 * 10);
    run.Record(Ops::HasNotFinite(values));
}

void RunningTotals(Run& run)
{
    const Matrix totals(2 + Ops::c_rowsBehindTotals, 1, DataType::Float64, run.GetDevice());
    const MatrixView first = run.Number(3), second = run.Number(0.25);
    const MatrixView numbers[] = {first, second};
    Ops::AddNumbers(numbers, true, totals);
    Ops::Fill(first, 1e308 * 10);
    Ops::AddNumbers(numbers, true, totals);
    Ops::AddNumbers(numbers, true, totals);
    for (const double total : totals.ToHost())
        run.Record(total);
}

// ---- element by element ---------------------------------------------------------------------------------------------

template <ElementwiseOp op>
void Map(Run& run)
{
    const MatrixView output = run.Output(67, 9);
    if (ArityOf(op) == 1)
        Ops::Elementwise(op, run.Input(67, 9), output);
    else if (ArityOf(op) == 2) // the second operand is a column for all
        Ops::Elementwise(op, run.Input(67, 9, -2, 2, 3), run.Input(67, 1, 0.5, 2), output, 1.5, 0.5);
    else
        Ops::Elementwise(op, run.Input(67, 9), run.Input(67, 1, -1, 0), run.Input(67, 9, 0, 1), output);
}

void Reductions(Run& run)
{
    const MatrixView wide = run.Input(70, 300), tall = run.Input(5000, 3);
    for (const ReduceOp reduce : {ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min})
    {
        Ops::Elementwise(ElementwiseOp::Abs, wide, run.Output(70, 1), 1, 0.5, reduce); // along rows
        Ops::Elementwise(ElementwiseOp::Square, wide, run.Output(1, 300), 1, 0, reduce);
        Ops::Elementwise(ElementwiseOp::Square, tall, run.Output(1, 3), 1, 0, reduce); // in parts
    }
}

// Of the samples that are data; gaps hold no numbers.
void SumsOverData(Run& run)
{
    const MatrixView a = run.Input(70, 40), b = run.Input(70, 40);
    std::vector<uint8_t> mask(a.columns);
    for (size_t column = 0; column < a.columns; ++column)
        mask[column] = uint8_t(column % 5 != 3);
    Ops::MaskColumns(a, mask, std::numeric_limits<double>::quiet_NaN());
    Ops::ElementwiseOverData(ElementwiseOp::Product, a, b, mask, run.Output(70, 1), 1, 1);
    Ops::ElementwiseOverData(ElementwiseOp::Square, a, mask, run.Output(1, 1));
}

void Chain(Run& run)
{
    const MatrixView a = run.Input(130, 5), b = run.Input(130, 5), middle = run.Output(130, 5),
                     last = run.Output(130, 5);
    ElementwiseChain chain{&run.GetDevice(), run.Type(), 130, {}};
    ElementwiseLink link;
    link.op = ElementwiseOp::Product;
    link.inputs[0] = {a.data, a.stride};
    link.inputs[1] = {b.data, b.stride};
    link.output = {middle.data, middle.stride};
    chain.links.push_back(link);
    link.op = ElementwiseOp::Tanh;
    link.inputs[0] = {middle.data, middle.stride};
    link.output = {last.data, last.stride};
    link.beta = 1;
    chain.links.push_back(link);
    Ops::RunChain(chain, 1, 3);
}

// ---- products -------------------------------------------------------------------------------------------------------

template <Transpose transposeA, Transpose transposeB>
void MatrixProduct(Run& run)
{
    constexpr size_t rows = 65, columns = 35, inner = 40;
    const bool isA = transposeA == Transpose::Yes, isB = transposeB == Transpose::Yes;
    Ops::Multiply(isA ? run.Input(inner, rows) : run.Input(rows, inner, -2, 2, 3), transposeA,
                  isB ? run.Input(columns, inner) : run.Input(inner, columns), transposeB, run.Output(rows, columns, 1),
                  1.5, isA ? 0.5 : 0);
}

void ProductBiasActivation(Run& run)
{
    const MatrixView a = run.Input(130, 20), b = run.Input(20, 9), bias = run.Input(130, 1);
    for (const ElementwiseOp activation : {ElementwiseOp::Copy, ElementwiseOp::Sigmoid, ElementwiseOp::RectifiedLinear})
        Ops::MultiplyBiasActivate(a, Transpose::No, b, bias, activation, run.Output(130, 9));
}

void InnerProducts(Run& run)
{
    Ops::ColumnInnerProducts(run.Input(40, 9), run.Input(40, 9), run.Output(1, 9));
    Ops::ColumnInnerProducts(run.Input(700, 3), run.Input(700, 3), run.Output(1, 3));
}

void SparseProducts(Run& run)
{
    const SparseView s = run.Sparse(50, 20, 3);
    Ops::Multiply(run.Input(70, 50), Transpose::No, s, run.Output(70, 20), 1.5, 0.5);
    Ops::Multiply(run.Input(50, 70), Transpose::Yes, s, run.Output(70, 20));
    Ops::ToDense(s, run.Output(50, 20));
    TouchedColumns touched;
    Ops::MultiplyByTransposeOf(run.Input(70, 20), s, run.Output(70, 50), touched, 0.5);
    for (const int32_t column : touched.columns)
        run.Record(column);
}

void Lookups(Run& run)
{
    const SparseView words = run.Sparse(50, 20, 2); // two words of 25 for each sample
    Ops::LookUpColumns(run.Input(40, 25), words, run.Output(80, 20));
    TouchedColumns touched;
    Ops::LookUpColumnsGradient(run.Input(80, 20), words, run.Output(40, 25), touched);
    for (const int32_t column : touched.columns)
        run.Record(column);
}

// ---- softmax and criteria -------------------------------------------------------------------------------------------

// Columns for a warp, and columns for a block.
constexpr size_t c_columnSizes[][2] = {{40, 9}, {600, 3}};

void Softmaxes(Run& run)
{
    for (const auto& [rows, columns] : c_columnSizes)
    {
        const MatrixView input = run.Input(rows, columns), gradient = run.Input(rows, columns);
        const MatrixView log = run.Output(rows, columns), softmax = run.Output(rows, columns);
        Ops::LogSoftmax(input, log);
        Ops::Softmax(input, softmax);
        Ops::LogSoftmaxGradient(gradient, log, run.Output(rows, columns));
        Ops::SoftmaxGradient(gradient, softmax, run.Output(rows, columns));
        Ops::ArgMax(input, run.Output(1, columns));
    }
    Ops::ArgMax(run.Sparse(50, 300, 2), run.Output(1, 300));
}

template <class Labels>
void CriterionOf(Run& run, const Labels& labels, size_t rows, size_t columns)
{
    std::vector<uint8_t> mask(columns, 1);
    mask[1] = 0;
    const MatrixView prediction = run.Input(rows, columns), log = run.Output(rows, columns),
                     softmax = run.Output(rows, columns);
    Ops::CrossEntropyWithSoftmax(labels, prediction, mask, log, softmax, run.Output(1, 1));
    if constexpr (std::is_same_v<Labels, SparseView>)
        Ops::CrossEntropyWithSoftmax(labels, prediction, mask, log, run.Output(rows, columns), run.Output(1, 1), false);
    for (const double beta : {0, 1})
        Ops::CrossEntropyWithSoftmaxGradient(labels, softmax, mask, run.Number(0.5), run.Output(rows, columns), beta);
}

void Criteria(Run& run)
{
    for (const auto& [rows, columns] : c_columnSizes)
    {
        CriterionOf(run, run.Input(rows, columns, 0, 1), rows, columns);
        CriterionOf(run, run.Sparse(rows, columns, 2), rows, columns);
    }
    const SparseView labels = run.Sparse(50, 300, 2);
    const MatrixView probabilities = run.Input(50, 300, 0.25, 1);
    std::vector<uint8_t> mask(300, 1);
    mask[7] = 0;
    Ops::CrossEntropy(labels, probabilities, mask, run.Output(1, 1));
    Ops::CrossEntropyGradient(labels, probabilities, mask, run.Number(0.5), run.Output(50, 300));
}

void SampledSoftmaxes(Run& run)
{
    constexpr size_t rows = 70, samples = 9, columns = 90;
    constexpr int32_t classes[] = {0, 5, 25, 85};
    ColumnSlices slices;
    for (size_t sample = 0; sample < samples; ++sample)
    {
        const size_t of = sample * 5 % 3;
        slices.requests.push_back({int32_t(sample), classes[of], classes[of + 1], classes[of] + int32_t(sample % 5)});
    }
    slices.MakeGroups();
    const MatrixView weights = run.Input(rows, columns, -1, 1), inputs = run.Input(rows, samples, -1, 1);
    const MatrixView gathered = run.Output(rows, slices.Members()), errors = run.Output(1, slices.elements);
    const MatrixView scale = run.Number(0.5), work = run.Output(rows, slices.Members());
    Ops::SliceSoftmax(slices, weights, inputs, gathered, errors, run.Output(1, slices.Members()), true, work);
    Ops::SliceSoftmaxInputGradient(slices, weights, errors, scale, work, run.Output(rows, samples));
    TouchedColumns touched;
    Ops::SliceSoftmaxWeightGradient(slices, gathered, errors, scale, run.Output(rows, columns), touched);
    const SparseView pattern = run.Sparse(columns, samples, 3);
    Ops::SampledInnerProducts(weights, inputs, pattern, run.Output(1, pattern.nonZeros));
}

// ---- random numbers, update rules -----------------------------------------------------------------------------------

void RandomNumbers(Run& run)
{
    Ops::FillUniform(run.Output(130, 70, 1), -0.5, 0.5, 7);
    Ops::FillDropoutMask(run.Output(130, 70), 0.3, 1.25, 9);
    Ops::FillGaussian(run.Output(30, 5), 0.5, 2, 3);
}

template <UpdateFormula formula>
void Update(Run& run)
{
    UpdateCall call;
    call.formula = formula;
    call.constants = {.momentum = 0.875,
                      .gain = 0.125,
                      .keep = 0.75,
                      .squareGain = 0.25,
                      .floor = 0.125,
                      .scale = 0.5,
                      .most = 1.5,
                      .least = 0.25,
                      .grow = 1.25,
                      .shrink = 0.75};
    call.rate = 0.0625;
    const Matrix noStop(1, 1, DataType::Float64, run.GetDevice());
    const auto update = [&](size_t rows, size_t columns)
    {
        std::vector<MatrixView> states;
        for (size_t i = 0; i < StatesOf(formula); ++i)
            states.push_back(run.Output(rows, columns, 0, 0.25, 1));
        Ops::UpdateParameter(call, run.Output(rows, columns, 1), states, run.Output(rows, columns));
    };
    update(130, 5);
    call.normalizes = HasMultipliers(formula);
    call.extras = {.gradientScale = 1, .gradientLimit = 0.75, .decay = 0.125, .shrinkage = 0.0625};
    call.noiseDeviation = 0.5;
    call.noise = {7, 3};
    call.normLimit = 20;
    call.stop = noStop;
    update(130, 5);
}

void MomentumUpdates(Run& run)
{
    Ops::MomentumUpdate(run.Output(130, 5), run.Output(130, 5), run.Input(130, 5), 0.125, 0.75);
    TouchedColumns touched;
    touched.columns = {1, 2, 4};
    Ops::MomentumUpdate(run.Output(130, 5), run.Output(130, 5), run.Input(130, 5), 0.125, 0.75, &touched);
}

// ---- recorded work --------------------------------------------------------------------------------------------------

// What a training repeats: data that change, a product, a seed, a mask, a rate.
class RecordedSteps final : public RepeatedWork::Steps
{
public:
    explicit RecordedSteps(SelfCheckRun& run)
        : m_data(run.Input(40, 9)), m_weights(run.Output(65, 40)), m_bias(run.Input(65, 1)),
          m_hidden(run.Output(65, 9)), m_dropout(run.Output(65, 9)), m_totals(run.Output(65, 1)),
          m_smoothed(run.Output(65, 40)), m_gradient(run.Output(65, 40))
    {
    }

    // Of the next time.
    void Advance()
    {
        ++m_time;
        Ops::FillUniform(m_data, -1, 1, m_time);
    }
    void Run() override
    {
        Ops::MultiplyBiasActivate(m_weights, Transpose::No, m_data, m_bias, ElementwiseOp::Sigmoid, m_hidden);
        Ops::FillDropoutMask(m_dropout, 0.25, 1.25, m_time);
        Ops::Elementwise(ElementwiseOp::Product, m_hidden, m_dropout, m_hidden);
        Ops::MaskColumns(m_hidden, m_mask);
        Ops::SumAll(m_hidden.Columns(0, 1), m_totals.Rows(0, 1), 1, 1);
        Ops::Multiply(m_hidden, Transpose::No, m_data, Transpose::Yes, m_gradient, 0.125, 0.5);
        Ops::MomentumUpdate(m_weights, m_smoothed, m_gradient, 1.0 / double(8 << m_time), 0.75);
    }
    void Repeat() override { Run(); }

private:
    MatrixView m_data, m_weights, m_bias, m_hidden, m_dropout, m_totals, m_smoothed, m_gradient;
    std::vector<uint8_t> m_mask{1, 1, 0, 1, 1, 1, 1, 0, 1};
    uint64_t m_time = 0;
};

// Run, recorded, repeated twice.
void RecordedWorks(Run& run)
{
    RecordedSteps steps(run);
    RepeatedWork work(run.GetDevice(), "the self-check");
    const uint64_t key = 0;
    for (int time = 0; time < 4; ++time)
    {
        steps.Advance();
        work.Run(std::span(&key, 1), steps);
    }
}

// ---- images ---------------------------------------------------------------------------------------------------------

template <ConvolutionGeometry::Weights weights>
void Convolutions(Run& run)
{
    const WindowAxis x{.input = 7, .kernel = 3, .stride = 1, .start = -1, .windows = 7};
    const WindowAxis y{.input = 6, .kernel = 2, .stride = 2, .start = 0, .windows = 3};
    const WindowAxis channels{.input = 3, .kernel = 3, .stride = 3, .maps = 5};
    ConvolutionGeometry geometry;
    geometry.rank = 3;
    geometry.weights = weights;
    if (weights == ConvolutionGeometry::Weights::OutputsFastest)
        geometry.axes = {channels, x, y};
    else
        geometry.axes = {x, y, channels};
    const MatrixView kernels = run.Input(geometry.KernelCount(), geometry.KernelElements());
    const MatrixView input = run.Input(geometry.InputElements(), 4);
    const MatrixView gradient = run.Input(geometry.OutputElements(), 4);
    Ops::Convolve(geometry, kernels, input, run.Output(geometry.OutputElements(), 4));
    Ops::Convolve(geometry, kernels, input, run.Output(geometry.OutputElements(), 4),
                  {run.Input(5, 1), ElementwiseOp::RectifiedLinear});
    Ops::ConvolveInputGradient(geometry, kernels, gradient, run.Output(geometry.InputElements(), 4), false);
    Ops::ConvolveWeightGradient(geometry, gradient, input,
                                run.Output(geometry.KernelCount(), geometry.KernelElements()), true);
}

// Each window has kernels of its own, which no library convolves.
void LocalConvolutions(Run& run)
{
    ConvolutionGeometry geometry;
    geometry.rank = 2;
    geometry.axes = {WindowAxis{.input = 13, .kernel = 3, .stride = 2, .start = 0, .windows = 6, .isShared = false},
                     WindowAxis{.input = 11, .kernel = 2, .stride = 2, .start = -1, .windows = 6, .maps = 2}};
    const MatrixView kernels = run.Input(geometry.KernelCount(), geometry.KernelElements());
    const MatrixView input = run.Input(geometry.InputElements(), 4), gradient = run.Input(geometry.OutputElements(), 4);
    Ops::Convolve(geometry, kernels, input, run.Output(geometry.OutputElements(), 4));
    Ops::ConvolveInputGradient(geometry, kernels, gradient, run.Output(geometry.InputElements(), 4), true);
    Ops::ConvolveWeightGradient(geometry, gradient, input,
                                run.Output(geometry.KernelCount(), geometry.KernelElements()), false);
}

template <PoolKind kind>
void Pooling(Run& run)
{
    WindowGeometry geometry;
    geometry.rank = 2;
    geometry.axes = {WindowAxis{.input = 13, .kernel = 3, .stride = 2, .start = 0, .windows = 6},
                     WindowAxis{.input = 11, .kernel = 2, .stride = 2, .start = -1, .windows = 6}};
    const MatrixView input = run.Input(geometry.InputElements(), 9), output = run.Output(geometry.OutputElements(), 9);
    Ops::Pool(kind, geometry, input, output);
    Ops::PoolGradient(kind, geometry, input, output, run.Input(geometry.OutputElements(), 9),
                      run.Output(geometry.InputElements(), 9), false);
}

} // namespace

const std::vector<SelfCheckCase>& SelfCheckCases()
{
    static const std::vector<SelfCheckCase> cases = {
        {"copies", &Copies},
        {"fills, scales and masks", &Fills},
        {"sums", &Sums},
        {"running totals", &RunningTotals},
#define CNTK_CASE_ROW(name, arity, expression) {#name, &Map<ElementwiseOp::name>},
        CNTK_ELEMENTWISE_OPS(CNTK_CASE_ROW)
#undef CNTK_CASE_ROW
            {"reductions", &Reductions},
        {"sums over data", &SumsOverData},
        {"chains of element-wise operations", &Chain},
        {"the product A B", &MatrixProduct<Transpose::No, Transpose::No>, true},
        {"the product A' B", &MatrixProduct<Transpose::Yes, Transpose::No>, true},
        {"the product A B'", &MatrixProduct<Transpose::No, Transpose::Yes>, true},
        {"the product A' B'", &MatrixProduct<Transpose::Yes, Transpose::Yes>, true},
        {"the product with a bias and a non-linearity", &ProductBiasActivation, true},
        {"inner products", &InnerProducts},
        {"products with sparse matrices", &SparseProducts},
        {"lookups", &Lookups},
        {"the softmax family", &Softmaxes},
        {"cross entropy", &Criteria},
        {"class-based softmax and sampled products", &SampledSoftmaxes, true},
        {"random numbers", &RandomNumbers},
        {"the update Momentum without extras", &MomentumUpdates},
#define CNTK_CASE_ROW(name, states, multiplies) {"the update " #name, &Update<UpdateFormula::name>},
        CNTK_UPDATE_RULES(CNTK_CASE_ROW)
#undef CNTK_CASE_ROW
            {"recorded work", &RecordedWorks, true},
        {"convolution, one kernel after another", &Convolutions<ConvolutionGeometry::Weights::KernelByKernel>, true},
        {"convolution, channels first", &Convolutions<ConvolutionGeometry::Weights::OutputsFastest>, true},
        {"convolution with kernels that are not shared", &LocalConvolutions},
        {"maximum pooling", &Pooling<PoolKind::Max>},
        {"average pooling", &Pooling<PoolKind::Average>},
    };
    return cases;
}

} // namespace cntk
