// ONNX forms of nodes that select, stack, repeat or reinterpret the dimensions of a sample.
#include "Exchange/OnnxConversion.h"

#include <algorithm>
#include <numeric>

namespace cntk
{

namespace
{

OnnxValue ConvertSlice(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    int64_t begin = 0, length = 0;
    int32_t dimension = 1;
    ReadFields(node,
               [&](ModelArchive& archive)
               {
                   archive.Field(begin);
                   archive.Field(length);
                   archive.Field(dimension);
               });
    OnnxBuilder& builder = conversion.Builder();
    const TensorShape& shape = node.Input(0)->SampleLayout();
    const size_t rank = std::max<size_t>(shape.Rank(), size_t(dimension));
    const OnnxValue x = builder.Reshaped(conversion.Input(node, 0), ReversedDims(shape, rank));
    const int64_t first = begin < 0 ? begin + int64_t(shape[size_t(dimension) - 1]) : begin;
    const int64_t end = first + int64_t(node.SampleLayout()[size_t(dimension) - 1]);
    return {builder.Append("Slice",
                           {x.name, builder.Integers({first}), builder.Integers({end}),
                            builder.Integers({AxisOfDimension(size_t(dimension))})},
                           {}),
            ReversedDims(node.SampleLayout(), rank), true};
}

// Inputs that are stacked in other dimensions than their own: files of August 2015 stack vectors of [1 x 1 x rows].
bool StacksFlatVectors(const ComputationNode& node, size_t dimension)
{
    return dimension == 1 && node.SampleLayout().Rank() == 1 &&
           std::any_of(node.Inputs().begin(), node.Inputs().end(),
                       [](const ComputationNodePtr& input)
                       { return input->SampleLayout().Rank() == 3 && input->SampleLayout()[0] == 1; });
}

OnnxValue ConvertRowStack(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    int32_t field = 1;
    ReadFields(node, [&](ModelArchive& archive) { archive.Field(field); });
    OnnxBuilder& builder = conversion.Builder();
    const auto dimension = size_t(field);
    const bool isFlat = StacksFlatVectors(node, dimension);
    size_t rank = std::max(dimension, node.SampleLayout().Rank());
    if (!isFlat)
        for (const ComputationNodePtr& input : node.Inputs())
            rank = std::max(rank, input->SampleLayout().Rank());
    std::vector<OnnxValue> parts;
    for (size_t i = 0; i < node.InputCount(); ++i)
    {
        const OnnxValue part = conversion.Input(node, i);
        parts.push_back(builder.Reshaped(part, isFlat ? OnnxDims{ElementsOf(part.dims)}
                                                      : ReversedDims(node.Input(i)->SampleLayout(), rank)));
    }
    const OnnxValue like =
        *std::find_if(parts.begin(), parts.end(), [](const OnnxValue& part) { return part.isDynamic; });
    const size_t axis = rank - dimension;
    OnnxDims dims = ReversedDims(node.SampleLayout(), rank);
    for (OnnxValue& part : parts)
    {
        OnnxDims wanted = dims;
        wanted[axis] = part.dims[axis];
        part = builder.ExpandedTo(part, wanted, like);
    }
    if (parts.size() == 1)
        return parts[0];
    return builder.Apply("Concat", parts, dims, {{"axis", AxisOfDimension(dimension)}});
}

OnnxValue ConvertRowRepeat(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = builder.Flat(conversion.Input(node, 0));
    std::vector<int64_t> repeats(builder.DynamicAxes(), 1);
    const auto all = int64_t(node.SampleElements());
    repeats.push_back(all / x.dims[0]);
    return {builder.Append("Tile", {x.name, builder.Integers(repeats)}, {}), {all}, true};
}

OnnxValue ConvertTranspose(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    int32_t first = 1, second = 2;
    ReadFields(node,
               [&](ModelArchive& archive)
               {
                   archive.Field(first);
                   archive.Field(second);
               });
    OnnxBuilder& builder = conversion.Builder();
    const TensorShape& shape = node.Input(0)->SampleLayout();
    const size_t rank = std::max({shape.Rank(), size_t(first), size_t(second)});
    const OnnxValue x = builder.Reshaped(conversion.Input(node, 0), ReversedDims(shape, rank));
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t(0));
    std::swap(order[rank - size_t(first)], order[rank - size_t(second)]);
    return builder.Transposed(x, order);
}

OnnxValue ConvertReshape(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    return conversion.Input(node, 0); // the caller gives the value the node's dimensions
}

// Joins k steps of a sequence into one, or splits one into k: [T, S, R] and [T/k, S, kR].
OnnxValue ConvertLegacyReshape(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = conversion.Input(node, 0);
    const int64_t from = ElementsOf(x.dims), to = int64_t(node.SampleElements());
    if (from == to)
        return x;
    if (builder.IsInBody())
        RefuseOnnx(node, "changes the number of steps within a loop", "export nodes before it (outputNodeNames)");
    conversion.DeriveLayout(node.GetMBLayout(), node.Input(0)->GetMBLayout(), size_t(from), size_t(to));
    const std::string sequences = conversion.Sequences(x);
    const auto shape = [&](const OnnxDims& before, const OnnxDims& after) {
        return builder.JoinShapes({builder.Integers(before), sequences, builder.Integers(after)});
    };
    const auto swapped = [&](const std::string& name) {
        return builder.Append("Transpose", {name}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    };
    if (to > from)
    {
        const OnnxValue groups = builder.ReshapedAs(x, shape({-1, to / from}, {from}), {}, true);
        return {builder.Append("Reshape", {swapped(groups.name), builder.Integers({0, 0, to})}, {}), {to}, true};
    }
    const OnnxValue groups = builder.Reshaped(x, {from / to, to});
    return builder.ReshapedAs({swapped(groups.name), {}, true}, shape({-1}, {to}), {to}, true);
}

constexpr OnnxRow c_shapeRows[] = {
    {"Slice", "Slice", ConvertSlice},
    {"RowStack", "Concat, Expand", ConvertRowStack},
    {"RowRepeat", "Tile", ConvertRowRepeat},
    {"TransposeDimensions", "Transpose", ConvertTranspose},
    {"Reshape", "Reshape", ConvertReshape},
    {"LegacyReshape", "Reshape, Transpose", ConvertLegacyReshape},
    {"Diagonal", "initializer"},
};

} // namespace

std::span<const OnnxRow> OnnxShapeRows()
{
    return c_shapeRows;
}

} // namespace cntk
