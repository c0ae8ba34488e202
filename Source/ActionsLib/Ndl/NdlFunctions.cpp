// Table of functions, their signatures, and binding of arguments.
#include "ActionsLib/Ndl/NdlFunctions.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace cntk
{

namespace
{

using Form = NdlFunction::Form;

// A function that differs from a node type called by its name: another order of arguments, other defaults, or an old
// name for a special case of the type.
struct SpecialForm
{
    std::string_view name;
    std::string_view alias; // "" = none
    std::string_view type;  // in the registry; without this type the function is unknown
    Form form;
    // Positional arguments for signatures; "" = those of the node type. A head with braces lists all arguments, one
    // line for each form of the call.
    std::string_view head;
    std::string_view doc; // "" = the help of the node type
    std::string_view bookSection;
};

constexpr std::string_view c_inputHead = "rows, [cols] (without effect), or dim1, dim2, dim3, ...";
constexpr std::string_view c_parameterHead = "rows, [cols=1], or dim1, dim2, dim3, ...";
constexpr std::string_view c_imageHead = "width, height, channels, [numImages] (without effect)";

// Convolution has two forms: the book's form for images, and a form for any number of dimensions.
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
     "The same as LearnableParameter: the values are dense. Updates touch only the columns that sparse inputs use.",
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

// Additional parameter of image functions.
const NodeParameterInfo c_imageLayout = {.name = "imageLayout",
                                         .kind = ParameterKind::Text,
                                         .defaultText = "HWC",
                                         .required = false,
                                         .positional = false,
                                         .doc = "HWC (legacy; channels first in memory) or CHW (cudnn; width first)",
                                         .aliases = {}};

// Functions that the versions of August 2015 and 1.1 share.
constexpr std::string_view c_reserved =
    "AveragePooling CBCEWithSM CEWithSM ClassBasedCrossEntropyWithSoftmax ClassificationError "
    "ColumnElementTimes ColumnwiseCrossProduct Const Constant Convolution Convolve Cos CosDist "
    "CosDistance CosDistanceWithNegativeSamples Cosine CosWithNegSamples CrossEntropy "
    "CrossEntropyWithSoftmax Delay DiagTimes Dropout DummyCriterion ElementTimes ErrorPrediction Exp "
    "FutureValue Image ImageInput Input InputValue InvStdDev KhatriRaoProduct L1Reg L2Reg "
    "LearnableParameter Log LogSoftmax LookupTable MatrixL1Reg MatrixL2Reg MaxPooling Mean Minus Negate "
    "Parameter PastValue PerDimMeanVarDeNormalization PerDimMeanVarNormalization PerDimMVDeNorm "
    "PerDimMVNorm Plus RectifiedLinear ReLU Reshape RowElementTimes RowRepeat RowSlice RowStack Scale SE "
    "Sigmoid Softmax SparseImage SparseImageInput SparseInput SparseInputValue SquareError "
    "SumColumnElements SumElements Tanh Times Transpose TransposeTimes";

const SpecialForm* FindSpecialForm(std::string_view name)
{
    const auto found = std::find_if(c_specialForms.begin(), c_specialForms.end(),
                                    [&](const SpecialForm& form) {
                                        return EqualsIgnoreCase(form.name, name) ||
                                               (!form.alias.empty() && EqualsIgnoreCase(form.alias, name));
                                    });
    return found == c_specialForms.end() ? nullptr : &*found;
}

// Returns the positional arguments of the node type: "A, B".
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

// True if the function takes this parameter of its node type by name.
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

// Optional parameters that have no effect on some functions. Old scripts use them, so they cause no warning.
constexpr std::array<std::string_view, 5> c_withoutEffect = {"needGradient", "needsGradient", "computeGradient",
                                                             "imageLayout", "initOnCPUOnly"};

const NodeParameterInfo* FindParameter(const NodeType& type, std::string_view name)
{
    for (const NodeParameterInfo& parameter : type.parameters)
    {
        if (EqualsIgnoreCase(parameter.name, name))
            return &parameter;
        for (const std::string& alias : parameter.aliases)
            if (EqualsIgnoreCase(alias, name))
                return &parameter;
    }
    return nullptr;
}

// Returns "2" for 2.0 and "1000" for 1e3; returns other texts unchanged.
std::string WholeNumber(const std::string& text)
{
    const std::optional<double> value = ParseDouble(text);
    if (!value || std::trunc(*value) != *value || std::abs(*value) > 1e15)
        return text;
    return std::to_string(static_cast<long long>(*value));
}

// Binds positional arguments by the function's form, and named arguments by the parameters of the node type.
class CallBinder
{
public:
    CallBinder(const NdlFunction& function, const NdlExpression& call, const NdlBinding& binding)
        : m_function(function), m_type(*function.type), m_call(call), m_binding(binding)
    {
    }

    NdlBoundCall Bind()
    {
        std::vector<const NdlExpression*> positional;
        for (const NdlArgument& argument : m_call.arguments)
            if (argument.name.empty())
                positional.push_back(&argument.value);
            else
                BindNamed(argument);
        switch (m_function.form)
        {
        case Form::Dimensions:
            BindDimensions(positional);
            break;
        case Form::Constant:
            BindConstant(positional);
            break;
        case Form::Image:
            BindImage(positional);
            break;
        default:
            BindInputs(positional);
        }
        return std::move(m_bound);
    }

private:
    [[noreturn]] void FailCount(size_t given) const
    {
        FailAt(m_call.where, ErrorKind::Config, m_call.text, " cannot take ", given,
               given == 1 ? " argument" : " arguments", "; expected ",
               NdlSignature(m_function, m_call.text, NamedParameters::LeftOut));
    }

    void BindNamed(const NdlArgument& argument)
    {
        if (EqualsIgnoreCase(argument.name, "tag"))
        {
            m_bound.tags.push_back(&argument);
            return;
        }
        if (m_function.form == Form::Image && EqualsIgnoreCase(argument.name, "imageLayout"))
        {
            m_imageLayout = m_binding.word(argument.value);
            m_imageLayoutWhere = argument.value.where;
            return;
        }
        const NodeParameterInfo* parameter = FindParameter(m_type, argument.name);
        if (!parameter || !TakesByName(m_function, *parameter))
        {
            WarnUnknown(argument);
            return;
        }
        Set(*parameter, argument.value);
    }

    // Warns if the call gives this parameter by name.
    void WarnWithoutEffect(std::string_view name, std::string_view why) const
    {
        for (const NdlArgument& argument : m_call.arguments)
            if (const NodeParameterInfo* const parameter = FindParameter(m_type, argument.name);
                parameter && EqualsIgnoreCase(parameter->name, name))
                m_binding.warn(argument.nameWhere,
                               Concat(argument.name, "=", argument.value.AsWritten(), " has no effect: ", why));
    }

    void WarnUnknown(const NdlArgument& argument) const
    {
        if (std::any_of(c_withoutEffect.begin(), c_withoutEffect.end(),
                        [&](std::string_view name) { return EqualsIgnoreCase(name, argument.name); }))
            return;
        std::vector<std::string> names{"tag"};
        for (const NodeParameterInfo& parameter : NdlNamedParameters(m_function))
            names.push_back(parameter.name);
        m_binding.warn(argument.nameWhere, Concat(m_call.text, " has no parameter '", argument.name, "'; it is ignored",
                                                  DidYouMean(argument.name, names)));
    }

    void Set(const NodeParameterInfo& parameter, const NdlExpression& value)
    {
        std::string text;
        switch (parameter.kind)
        {
        case ParameterKind::Integer:
            text = WholeNumber(m_binding.number(value));
            if (!ParseInteger(text))
                FailAt(value.where, ErrorKind::Config, "parameter '", parameter.name, "' is '", text,
                       "'; expected a whole number");
            break;
        case ParameterKind::Real:
            text = RealNumber(value);
            break;
        case ParameterKind::Boolean:
            text = m_binding.word(value);
            if (!ParseBool(text))
                FailAt(value.where, ErrorKind::Config, "parameter '", parameter.name, "' is '", text,
                       "'; expected true or false (also t, f, 1, 0)");
            break;
        case ParameterKind::Shape:
            text = ShapeText(m_binding.shape(value));
            break;
        default:
            text = value.kind == NdlExpression::Kind::Array ? WordsOf(value) : m_binding.word(value);
        }
        m_bound.parameters.Set(parameter.name, std::move(text));
    }

    // Numbers beyond the range of double become infinity, as in the original CNTK.
    std::string RealNumber(const NdlExpression& value) const
    {
        std::string text = m_binding.number(value);
        if (std::isinf(*ParseDouble(text)) && ToLower(text).find("inf") == std::string::npos)
            m_binding.warn(value.where, Concat("'", text, "' is beyond the range of numbers and counts as infinity"));
        return text;
    }

    static std::string ShapeText(const std::string& shape)
    {
        std::vector<std::string> elements;
        for (const std::string_view element : Split(shape, ':'))
            elements.push_back(WholeNumber(std::string(element)));
        return Join(elements, ":");
    }

    // Returns "true:true:false" for {true, true, false}.
    std::string WordsOf(const NdlExpression& list) const
    {
        std::vector<std::string> words;
        for (const NdlArgument& element : list.arguments)
            words.push_back(m_binding.word(element.value));
        return Join(words, ":");
    }

    std::string Dimension(const NdlExpression& expression) const
    {
        const std::string text = WholeNumber(m_binding.number(expression));
        const std::optional<long long> dimension = ParseInteger(text);
        if (!dimension || *dimension < 0)
            FailAt(expression.where, ErrorKind::Config, "a dimension is ", text,
                   "; expected a whole number, 0 (to be inferred) or more");
        return text;
    }

    // Two numbers are rows and columns; the columns of an input have no effect. Three or more numbers are a tensor
    // shape.
    void BindDimensions(const std::vector<const NdlExpression*>& positional)
    {
        const bool isNamed = m_bound.parameters.Has("rows") || m_bound.parameters.Has("dims");
        if ((positional.empty() && !isNamed) || positional.size() > TensorShape::c_maxRank)
            FailCount(positional.size());
        std::vector<std::string> dims;
        for (const NdlExpression* expression : positional)
            dims.push_back(Dimension(*expression));
        if (!dims.empty() && m_bound.parameters.Has("dims"))
            m_bound.parameters.Set("dims", m_type.name == "LearnableParameter" ? Join(dims, ":") : dims[0]);
        if (dims.size() >= 3)
            m_bound.parameters.Set("dims", Join(dims, ":"));
        else if (!dims.empty())
        {
            m_bound.parameters.Set("rows", dims[0]);
            if (dims.size() == 2)
                m_bound.parameters.Set("cols", dims[1]);
        }
        if (dims.size() == 2 && m_type.name != "LearnableParameter" && dims[1] != "1")
            m_binding.warn(positional[1]->where,
                           Concat("the columns of an input have no effect: each sample of this input has ", dims[0],
                                  " elements; a matrix as a sample is dims={", dims[0], ", ", dims[1], "}"));
        WarnOfUnusedStartValues();
    }

    // Warns about start values that init= does not use.
    void WarnOfUnusedStartValues() const
    {
        const std::string init = ToLower(m_bound.parameters.Text("init", "uniform"));
        if (init == "uniform" || init == "gaussian")
            WarnWithoutEffect("value", Concat("init is ", init, "; expected init=fixedValue"));
        if (init != "fromfile")
            WarnWithoutEffect("initFromFilePath", Concat("init is ", init, "; expected init=fromFile"));
        else if (m_bound.parameters.Text("initFromFilePath").empty())
            m_binding.warn(m_call.where,
                           "init=fromFile without initFromFilePath: the values are 0 until something else "
                           "sets them, such as ReviseParameter of the edit action");
    }

    void BindConstant(const std::vector<const NdlExpression*>& positional)
    {
        if (positional.empty() || positional.size() > 3)
            FailCount(positional.size());
        NodeParameters& parameters = m_bound.parameters;
        parameters.Set("init", "fixedValue");
        parameters.Set("value", RealNumber(*positional[0]));
        parameters.Set("learningRateMultiplier", "0");
        if (positional.size() > 1)
            parameters.Set("rows", Dimension(*positional[1]));
        if (positional.size() > 2)
            parameters.Set("cols", Dimension(*positional[2]));
        for (const char* name : {"rows", "cols"})
            if (!parameters.Has(name))
                parameters.Set(name, "1");
    }

    // The dimensions of the image come last, in the order of the layout: HWC ("legacy") has the channels first in
    // memory.
    void BindImage(const std::vector<const NdlExpression*>& positional)
    {
        const bool isParameter = m_type.name == "LearnableParameter";
        const size_t most = isParameter ? TensorShape::c_maxRank : 4;
        if (positional.size() < 3 || positional.size() > most)
            FailCount(positional.size());
        std::vector<std::string> dims;
        for (const NdlExpression* expression : positional)
            dims.push_back(Dimension(*expression));
        if (!isParameter)
            dims.resize(3); // the number of images has no effect
        if (EqualsIgnoreCase(m_imageLayout, "HWC") || EqualsIgnoreCase(m_imageLayout, "legacy"))
            std::rotate(dims.end() - 3, dims.end() - 1, dims.end());
        else if (!EqualsIgnoreCase(m_imageLayout, "CHW") && !EqualsIgnoreCase(m_imageLayout, "cudnn"))
            FailAt(m_imageLayoutWhere, ErrorKind::Config, "imageLayout is '", m_imageLayout,
                   "'; expected HWC (legacy) or CHW (cudnn)");
        m_bound.parameters.Set("dims", Join(dims, ":"));
    }

    void BindInputs(const std::vector<const NdlExpression*>& positional)
    {
        std::vector<const NodeParameterInfo*> infos;
        size_t required = 0;
        for (const NodeParameterInfo& parameter : m_type.parameters)
            if (parameter.positional)
            {
                infos.push_back(&parameter);
                required += parameter.required && !m_bound.parameters.Has(parameter.name) ? 1 : 0;
            }
        const size_t given = positional.size();
        const Arity arity = m_type.inputs;
        const bool unlimited = arity.max == Arity::c_any;
        if (given < arity.min + required || (!unlimited && given > arity.max + infos.size()))
            FailCount(given);

        size_t inputs = 0;
        if (m_function.form == Form::NodeLast)
            inputs = arity.min;
        else
            inputs = unlimited ? given : std::min(given - required, arity.max);
        const size_t parameters = given - inputs;
        const size_t firstParameter = m_function.form == Form::NodeLast ? 0 : inputs;
        const size_t firstInput = m_function.form == Form::NodeLast ? parameters : 0;
        if (parameters > infos.size())
            FailCount(given);
        // If arguments are fewer than parameters, positional arguments skip the parameters that are given by name.
        if (parameters < infos.size())
            std::stable_partition(infos.begin(), infos.end(),
                                  [&](const NodeParameterInfo* info) { return !m_bound.parameters.Has(info->name); });
        for (size_t i = 0; i < parameters; i++)
            Set(*infos[i], *positional[firstParameter + i]);
        m_bound.inputs.assign(positional.begin() + std::ptrdiff_t(firstInput),
                              positional.begin() + std::ptrdiff_t(firstInput + inputs));
    }

    const NdlFunction& m_function;
    const NodeType& m_type;
    const NdlExpression& m_call;
    const NdlBinding& m_binding;
    std::string m_imageLayout = "HWC";
    SourcePos m_imageLayoutWhere;
    NdlBoundCall m_bound;
};

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

bool IsReservedInNdl(std::string_view name)
{
    const std::vector<std::string_view> reserved = Split(c_reserved, ' ');
    return std::any_of(reserved.begin(), reserved.end(),
                       [&](std::string_view each) { return EqualsIgnoreCase(each, name); });
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

NdlBoundCall BindNdlCall(const NdlFunction& function, const NdlExpression& call, const NdlBinding& binding)
{
    return CallBinder(function, call, binding).Bind();
}

} // namespace cntk
