// Short forms for the samples in the records of node types, which feed the generic tests.
#pragma once

#include "ComputationNetwork/NodeType.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cntk::Samples
{

// Describes a parameter input. Its values are random between two limits, as for all inputs here without given values.
inline GradientSample::Input Parameter(const TensorShape& shape, double low = -1, double high = 1)
{
    GradientSample::Input input;
    input.shape = shape;
    input.low = low;
    input.high = high;
    return input;
}

// Describes a minibatch input: one column per sample.
inline GradientSample::Input Data(const TensorShape& shape, double low = -1, double high = 1)
{
    GradientSample::Input input = Parameter(shape, low, high);
    input.inLayout = true;
    return input;
}

// Excludes an input's gradient from the comparison with differences.
inline GradientSample::Input NotChecked(GradientSample::Input input)
{
    input.checkGradient = false;
    return input;
}

inline GradientSample::Input SparseData(const TensorShape& shape)
{
    GradientSample::Input input = NotChecked(Data(shape));
    input.sparse = true;
    return input;
}

// Describes a 1x1 parameter that is not trained.
inline GradientSample::Input Number(double value)
{
    GradientSample::Input input = NotChecked(Parameter({1, 1}));
    input.values = {value};
    return input;
}

inline GradientSample Case(std::vector<GradientSample::Input> inputs,
                           std::map<std::string, std::string> parameters = {})
{
    GradientSample sample;
    sample.inputs = std::move(inputs);
    sample.parameters = std::move(parameters);
    return sample;
}

// Describes a parameter of a node type's record.
inline NodeParameterInfo Option(std::string name, ParameterKind kind, std::string defaultText, std::string doc,
                                std::vector<std::string> aliases = {})
{
    NodeParameterInfo info;
    info.name = std::move(name);
    info.kind = kind;
    info.defaultText = std::move(defaultText);
    info.doc = std::move(doc);
    info.aliases = std::move(aliases);
    return info;
}

// Describes a parameter that may also be given by position.
inline NodeParameterInfo Positional(std::string name, ParameterKind kind, std::string doc,
                                    std::vector<std::string> aliases = {})
{
    NodeParameterInfo info = Option(std::move(name), kind, "", std::move(doc), std::move(aliases));
    info.required = true;
    info.positional = true;
    return info;
}

} // namespace cntk::Samples
