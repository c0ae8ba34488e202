// Shapes in Python's order: the last axis is the fastest in memory. The engine lists the same dimensions the other way
// round, so that (2, 3) here is [3 x 2] there, and no element moves (sheet 6.4).
#pragma once

#include "Math/TensorView.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cntk::Api
{

using Shape = std::vector<size_t>; // (): a single number

std::string ToText(const Shape& shape); // "(2, 3)", "(3,)", "()"
size_t ElementsOf(const Shape& shape);
// Returns true if a dimension is 0, which means that it is to be inferred.
bool HasUnknown(const Shape& shape);

// The engine has [1] for (). Fails (Model) for more dimensions than the engine has.
TensorShape EngineShape(const Shape& shape);
Shape FromEngine(const TensorShape& shape);

// Returns numpy's broadcast shape; nothing if the shapes do not fit.
std::optional<Shape> Broadcast(const Shape& a, const Shape& b);

// Returns the axis counted from 0; negative numbers count from the end. Fails (Model) for an axis that the shape does
// not have. owner: who asks, for the message.
size_t AxisOf(long axis, const Shape& shape, const std::string& owner);
// Returns the engine's number of an axis, counted from 1.
inline size_t EngineAxis(size_t axis, const Shape& shape)
{
    return shape.size() - axis;
}

} // namespace cntk::Api
