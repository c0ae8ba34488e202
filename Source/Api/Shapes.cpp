// Shapes: text, conversion to the engine's order, broadcasting.
#include "Api/Shapes.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk::Api
{

std::string ToText(const Shape& shape)
{
    std::string text = "(";
    for (size_t axis = 0; axis < shape.size(); axis++)
        text += Concat(axis > 0 ? ", " : "", shape[axis]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

size_t ElementsOf(const Shape& shape)
{
    size_t elements = 1;
    for (const size_t dimension : shape)
        elements *= dimension;
    return elements;
}

bool HasUnknown(const Shape& shape)
{
    return std::find(shape.begin(), shape.end(), size_t(0)) != shape.end();
}

TensorShape EngineShape(const Shape& shape)
{
    if (shape.empty())
        return TensorShape{1};
    if (shape.size() > TensorShape::c_maxRank)
        Fail(ErrorKind::Model, "the shape ", ToText(shape), " has ", shape.size(), " axes; at most ",
             TensorShape::c_maxRank, " are possible");
    const std::vector<size_t> reversed(shape.rbegin(), shape.rend());
    return TensorShape{std::span<const size_t>(reversed)};
}

Shape FromEngine(const TensorShape& shape)
{
    return {shape.Dims().rbegin(), shape.Dims().rend()};
}

std::optional<Shape> Broadcast(const Shape& a, const Shape& b)
{
    Shape shape(std::max(a.size(), b.size()), 1);
    const auto dimension = [&](const Shape& from, size_t fromEnd)
    { return fromEnd < from.size() ? from[from.size() - 1 - fromEnd] : 1; };
    for (size_t i = 0; i < shape.size(); i++)
    {
        const size_t ofA = dimension(a, i), ofB = dimension(b, i);
        if (ofA != ofB && ofA != 1 && ofB != 1)
            return std::nullopt;
        shape[shape.size() - 1 - i] = ofA == 1 ? ofB : ofA;
    }
    return shape;
}

size_t AxisOf(long axis, const Shape& shape, const std::string& owner)
{
    const long rank = long(shape.size());
    if (axis < -rank || axis >= rank)
        Fail(ErrorKind::Model, owner, " has no axis ", axis, ": its shape ", ToText(shape), " has ",
             Counted(shape.size(), "axis"), "; expected ", -rank, " to ", rank - 1);
    return size_t(axis < 0 ? axis + rank : axis);
}

} // namespace cntk::Api
