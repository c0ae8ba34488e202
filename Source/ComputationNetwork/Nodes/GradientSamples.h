// Short forms for the samples in the records of node types, which feed the generic tests.
#pragma once

#include "ComputationNetwork/NodeType.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cntk::Samples
{

// Of random values between two numbers, as all inputs here whose values are not given.
inline GradientSample::Input Parameter(const TensorShape& shape, double low = -1, double high = 1)
{
    GradientSample::Input input;
    input.shape = shape;
    input.low = low;
    input.high = high;
    return input;
}

// A column a sample.
inline GradientSample::Input Data(const TensorShape& shape, double low = -1, double high = 1)
{
    GradientSample::Input input = Parameter(shape, low, high);
    input.inLayout = true;
    return input;
}

// One whose gradient is not compared with differences.
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

// A 1x1 parameter that is not trained.
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

// A parameter of a record.
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

// One that may be given by position, too.
inline NodeParameterInfo Positional(std::string name, ParameterKind kind, std::string doc,
                                    std::vector<std::string> aliases = {})
{
    NodeParameterInfo info = Option(std::move(name), kind, "", std::move(doc), std::move(aliases));
    info.required = true;
    info.positional = true;
    return info;
}

} // namespace cntk::Samples
