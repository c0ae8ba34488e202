// Which functions there are, what they take and how they are shown.
#include "ActionsLib/Ndl/NdlFunctions.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace cntk
{

namespace
{

using Form = NdlFunction::Form;

// A function that is not just a node type called by its name with its inputs first: another order of arguments, other
// defaults, or a name that old scripts know for a part of what the type does.
struct SpecialForm
{
    std::string_view name;
    std::string_view alias; // "" if there is none
    std::string_view type;  // of the registry; a form whose type does not exist is unknown
    Form form;
    // The positional arguments as shown; "" = from the type's record. With braces these are all arguments, a line for
    // each form of the call.
    std::string_view head;
    std::string_view doc; // "" = no help of its own: it is the type's name
    std::string_view bookSection;
};

constexpr std::string_view c_inputHead = "rows, [cols] (without effect), or dim1, dim2, dim3, ...";
constexpr std::string_view c_parameterHead = "rows, [cols=1], or dim1, dim2, dim3, ...";
constexpr std::string_view c_imageHead = "width, height, channels, [numImages] (without effect)";

// Two functions of one name: the book's for images, and the one over any number of dimensions.
constexpr std::string_view c_convolutionHeads =
    "w, image, kernelWidth, kernelHeight, outputChannels, horizontalSubsample, verticalSubsample, {zeroPadding=false, "
    "maxTempMemSizeInSamples=0, imageLayout=HWC}\n"
    "w, image, kernelShape, {mapCount=1, stride=1, sharing=true, autoPadding=true, lowerPad=0, upperPad=0, "
    "maxTempMemSizeInSamples=0, imageLayout=CHW}";

constexpr std::array<SpecialForm, 18> c_specialForms = {{
    {"InputValue", "Input", "InputValue", Form::Dimensions, c_inputHead, "", ""},
    {"SparseInputValue", "SparseInput", "SparseInputValue", Form::Dimensions, c_inputHead, "", ""},
    {"LearnableParameter", "Parameter", "LearnableParameter", Form::Dimensions, c_parameterHead, "", ""},
    {"SparseLearnableParameter", "SparseParameter", "LearnableParameter", Form::Dimensions, c_parameterHead,
     "The same as LearnableParameter: the values are dense. That products with sparse inputs change few of its columns "
     "is used without being asked for.",
     ""},
    {"Constant", "Const", "LearnableParameter", Form::Constant, "value, [rows=1], [cols=1]",
     "A rows x cols matrix that holds the value in each element and is not trained. rows and cols may be given by "
     "name, "
     "too.",
     "4.1.4.4"},
    {"ImageInput", "Image", "InputValue", Form::Image, c_imageHead,
     "Images from the reader: width*height*channels dense values a sample, as a tensor of [channels x width x height] "
     "with imageLayout=HWC (legacy), of [width x height x channels] with CHW (cudnn).",
     "4.1.4.2"},
    {"SparseImageInput", "SparseImage", "SparseInputValue", Form::Image, c_imageHead,
     "An ImageInput whose values are sparse.", ""},
    {"ImageParameter", "", "LearnableParameter", Form::Image, "[out, ...], width, height, channels",
     "A LearnableParameter with the dimensions of an image: [channels x width x height] with imageLayout=HWC (legacy), "
     "[width x height x channels] with CHW (cudnn). Dimensions before these three come first: Times with "
     "ImageParameter(out, width, height, channels) is a dense layer of out units on an image.",
     ""},
    {"PastValue", "Delay", "PastValue", Form::NodeLast, "", "", ""},
    {"FutureValue", "", "FutureValue", Form::NodeLast, "", "", ""},
    {"RowSlice", "", "Slice", Form::NodeLast, "", "The node is the last argument.", "4.1.4.12"},
    {"Reshape", "", "LegacyReshape", Form::Inputs, "",
     "The number of rows decides, as in the book; the node type Reshape of models is another one.", "4.1.4.11"},
    {"Convolution", "Convolve", "Convolution", Form::Inputs, c_convolutionHeads, "", ""},
    {"Scale", "", "ElementTimes", Form::Inputs, "scalar, m",
     "v = scalar * m: each element times a number, which is a node of [1 x 1] or is written as it is: Scale(0.5, m).",
     "4.1.4.14"},
    {"RowElementTimes", "", "ElementTimes", Form::Inputs, "m, row",
     "v_ij = m_ij row_j: each column times one element of the row, which has as many columns as m.", "4.1.4.19"},
    {"ColumnElementTimes", "", "ElementTimes", Form::Inputs, "m, column",
     "v_ij = m_ij column_i: each row times one element of the column, which has as many rows as m.", "4.1.4.19"},
    {"Parallel", "", "RowStack", Form::Inputs, "m1, m2", "The rows of m1 and below them those of m2.", ""},
    {"Transpose", "", "TransposeDimensions", Form::Inputs, "m",
     "v = m', v_ij = m_ji: of a parameter, or of the matrix that each sample is; a vector becomes a row.", ""},
}};

// What images take besides.
const NodeParameterInfo c_imageLayout = {.name = "imageLayout",
                                         .kind = ParameterKind::Text,
                                         .defaultText = "HWC",
                                         .required = false,
                                         .positional = false,
                                         .doc = "HWC (legacy; channels first in memory) or CHW (cudnn; width first)",
                                         .aliases = {}};

// The functions of August 2015 that version 1.1 has too.
constexpr std::string_view c_reserved[] = {"AveragePooling",
                                           "CBCEWithSM",
                                           "CEWithSM",
                                           "ClassBasedCrossEntropyWithSoftmax",
                                           "ClassificationError",
                                           "ColumnElementTimes",
                                           "ColumnwiseCrossProduct",
                                           "Const",
                                           "Constant",
                                           "Convolution",
                                           "Convolve",
                                           "Cos",
                                           "CosDist",
                                           "CosDistance",
                                           "CosDistanceWithNegativeSamples",
                                           "Cosine",
                                           "CosWithNegSamples",
                                           "CrossEntropy",
                                           "CrossEntropyWithSoftmax",
                                           "Delay",
                                           "DiagTimes",
                                           "Dropout",
                                           "DummyCriterion",
                                           "ElementTimes",
                                           "ErrorPrediction",
                                           "Exp",
                                           "FutureValue",
                                           "Image",
                                           "ImageInput",
                                           "Input",
                                           "InputValue",
                                           "InvStdDev",
                                           "KhatriRaoProduct",
                                           "L1Reg",
                                           "L2Reg",
                                           "LearnableParameter",
                                           "Log",
                                           "LogSoftmax",
                                           "LookupTable",
                                           "MatrixL1Reg",
                                           "MatrixL2Reg",
                                           "MaxPooling",
                                           "Mean",
                                           "Minus",
                                           "Negate",
                                           "Parameter",
                                           "PastValue",
                                           "PerDimMeanVarDeNormalization",
                                           "PerDimMeanVarNormalization",
                                           "PerDimMVDeNorm",
                                           "PerDimMVNorm",
                                           "Plus",
                                           "RectifiedLinear",
                                           "ReLU",
                                           "Reshape",
                                           "RowElementTimes",
                                           "RowRepeat",
                                           "RowSlice",
                                           "RowStack",
                                           "Scale",
                                           "SE",
                                           "Sigmoid",
                                           "Softmax",
                                           "SparseImage",
                                           "SparseImageInput",
                                           "SparseInput",
                                           "SparseInputValue",
                                           "SquareError",
                                           "SumColumnElements",
                                           "SumElements",
                                           "Tanh",
                                           "Times",
                                           "Transpose",
                                           "TransposeTimes"};

const SpecialForm* FindSpecialForm(std::string_view name)
{
    const auto found = std::find_if(c_specialForms.begin(), c_specialForms.end(),
                                    [&](const SpecialForm& form) {
                                        return EqualsIgnoreCase(form.name, name) ||
                                               (!form.alias.empty() && EqualsIgnoreCase(form.alias, name));
                                    });
    return found == c_specialForms.end() ? nullptr : &*found;
}

// "A, B": the arguments by position, as the type's record has them.
std::string HeadOf(const NdlFunction& function)
{
    const NodeType& type = *function.type;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < type.inputs.min || (i < type.inputNames.size() && i < type.inputs.max); i++)
        inputs.push_back(i < type.inputs.min ? InputName(type, i) : Concat("[", InputName(type, i), "]"));
    if (type.inputs.max == Arity::c_any)
        inputs.push_back("...");
    std::vector<std::string> positional;
    for (const NodeParameterInfo& parameter : type.parameters)
        if (parameter.positional)
            positional.push_back(parameter.required ? parameter.name : Concat("[", parameter.name, "]"));
    std::vector<std::string>& first = function.form == Form::NodeLast ? positional : inputs;
    const std::vector<std::string>& second = function.form == Form::NodeLast ? inputs : positional;
    first.insert(first.end(), second.begin(), second.end());
    return Join(first, ", ");
}

} // namespace

