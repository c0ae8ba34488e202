#include "Exchange/OnnxBuilder.h"

#include "Common/Text.h"

#include <algorithm>
#include <cstring>

namespace cntk
{

OnnxDims ReversedDims(const TensorShape& shape, size_t rank)
{
    OnnxDims dims;
    for (size_t axis = rank; axis-- > 0;)
        dims.push_back(int64_t(shape[axis]));
    return dims;
}

OnnxDims OnnxDimsOf(const TensorShape& shape)
{
    const size_t rank = shape.Rank() == 2 && shape[1] == 1 ? 1 : std::max<size_t>(shape.Rank(), 1);
    return ReversedDims(shape, rank);
}

int64_t ElementsOf(const OnnxDims& dims)
{
    int64_t elements = 1;
    for (const int64_t dim : dims)
        elements *= dim;
    return elements;
}

OnnxBuilder::OnnxBuilder(DataType dataType, size_t dynamicAxes, const std::vector<std::string>& names)
    : m_dataType(dataType), m_dynamicAxes(dynamicAxes), m_names(names.begin(), names.end())
{
    m_main.name = "network";
}

std::string OnnxBuilder::NewName()
{
    std::string name;
    do
        name = Concat(m_node, "/", ++m_numbers[m_node]);
    while (!m_names.insert(name).second);
    return name;
}

std::string OnnxBuilder::Reserve(const std::string& name)
{
    std::string unique = name;
    for (size_t number = 2; !m_names.insert(unique).second; ++number)
        unique = Concat(name, ".", number);
    return unique;
}

std::string OnnxBuilder::Append(std::string_view type, std::vector<std::string> inputs,
                                std::vector<OnnxAttribute> attributes, bool isStatic)
{
    std::string output = NewName();
    OnnxGraph& graph = isStatic ? m_main : Current();
    graph.operators.push_back({std::string(type), std::move(inputs), {output}, std::move(attributes)});
    return output;
}

OnnxValue OnnxBuilder::Apply(std::string_view type, const std::vector<OnnxValue>& inputs, OnnxDims dims,
                             std::vector<OnnxAttribute> attributes)
{
    const bool isDynamic = std::any_of(inputs.begin(), inputs.end(), [](const OnnxValue& x) { return x.isDynamic; });
    std::vector<std::string> names;
    for (const OnnxValue& input : inputs)
        names.push_back(input.name);
    return {Append(type, std::move(names), std::move(attributes), !isDynamic), std::move(dims), isDynamic};
}

namespace
{

OnnxDims BroadcastDims(const OnnxDims& a, const OnnxDims& b)
{
    OnnxDims dims(std::max(a.size(), b.size()), 1);
    for (const OnnxDims& other : {a, b})
        for (size_t i = 0; i < other.size(); ++i)
        {
            int64_t& dim = dims[dims.size() - other.size() + i];
            dim = std::max(dim, other[i]);
        }
    return dims;
}

} // namespace

OnnxValue OnnxBuilder::Combine(std::string_view type, const OnnxValue& a, const OnnxValue& b)
{
    const size_t rank = std::max(a.dims.size(), b.dims.size());
    return Apply(type, {a.isDynamic ? PaddedTo(a, rank) : a, b.isDynamic ? PaddedTo(b, rank) : b},
                 BroadcastDims(a.dims, b.dims));
}

OnnxValue OnnxBuilder::Select(const OnnxValue& condition, const OnnxValue& yes, const OnnxValue& no)
{
    const size_t rank = std::max({condition.dims.size(), yes.dims.size(), no.dims.size()});
    const auto padded = [&](const OnnxValue& value) { return value.isDynamic ? PaddedTo(value, rank) : value; };
    return Apply("Where", {padded(condition), padded(yes), padded(no)},
                 BroadcastDims(condition.dims, BroadcastDims(yes.dims, no.dims)));
}

OnnxValue OnnxBuilder::Reshaped(const OnnxValue& value, const OnnxDims& dims)
{
    if (value.dims == dims)
        return value;
    OnnxDims shape(value.isDynamic ? DynamicAxes() : 0, 0); // 0 keeps an axis
    shape.insert(shape.end(), dims.begin(), dims.end());
    return {Append("Reshape", {value.name, Integers(shape)}, {}, !value.isDynamic), dims, value.isDynamic};
}

OnnxValue OnnxBuilder::PaddedTo(const OnnxValue& value, size_t rank)
{
    OnnxDims dims = value.dims;
    if (dims.size() < rank)
        dims.insert(dims.begin(), rank - dims.size(), 1);
    return Reshaped(value, dims);
}

OnnxValue OnnxBuilder::Transposed(const OnnxValue& value, const std::vector<size_t>& order)
{
    const size_t first = value.isDynamic ? DynamicAxes() : 0;
    std::vector<int64_t> permutation;
    for (size_t axis = 0; axis < first; ++axis)
        permutation.push_back(int64_t(axis));
    OnnxDims dims;
    for (const size_t axis : order)
    {
        permutation.push_back(int64_t(first + axis));
        dims.push_back(value.dims[axis]);
    }
    if (m_dataType == DataType::Float32)
        return Apply("Transpose", {value}, dims, {{"perm", permutation}});
    // onnxruntime fuses a Transpose of the last two axes with a MatMul to an operator that has no double precision. One
    // more axis keeps it from doing so.
    permutation.push_back(int64_t(permutation.size()));
    OnnxDims longer = value.dims, longerResult = dims;
    longer.push_back(1);
    longerResult.push_back(1);
    return Reshaped(Apply("Transpose", {Reshaped(value, longer)}, longerResult, {{"perm", permutation}}), dims);
}

OnnxValue OnnxBuilder::ExpandedTo(const OnnxValue& value, const OnnxDims& dims, const OnnxValue& like)
{
    if (value.dims == dims && value.isDynamic == like.isDynamic)
        return value;
    const OnnxValue padded = value.isDynamic ? PaddedTo(value, dims.size()) : value;
    std::string shape = Integers(dims);
    if (like.isDynamic)
        shape = JoinShapes({value.isDynamic ? Integers(OnnxDims(DynamicAxes(), 1)) : DynamicShape(like), shape});
    return {Append("Expand", {padded.name, shape}, {}, !like.isDynamic), dims, like.isDynamic};
}

OnnxValue OnnxBuilder::SumOver(const OnnxValue& value, std::vector<int64_t> axes, OnnxDims dims, bool keepsAxes)
{
    return {Append("ReduceSum", {value.name, Integers(axes)}, {{"keepdims", int64_t(keepsAxes)}}, !value.isDynamic),
            std::move(dims), value.isDynamic};
}

std::string OnnxBuilder::DynamicShape(const OnnxValue& value)
{
    return Append("Shape", {value.name}, {{"start", int64_t(0)}, {"end", int64_t(DynamicAxes())}});
}

std::string OnnxBuilder::JoinShapes(const std::vector<std::string>& parts)
{
    return Append("Concat", parts, {{"axis", int64_t(0)}});
}

OnnxValue OnnxBuilder::ReshapedAs(const OnnxValue& value, const std::string& shape, OnnxDims dims, bool isDynamic)
{
    return {Append("Reshape", {value.name, shape}, {}), std::move(dims), isDynamic};
}

void OnnxBuilder::AddTensor(const std::string& name, OnnxType type, OnnxDims dims, std::vector<std::byte> bytes)
{
    OnnxTensor tensor{name, type, std::move(dims)};
    const auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    tensor.data = owned->data();
    tensor.bytes = owned->size();
    tensor.owned = owned;
    m_main.initializers.push_back(std::move(tensor));
}

std::string OnnxBuilder::AddConstant(OnnxType type, OnnxDims dims, std::vector<std::byte> bytes)
{
    std::string key = Concat(int(type), ":");
    for (const int64_t dim : dims)
        key += Concat(dim, ",");
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::string& name = m_constants[key];
    if (!name.empty())
        return name;
    name = NewName();
    AddTensor(name, type, std::move(dims), std::move(bytes));
    return name;
}

namespace
{

template <class Element, class Value>
std::vector<std::byte> BytesOfElements(std::span<const Value> values)
{
    std::vector<std::byte> bytes(values.size() * sizeof(Element));
    for (size_t i = 0; i < values.size(); ++i)
    {
        const auto element = static_cast<Element>(values[i]);
        std::memcpy(bytes.data() + i * sizeof(Element), &element, sizeof(Element));
    }
    return bytes;
}

} // namespace

std::string OnnxBuilder::Integers(const std::vector<int64_t>& values)
{
    return AddConstant(OnnxType::Int64, {int64_t(values.size())}, BytesOfElements<int64_t, int64_t>(values));
}

std::string OnnxBuilder::Integer(int64_t value)
{
    return AddConstant(OnnxType::Int64, {}, BytesOfElements<int64_t, int64_t>({&value, 1}));
}

OnnxValue OnnxBuilder::Number(double value)
{
    return Array({}, {value});
}

OnnxValue OnnxBuilder::Array(OnnxDims dims, const std::vector<double>& values)
{
    std::vector<std::byte> bytes = m_dataType == DataType::Float32 ? BytesOfElements<float, double>(values)
                                                                   : BytesOfElements<double, double>(values);
    return {AddConstant(Type(), dims, std::move(bytes)), dims, false};
}

OnnxValue OnnxBuilder::NamedArray(const std::string& name, OnnxDims dims, const std::vector<double>& values)
{
    AddTensor(name, Type(), dims,
              m_dataType == DataType::Float32 ? BytesOfElements<float, double>(values)
                                              : BytesOfElements<double, double>(values));
    return {name, std::move(dims), false};
}

std::string OnnxBuilder::FloatPair(float first, float second)
{
    const float values[] = {first, second};
    return AddConstant(OnnxType::Float, {2}, BytesOfElements<float, float>(values));
}

OnnxValue OnnxBuilder::Initializer(const std::string& name, OnnxDims dims, const MatrixView& values)
{
    OnnxTensor tensor{name, Type(), dims};
    tensor.data = values.As<std::byte>();
    tensor.bytes = values.Elements() * SizeOf(values.type);
    m_main.initializers.push_back(std::move(tensor));
    return {name, std::move(dims), false};
}

bool OnnxBuilder::Rename(size_t first, OnnxValue& value, const std::string& name)
{
    std::vector<OnnxOperator>& operators = Current().operators;
    const auto begin = operators.begin() + ptrdiff_t(std::min(first, operators.size()));
    const bool isMade =
        std::any_of(begin, operators.end(),
                    [&](const OnnxOperator& op)
                    { return std::find(op.outputs.begin(), op.outputs.end(), value.name) != op.outputs.end(); });
    if (!isMade)
        return false;
    for (auto op = begin; op != operators.end(); ++op)
        for (std::vector<std::string>* names : {&op->inputs, &op->outputs})
            std::replace(names->begin(), names->end(), value.name, name);
    value.name = name;
    return true;
}

} // namespace cntk
