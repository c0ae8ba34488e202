// Axes of a sample as users and files count them, from 1, for the nodes that have such a parameter.
#pragma once

#include "Common/Error.h"
#include "ComputationNetwork/Files/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <cstddef>
#include <cstdint>

namespace cntk
{

// The elements of the axes before one, which is counted from 0: the distance of its neighbours in memory.
inline size_t ElementsBelow(const TensorShape& shape, size_t axis)
{
    size_t elements = 1;
    for (size_t below = 0; below < axis; below++)
        elements *= shape[below];
    return elements;
}

// A number of an axis as users and files count them, from 1.
inline int32_t AxisParameter(const NodeParameters& parameters, const char* name, int32_t defaultAxis)
{
    const long long axis = parameters.Integer(name, defaultAxis);
    if (axis < 1 || size_t(axis) > TensorShape::c_maxRank)
        Fail(ErrorKind::Config, "parameter '", name, "' is ", axis, "; expected 1 to ", TensorShape::c_maxRank);
    return int32_t(axis);
}

inline void CheckLoadedAxis(const ModelArchive& archive, int32_t axis)
{
    if (archive.IsLoading() && (axis < 1 || size_t(axis) > TensorShape::c_maxRank))
        Fail(ErrorKind::Model, "the file names axis ", axis, "; expected 1 to ", TensorShape::c_maxRank);
}

} // namespace cntk
