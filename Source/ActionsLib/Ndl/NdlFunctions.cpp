// Arguments of a call -> inputs and parameters of a node type.
#include "ActionsLib/Ndl/NdlFunctions.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace cntk
{

namespace
{

using Form = NdlFunction::Form;

struct SpecialForm
{
    std::string_view name;
    std::string_view type; // of the registry; a form whose type does not exist is unknown
    Form form;
    std::string_view signature;
};

constexpr std::string_view c_inputSignature = "rows, [cols] (without effect), or dim1, dim2, dim3, ...; {tag}";
constexpr std::string_view c_parameterSignature =
    "rows, [cols=1], or dim1, dim2, dim3, ...; {init=uniform|gaussian|fixedValue|fromFile, value, initValueScale, "
    "initFromFilePath, needGradient, randomSeed, learningRateMultiplier}";
constexpr std::string_view c_imageSignature = "width, height, channels, [numImages]; {imageLayout=HWC|CHW, tag}";

constexpr std::array<SpecialForm, 21> c_specialForms = {{
    {"InputValue", "InputValue", Form::Dimensions, c_inputSignature},
    {"Input", "InputValue", Form::Dimensions, c_inputSignature},
    {"SparseInputValue", "SparseInputValue", Form::Dimensions, c_inputSignature},
    {"SparseInput", "SparseInputValue", Form::Dimensions, c_inputSignature},
    {"LearnableParameter", "LearnableParameter", Form::Dimensions, c_parameterSignature},
    {"Parameter", "LearnableParameter", Form::Dimensions, c_parameterSignature},
    {"SparseLearnableParameter", "LearnableParameter", Form::Dimensions, c_parameterSignature},
    {"SparseParameter", "LearnableParameter", Form::Dimensions, c_parameterSignature},
    {"Constant", "LearnableParameter", Form::Constant, "value, [rows=1, cols=1]"},
    {"Const", "LearnableParameter", Form::Constant, "value, [rows=1, cols=1]"},
    {"ImageInput", "InputValue", Form::Image, c_imageSignature},
    {"Image", "InputValue", Form::Image, c_imageSignature},
    {"SparseImageInput", "SparseInputValue", Form::Image, c_imageSignature},
    {"SparseImage", "SparseInputValue", Form::Image, c_imageSignature},
    {"ImageParameter", "LearnableParameter", Form::Image, c_imageSignature},
    {"PastValue", "PastValue", Form::NodeLast, ""},
    {"Delay", "PastValue", Form::NodeLast, ""},
    {"FutureValue", "FutureValue", Form::NodeLast, ""},
    {"RowSlice", "RowSlice", Form::NodeLast, ""},
    {"Slice", "Slice", Form::Inputs, ""},
    {"Reshape", "LegacyReshape", Form::Inputs, ""},
}};

// What the special forms are that are no names of a node type.
struct FormDoc
{
    std::string_view name;
    std::vector<std::string_view> aliases;
    std::string_view doc;
    std::string_view bookSection;
};
const FormDoc c_formDocs[] = {
    {"Constant", {"Const"}, "A rows x cols matrix that holds the value in each element and is not trained.", "4.1.4.4"},
    {"ImageInput",
     {"Image"},
     "An input of images: width*height*channels values a sample, as a tensor of [channels x width x height] with "
     "imageLayout=HWC, of [width x height x channels] with CHW. numImages has no effect.",
     "4.1.4.2"},
    {"SparseImageInput", {"SparseImage"}, "An ImageInput whose values the reader delivers in sparse form.", ""},
    {"ImageParameter", {}, "A parameter with the dimensions of an image, in the order of ImageInput.", ""},
};

// Optional parameters that old scripts give to functions on which they have no effect.
constexpr std::array<std::string_view, 5> c_withoutEffect = {"needGradient", "needsGradient", "computeGradient",
                                                             "imageLayout", "initOnCPUOnly"};

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
                                    [&](const SpecialForm& form) { return EqualsIgnoreCase(form.name, name); });
    return found == c_specialForms.end() ? nullptr : &*found;
}

// "Times(A, B)", as help and errors show a function.
std::string Signature(const NdlFunction& function, std::string_view name, bool withNamed = false)
{
    if (const SpecialForm* special = FindSpecialForm(name); special && !special->signature.empty())
        return Concat(name, "(", special->signature, ")");
    const NodeType& type = *function.type;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < type.inputs.min || (i < type.inputNames.size() && i < type.inputs.max); i++)
    {
        const std::string input = i < type.inputNames.size() ? type.inputNames[i] : Concat("input", i + 1);
        inputs.push_back(i < type.inputs.min ? input : Concat("[", input, "]"));
    }
    if (type.inputs.max == Arity::c_any)
        inputs.push_back("...");
    std::vector<std::string> positional, named;
    for (const NodeParameterInfo& parameter : type.parameters)
        if (parameter.positional)
            positional.push_back(parameter.required ? parameter.name : Concat("[", parameter.name, "]"));
        else
            named.push_back(parameter.required ? parameter.name : Concat(parameter.name, "=", parameter.defaultText));
    std::vector<std::string>& first = function.form == Form::NodeLast ? positional : inputs;
    const std::vector<std::string>& second = function.form == Form::NodeLast ? inputs : positional;
    first.insert(first.end(), second.begin(), second.end());
    if (withNamed && !named.empty())
        first.push_back(Concat("{", Join(named, ", "), "}"));
    return Concat(name, "(", Join(first, ", "), ")");
}

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