NdlFunction FindNdlFunction(const NodeRegistry& registry, std::string_view name)
{
    if (const SpecialForm* special = FindSpecialForm(name))
        if (const NodeType* type = registry.Find(special->type))
            return {special->form, type};
    if (const NodeType* type = registry.Find(name))
        return {Form::Inputs, type};
    return {};
}

bool TakesByName(const NdlFunction& function, const NodeParameterInfo& parameter)
{
    switch (function.form)
    {
    case Form::Constant:
        return parameter.name == "rows" || parameter.name == "cols";
    case Form::Image:
        return !parameter.positional && parameter.name != "dims";
    default:
        return true;
    }
}

bool IsReservedInNdl(std::string_view name)
{
    return std::any_of(std::begin(c_reserved), std::end(c_reserved),
                       [&](std::string_view reserved) { return EqualsIgnoreCase(reserved, name); });
}

std::vector<std::string> NdlFunctionNames(const NodeRegistry& registry)
{
    std::vector<std::string> names;
    for (const NodeType& type : registry.Types())
    {
        names.push_back(type.name);
        names.insert(names.end(), type.aliases.begin(), type.aliases.end());
    }
    for (const SpecialForm& special : c_specialForms)
        for (const std::string_view name : {special.name, special.alias})
            if (!name.empty() && registry.Find(special.type) &&
                std::find(names.begin(), names.end(), name) == names.end())
                names.emplace_back(name);
    return names;
}

