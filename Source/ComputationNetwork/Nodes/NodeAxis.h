// Axes of a sample for nodes with an axis parameter. Users and files count axes from 1.
#pragma once

#include "Common/Error.h"
#include "ComputationNetwork/Files/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <cstddef>
#include <cstdint>

namespace cntk
{

// Returns the number of elements of the axes before `axis` (counted from 0): the distance of its neighbours in memory.
inline size_t ElementsBelow(const TensorShape& shape, size_t axis)
{
    size_t elements = 1;
    for (size_t below = 0; below < axis; below++)
        elements *= shape[below];
    return elements;
}

// Reads an axis parameter as users and files count it, from 1.
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
