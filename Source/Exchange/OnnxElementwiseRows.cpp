// ONNX forms of element-wise nodes, and of nodes that pass their input on.
#include "Exchange/OnnxConversion.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Single-precision constants of the engine.
constexpr double c_leastLogArgument = double(1e-37f);
constexpr double c_leastLog = double(-85.1f);

OnnxValue ConvertUnary(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow& row)
{
    const OnnxValue x = conversion.Input(node, 0);
    return conversion.Builder().Apply(row.op, {x}, x.dims);
}

OnnxValue ConvertBinary(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow& row)
{
    return conversion.Builder().Combine(row.op, conversion.Input(node, 0), conversion.Input(node, 1));
}

// True for x * sigmoid(x) and x * sigmoid(a * x).
bool IsSigmoidOfOther(const ComputationNode& sigmoid, const ComputationNodePtr& other)
{
    if (sigmoid.TypeName() != "Sigmoid")
        return false;
    const ComputationNodePtr& argument = sigmoid.Input(0);
    return argument == other ||
           (argument->TypeName() == "ElementTimes" && (argument->Input(0) == other || argument->Input(1) == other));
}

// onnxruntime fuses x * sigmoid(x) to an operator that has no double precision. One more axis keeps it from doing so.
OnnxValue ConvertProduct(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow& row)
{
    OnnxBuilder& builder = conversion.Builder();
    OnnxValue a = conversion.Input(node, 0), b = conversion.Input(node, 1);
    if (builder.Type() == OnnxType::Double &&
        (IsSigmoidOfOther(*node.Input(0), node.Input(1)) || IsSigmoidOfOther(*node.Input(1), node.Input(0))))
    {
        const size_t rank = std::max(a.dims.size(), b.dims.size()) + 1;
        a = builder.PaddedTo(a, rank);
        b = builder.PaddedTo(b, rank);
    }
    return builder.Combine(row.op, a, b);
}

OnnxValue ConvertSame(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    return conversion.Input(node, 0);
}

OnnxValue ConvertLog(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = conversion.Input(node, 0), least = builder.Number(c_leastLogArgument);
    const OnnxValue isTooSmall = builder.Combine("Less", x, least);
    const OnnxValue logarithm = builder.Apply("Log", {builder.Combine("Max", x, least)}, x.dims);
    return builder.Select(isTooSmall, builder.Number(c_leastLog), logarithm);
}

OnnxValue ConvertReciprocal(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = conversion.Input(node, 0), zero = builder.Number(0);
    const OnnxValue isZero = builder.Combine("Equal", x, zero);
    const OnnxValue inverse = builder.Apply("Reciprocal", {builder.Select(isZero, builder.Number(1), x)}, x.dims);
    return builder.Select(isZero, zero, inverse);
}

OnnxValue ConvertSqrt(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = conversion.Input(node, 0);
    return builder.Apply("Sqrt", {builder.Combine("Max", x, builder.Number(0))}, x.dims);
}

// A function along the first dimension, which is the last axis.
OnnxValue ConvertAlongFirstDimension(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow& row)
{
    const OnnxValue x = conversion.Input(node, 0);
    return conversion.Builder().Apply(row.op, {x}, x.dims, {{"axis", AxisOfDimension(1)}});
}

// (x - mean) * invStdDev, or x / invStdDev + mean; the statistics get the sample's dimensions.
OnnxValue ConvertNormalization(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = conversion.Input(node, 0);
    const OnnxValue mean = builder.Reshaped(conversion.Input(node, 1), x.dims);
    const OnnxValue deviation = builder.Reshaped(conversion.Input(node, 2), x.dims);
    return builder.Combine("Mul", builder.Combine("Sub", x, mean), deviation);
}

OnnxValue ConvertDenormalization(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = conversion.Input(node, 0);
    const OnnxValue mean = builder.Reshaped(conversion.Input(node, 1), x.dims);
    const OnnxValue deviation = builder.Reshaped(conversion.Input(node, 2), x.dims);
    return builder.Combine("Add", builder.Combine("Div", x, deviation), mean);
}

constexpr OnnxRow c_elementwiseRows[] = {
    {"Abs", "Abs", ConvertUnary, "Abs"},
    {"Cosine", "Cos", ConvertUnary, "Cos"},
    {"Exp", "Exp", ConvertUnary, "Exp"},
    {"Negate", "Neg", ConvertUnary, "Neg"},
    {"RectifiedLinear", "Relu", ConvertUnary, "Relu"},
    {"Sigmoid", "Sigmoid", ConvertUnary, "Sigmoid"},
    {"Sin", "Sin", ConvertUnary, "Sin"},
    {"Tanh", "Tanh", ConvertUnary, "Tanh"},
    {"Log", "Where, Log, Max", ConvertLog},
    {"Reciprocal", "Where, Reciprocal", ConvertReciprocal},
    {"Sqrt", "Sqrt, Max", ConvertSqrt},
    {"Plus", "Add", ConvertBinary, "Add"},
    {"Minus", "Sub", ConvertBinary, "Sub"},
    {"ElementTimes", "Mul", ConvertProduct, "Mul"},
    {"Dropout", "its input", ConvertSame},
    {"Pass", "its input", ConvertSame},
    {"Trace", "its input", ConvertSame},
    {"ReconcileDynamicAxis", "its input", ConvertSame},
    {"Softmax", "Softmax", ConvertAlongFirstDimension, "Softmax"},
    {"LogSoftmax", "LogSoftmax", ConvertAlongFirstDimension, "LogSoftmax"},
    {"Hardmax", "Hardmax", ConvertAlongFirstDimension, "Hardmax"},
    {"PerDimMeanVarNormalization", "Sub, Mul", ConvertNormalization},
    {"PerDimMeanVarDeNormalization", "Div, Add", ConvertDenormalization},
    {"LearnableParameter", "initializer"},
    {"Mean", "initializer"},
    {"InvStdDev", "initializer"},
    {"InputValue", "graph input"},
    {"SparseInputValue", "graph input"},
    {"EnvironmentInput", "initializer (0)"},
    {"DynamicAxis", "nothing"},
};

} // namespace

std::span<const OnnxRow> OnnxElementwiseRows()
{
    return c_elementwiseRows;
}

} // namespace cntk