std::string NdlSignature(const NdlFunction& function, std::string_view name, NamedParameters byName)
{
    const SpecialForm* special = FindSpecialForm(name);
    const bool hasHead = special && !special->head.empty();
    if (hasHead && special->head.find('{') != std::string_view::npos)
    {
        std::vector<std::string> forms;
        for (const std::string_view form : Split(special->head, '\n'))
            forms.push_back(
                Concat(name, "(", byName == NamedParameters::Shown ? form : form.substr(0, form.find(", {")), ")"));
        return Join(forms, byName == NamedParameters::Shown ? "\n" : " or ");
    }
    std::string arguments = hasHead ? std::string(special->head) : HeadOf(function);
    std::vector<std::string> named;
    for (const NodeParameterInfo& parameter : NdlNamedParameters(function))
        if (!parameter.positional && !(function.form == Form::Dimensions && parameter.name == "dims"))
            named.push_back(parameter.required || parameter.defaultText.empty()
                                ? parameter.name
                                : Concat(parameter.name, "=", parameter.defaultText));
    if (byName == NamedParameters::Shown && !named.empty())
        arguments += Concat(arguments.empty() ? "{" : ", {", Join(named, ", "), "}");
    return Concat(name, "(", arguments, ")");
}

std::string NdlSignature(const NodeRegistry& registry, std::string_view name, NamedParameters byName)
{
    const NdlFunction function = FindNdlFunction(registry, name);
    return function.type ? NdlSignature(function, name, byName) : std::string(name);
}

std::vector<NodeParameterInfo> NdlNamedParameters(const NdlFunction& function)
{
    std::vector<NodeParameterInfo> parameters;
    if (function.form == Form::Image)
        parameters.push_back(c_imageLayout);
    for (const NodeParameterInfo& parameter : function.type->parameters)
        if (TakesByName(function, parameter))
            parameters.push_back(parameter);
    return parameters;
}

std::vector<NdlFormRecord> NdlForms(const NodeRegistry& registry)
{
    std::vector<NdlFormRecord> records;
    for (const SpecialForm& form : c_specialForms)
        if (!form.doc.empty() && registry.Find(form.type))
            records.push_back({std::string(form.name),
                               form.alias.empty() ? std::vector<std::string>() : std::vector{std::string(form.alias)},
                               std::string(form.type), std::string(form.doc), std::string(form.bookSection),
                               form.head.empty()});
    return records;
}

} // namespace cntk