// 2.0 and 1e3 are whole numbers too.
std::string WholeNumber(const std::string& text)
{
    const std::optional<double> value = ParseDouble(text);
    if (!value || std::trunc(*value) != *value || std::abs(*value) > 1e15)
        return text;
    return std::to_string(static_cast<long long>(*value));
}

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
               given == 1 ? " argument" : " arguments", "; expected ", Signature(m_function, m_call.text));
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
            m_imageLayout = &argument.value;
            return;
        }
        const NodeParameterInfo* parameter = FindParameter(m_type, argument.name);
        if (!parameter)
        {
            WarnUnknown(argument);
            return;
        }
        Set(*parameter, argument.value);
    }

    void WarnUnknown(const NdlArgument& argument) const
    {
        if (std::any_of(c_withoutEffect.begin(), c_withoutEffect.end(),
                        [&](std::string_view name) { return EqualsIgnoreCase(name, argument.name); }))
            return;
        std::vector<std::string> names{"tag"};
        for (const NodeParameterInfo& parameter : m_type.parameters)
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
            break;
        case ParameterKind::Real:
            text = m_binding.number(value);
            break;
        case ParameterKind::Shape:
            text = ShapeText(m_binding.shape(value));
            break;
        default:
            text = value.kind == NdlExpression::Kind::Array ? WordsOf(value) : m_binding.word(value);
        }
        m_bound.parameters.Set(parameter.name, std::move(text));
    }

    static std::string ShapeText(const std::string& shape)
    {
        std::vector<std::string> elements;
        for (const std::string_view element : Split(shape, ':'))
            elements.push_back(WholeNumber(std::string(element)));
        return Join(elements, ":");
    }

    // {true, true, false}
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

    // Two numbers of an input are the book's rows and initial columns (without effect); three and more are a tensor.
    void BindDimensions(const std::vector<const NdlExpression*>& positional)
    {
        const bool isNamed = m_bound.parameters.Has("rows") || m_bound.parameters.Has("dims");
        if ((positional.empty() && !isNamed) || positional.size() > TensorShape::c_maxRank)
            FailCount(positional.size());
        std::vector<std::string> dims;
        for (const NdlExpression* expression : positional)
            dims.push_back(Dimension(*expression));
        if (dims.size() >= 3)
            m_bound.parameters.Set("dims", Join(dims, ":"));
        else if (!dims.empty())
        {
            m_bound.parameters.Set("rows", dims[0]);
            if (dims.size() == 2)
                m_bound.parameters.Set("cols", dims[1]);
        }
    }

    void BindConstant(const std::vector<const NdlExpression*>& positional)
    {
        if (positional.empty() || positional.size() > 3)
            FailCount(positional.size());
        NodeParameters& parameters = m_bound.parameters;
        parameters.Set("init", "fixedValue");
        parameters.Set("value", m_binding.number(*positional[0]));
        parameters.Set("learningRateMultiplier", "0");
        if (positional.size() > 1)
            parameters.Set("rows", Dimension(*positional[1]));
        if (positional.size() > 2)
            parameters.Set("cols", Dimension(*positional[2]));
        for (const char* name : {"rows", "cols"})
            if (!parameters.Has(name))
                parameters.Set(name, "1");
    }

    // HWC (the original's "legacy" layout) has the channels first in memory.
    void BindImage(const std::vector<const NdlExpression*>& positional)
    {
        if (positional.size() < 3 || positional.size() > 4)
            FailCount(positional.size());
        const std::string width = Dimension(*positional[0]);
        const std::string height = Dimension(*positional[1]);
        const std::string channels = Dimension(*positional[2]);
        const std::string layout = m_imageLayout ? m_binding.word(*m_imageLayout) : "HWC";
        if (EqualsIgnoreCase(layout, "HWC") || EqualsIgnoreCase(layout, "legacy"))
            m_bound.parameters.Set("dims", Join({channels, width, height}, ":"));
        else if (EqualsIgnoreCase(layout, "CHW") || EqualsIgnoreCase(layout, "cudnn"))
            m_bound.parameters.Set("dims", Join({width, height, channels}, ":"));
        else
            FailAt(m_imageLayout->where, ErrorKind::Config, "imageLayout is '", layout,
                   "'; expected HWC (legacy) or CHW (cudnn)");
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
        for (size_t i = 0; i < parameters; i++)
            Set(*infos[i], *positional[firstParameter + i]);
        m_bound.inputs.assign(positional.begin() + std::ptrdiff_t(firstInput),
                              positional.begin() + std::ptrdiff_t(firstInput + inputs));
    }

    const NdlFunction& m_function;
    const NodeType& m_type;
    const NdlExpression& m_call;
    const NdlBinding& m_binding;
    const NdlExpression* m_imageLayout = nullptr;
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
        if (registry.Find(special.type) && std::find(names.begin(), names.end(), special.name) == names.end())
            names.emplace_back(special.name);
    return names;
}

std::string NdlSignature(const NodeRegistry& registry, std::string_view name, bool withNamed)
{
    const NdlFunction function = FindNdlFunction(registry, name);
    return function.type ? Signature(function, name, withNamed) : std::string(name);
}

std::vector<NdlFormRecord> NdlForms(const NodeRegistry& registry)
{
    std::vector<NdlFormRecord> records;
    for (const FormDoc& form : c_formDocs)
    {
        const SpecialForm* special = FindSpecialForm(form.name);
        if (special && registry.Find(special->type))
            records.push_back({std::string(form.name),
                               {form.aliases.begin(), form.aliases.end()},
                               std::string(special->type),
                               std::string(form.doc),
                               std::string(form.bookSection)});
    }
    return records;
}

NdlBoundCall BindNdlCall(const NdlFunction& function, const NdlExpression& call, const NdlBinding& binding)
{
    return CallBinder(function, call, binding).Bind();
}

} // namespace cntk
