// ONNX forms of products, sums along dimensions, lookups and likelihoods.
#include "Exchange/OnnxConversion.h"

#include <cmath>
#include <numbers>

namespace cntk
{

namespace
{

size_t OutputRankOf(const ComputationNode& times)
{
    uint64_t rank = 1;
    ReadFields(times, [&](ModelArchive& archive) { archive.Field(rank); });
    return size_t(rank);
}

int64_t ProductOfDims(const TensorShape& shape, size_t first, size_t end)
{
    int64_t product = 1;
    for (size_t axis = first; axis < end; ++axis)
        product *= int64_t(shape[axis]);
    return product;
}

// The embeddings of word numbers: rows of the table [words, dimension], joined for several words a sample.
OnnxValue GatherWords(OnnxConversion& conversion, const OnnxValue& table, const OnnxWords& words)
{
    OnnxDims dims = {table.dims[1]};
    if (words.count > 1)
        dims.insert(dims.begin(), int64_t(words.count));
    OnnxBuilder& builder = conversion.Builder();
    return builder.Flat({builder.Append("Gather", {table.name, words.name}, {}), dims, true});
}

// The static left operand as [inner, outputs].
OnnxValue StaticLeft(OnnxConversion& conversion, const ComputationNode& node, bool isTransposed, int64_t inner,
                     int64_t outputs)
{
    OnnxBuilder& builder = conversion.Builder();
    const ComputationNode& left = *node.Input(0);
    if (!isTransposed)
        return builder.Reshaped(conversion.ValueOf(left), {inner, outputs});
    // The engine's matrix is [inner x outputs], stored column by column.
    const std::vector<double> values = conversion.StaticValues(left);
    std::vector<double> transposed(values.size());
    for (int64_t row = 0; row < inner; ++row)
        for (int64_t column = 0; column < outputs; ++column)
            transposed[size_t(row * outputs + column)] = values[size_t(row + column * inner)];
    return builder.Array({inner, outputs}, transposed);
}

// Inner products of the rows [outputs, inner] of a sample with those of `right`, [rest, inner]. onnxruntime fuses a
// Transpose with MatMul to an operator that has no double precision.
OnnxValue MultiplyByTransposed(OnnxConversion& conversion, const OnnxValue& rows, const OnnxValue& right)
{
    OnnxBuilder& builder = conversion.Builder();
    const int64_t outputs = rows.dims[0], inner = rows.dims[1], rest = right.dims[0];
    const OnnxValue products =
        builder.Combine("Mul", builder.Reshaped(right, {rest, 1, inner}), builder.Reshaped(rows, {1, outputs, inner}));
    return builder.SumOver(products, {-1}, {rest, outputs}, false);
}

// A B as MatMul(B, A): the contracted dimensions are B's first ones, other dimensions of B stay in front.
OnnxValue ConvertTimes(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow& row)
{
    OnnxBuilder& builder = conversion.Builder();
    const bool isTransposed = row.type == "TransposeTimes";
    const TensorShape& a = node.Input(0)->SampleLayout();
    const size_t rank = isTransposed ? 1 : OutputRankOf(node);
    const int64_t outputs = isTransposed ? ProductOfDims(a, 1, a.Rank()) : ProductOfDims(a, 0, rank);
    const int64_t inner = isTransposed ? int64_t(a[0]) : ProductOfDims(a, rank, a.Rank());
    const bool isLeftStatic = conversion.IsStatic(*node.Input(0));
    if (const auto words = conversion.WordsOf(*node.Input(1)); words && words->count == 1 && isLeftStatic)
        return GatherWords(conversion, StaticLeft(conversion, node, isTransposed, inner, outputs), *words);

    const OnnxValue b = conversion.Input(node, 1);
    const int64_t rest = ElementsOf(b.dims) / inner;
    // With data on the left, each sample is a matrix of its own.
    const bool isVector = rest == 1 && isLeftStatic;
    const OnnxValue right = builder.Reshaped(b, isVector ? OnnxDims{inner} : OnnxDims{rest, inner});
    if (!isLeftStatic && isTransposed)
        return MultiplyByTransposed(conversion, builder.Reshaped(conversion.Input(node, 0), {outputs, inner}), right);
    const OnnxValue left = isLeftStatic ? StaticLeft(conversion, node, isTransposed, inner, outputs)
                                        : builder.Reshaped(conversion.Input(node, 0), {inner, outputs});
    return builder.Apply("MatMul", {right, left}, isVector ? OnnxDims{outputs} : OnnxDims{rest, outputs});
}

OnnxValue ConvertDiagTimes(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue y = conversion.Input(node, 1);
    return builder.Combine("Mul", builder.Reshaped(conversion.Input(node, 0), y.dims), y);
}

OnnxValue ConvertLookup(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const TensorShape& e = node.Input(0)->SampleLayout();
    const auto dimension = int64_t(e.MatrixRows()), vocabulary = int64_t(e.MatrixColumns());
    const OnnxValue table = builder.Reshaped(conversion.Input(node, 0), {vocabulary, dimension});
    if (const auto words = conversion.WordsOf(*node.Input(1)))
        return GatherWords(conversion, table, *words);
    const OnnxValue x = conversion.Input(node, 1);
    const int64_t count = ElementsOf(x.dims) / vocabulary;
    return builder.Apply("MatMul", {builder.Reshaped(x, {count, vocabulary}), table}, {count, dimension});
}

OnnxValue ConvertKhatriRao(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = conversion.Input(node, 0), y = conversion.Input(node, 1);
    return builder.Combine("Mul", builder.Reshaped(x, {1, ElementsOf(x.dims)}),
                           builder.Reshaped(y, {ElementsOf(y.dims), 1}));
}

// x'y / (|x| |y|), and 0 where the divisor is 0.
OnnxValue ConvertCosDistance(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = builder.Flat(conversion.Input(node, 0)), y = builder.Flat(conversion.Input(node, 1));
    const OnnxValue product = builder.SumOver(builder.Combine("Mul", x, y), {-1}, {1}, true);
    const auto norm = [&](const OnnxValue& vector) {
        return builder.Apply("ReduceL2", {vector}, {1}, {{"axes", std::vector<int64_t>{-1}}});
    };
    const OnnxValue norms = builder.Combine("Mul", norm(x), norm(y));
    const OnnxValue isZero = builder.Combine("Equal", norms, builder.Number(0));
    const OnnxValue cosine = builder.Combine("Div", product, builder.Select(isZero, builder.Number(1), norms));
    return builder.Select(isZero, builder.Number(0), cosine);
}

OnnxValue ConvertColumnSum(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    return builder.SumOver(builder.Flat(conversion.Input(node, 0)), {-1}, {1}, true);
}

OnnxValue ConvertReduction(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    int32_t axis = 0;
    ReadFields(node, [&](ModelArchive& archive) { archive.Field(axis); });
    OnnxBuilder& builder = conversion.Builder();
    const TensorShape& shape = node.Input(0)->SampleLayout();
    const OnnxValue x = conversion.Input(node, 0);
    if (axis == 0)
        return builder.SumOver(builder.Flat(x), {-1}, {1}, true);
    OnnxDims dims = ReversedDims(shape, shape.Rank());
    const OnnxValue whole = builder.Reshaped(x, dims);
    dims[dims.size() - size_t(axis)] = 1;
    return builder.SumOver(whole, {AxisOfDimension(size_t(axis))}, dims, true);
}

// ln sum_c softmax(u)_c N(x; m_c, sigma_c^2), with one deviation for all dimensions of a component.
OnnxValue ConvertMixture(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue priors = builder.Flat(conversion.Input(node, 0));
    const OnnxValue deviations = builder.Flat(conversion.Input(node, 2));
    const OnnxValue x = builder.Flat(conversion.Input(node, 3));
    const int64_t components = priors.dims[0], dimensions = x.dims[0];
    const OnnxValue means = builder.Reshaped(conversion.Input(node, 1), {components, dimensions});
    const OnnxValue logPriors = builder.Apply("LogSoftmax", {priors}, priors.dims, {{"axis", int64_t(-1)}});
    const OnnxValue differences = builder.Combine("Sub", builder.Reshaped(x, {1, dimensions}), means);
    const OnnxValue distances =
        builder.SumOver(builder.Combine("Mul", differences, differences), {-1}, {components}, false);
    const OnnxValue inverse =
        builder.Apply("Exp", {builder.Combine("Mul", deviations, builder.Number(-2))}, deviations.dims);
    const OnnxValue exponents =
        builder.Combine("Mul", builder.Combine("Mul", distances, inverse), builder.Number(-0.5));
    const OnnxValue scales = builder.Combine("Mul", deviations, builder.Number(-double(dimensions)));
    const OnnxValue logs = builder.Combine("Add", builder.Combine("Add", exponents, logPriors), scales);
    const OnnxValue sum = builder.Apply("ReduceLogSumExp", {logs}, {1}, {{"axes", std::vector<int64_t>{-1}}});
    const double constant = -0.5 * double(dimensions) * std::log(2 * std::numbers::pi);
    return builder.Combine("Add", sum, builder.Number(constant));
}

constexpr OnnxRow c_productRows[] = {
    {"Times", "MatMul, Gather (words)", ConvertTimes},
    {"TransposeTimes", "MatMul, Gather (words)", ConvertTimes},
    {"DiagTimes", "Mul", ConvertDiagTimes},
    {"LookupTable", "MatMul, Gather (words)", ConvertLookup},
    {"KhatriRaoProduct", "Mul", ConvertKhatriRao},
    {"CosDistance", "ReduceSum, ReduceL2, Div, Where", ConvertCosDistance},
    {"SumColumnElements", "ReduceSum", ConvertColumnSum},
    {"ReduceElements", "ReduceSum", ConvertReduction},
    {"GMMLogLikelihood", "LogSoftmax, ReduceSum, ReduceLogSumExp", ConvertMixture},
};

} // namespace

std::span<const OnnxRow> OnnxProductRows()
{
    return c_productRows;
}

} // namespace cntk
