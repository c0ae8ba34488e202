// Dimension parameters of leaves, and their records.
#pragma once

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cntk
{

// Reads a dimension; 0 means that it is to be inferred.
inline size_t DimensionOf(const NodeParameters& parameters, std::string_view name, size_t defaultValue)
{
    const long long dimension = parameters.Integer(name, static_cast<long long>(defaultValue));
    if (dimension < 0)
        Fail(ErrorKind::Config, "parameter '", name, "' is ", dimension, "; expected 0 (to be inferred) or more");
    return static_cast<size_t>(dimension);
}

// Parses a shape such as "3:4:5".
inline TensorShape ParseDims(const std::string& text)
{
    TensorShape shape;
    for (const std::string_view part : Split(text, ':'))
    {
        const std::optional<long long> dimension = ParseInteger(Trim(part));
        if (!dimension || *dimension < 0)
            Fail(ErrorKind::Config, "parameter 'dims' is '", text, "'; expected dimensions like {3, 4, 5}");
        if (shape.Rank() == TensorShape::c_maxRank)
            Fail(ErrorKind::Config, "parameter 'dims' is '", text, "'; at most ", TensorShape::c_maxRank,
                 " dimensions are possible");
        shape.SetDim(shape.Rank(), static_cast<size_t>(*dimension));
    }
    return shape;
}

// Describes a dimension that may be given by position.
inline NodeParameterInfo Dimension(const char* name, const char* defaultText, const char* doc)
{
    NodeParameterInfo info = Samples::Option(name, ParameterKind::Integer, defaultText, doc);
    info.positional = true;
    return info;
}

constexpr NodeTraits c_leafTraits = {.backpropReadsInputs = false, .backpropReadsOutput = false, .isLeaf = true};

// Returns the traits of a leaf of one kind that holds its value's memory itself.
constexpr NodeTraits OwnerTraits(NodeKind kind)
{
    NodeTraits traits = c_leafTraits;
    traits.kind = kind;
    traits.ownsValue = true;
    return traits;
}

} // namespace cntk
