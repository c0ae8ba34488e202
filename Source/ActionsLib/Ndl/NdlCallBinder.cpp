// What is given without a name goes by the function's form; what has a name, by the type's record.
#include "ActionsLib/Ndl/NdlCallBinder.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace cntk
{

namespace
{

using Form = NdlFunction::Form;

// Optional parameters that old scripts give to functions on which they have no effect.
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
            NoteImageLayout(positional.size());
        }
        return std::move(m_bound);
    }

private:
    [[noreturn]] void FailCount(size_t given) const
    {
        std::string hint;
        for (const NdlArgument& argument : m_call.arguments)
            if (argument.name.empty() && IsNameOfParameter(argument.value))
                hint = Concat("; '", argument.value.text, "' is given with its value, ", argument.value.text, "=...");
        FailAt(m_call.where, ErrorKind::Config, m_call.text, " cannot take ", given,
               given == 1 ? " argument" : " arguments", "; expected ",
               NdlSignature(m_function, m_call.text, NamedParameters::LeftOut), hint);
    }

    bool IsNameOfParameter(const NdlExpression& value) const
    {
        if (value.kind != NdlExpression::Kind::Name)
            return false;
        const NodeParameterInfo* const parameter = FindParameter(m_type, value.text);
        return EqualsIgnoreCase(value.text, "tag") || (parameter && TakesByName(m_function, *parameter));
    }

    // "init" for "init=uniform" is taken for a number.
    std::string Number(const NdlExpression& value) const
    {
        try
        {
            return m_binding.number(value);
        }
        catch (const Error& error)
        {
            if (!IsNameOfParameter(value))
                throw;
            throw Error(error.Kind(), Concat("'", value.text, "' is given with its value, ", value.text, "=..."),
                        value.where);
        }
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
            m_bound.imageLayout = {m_binding.word(argument.value), false};
            m_bound.places["imagelayout"] = argument.value.where;
            return;
        }
        const NodeParameterInfo* parameter = FindParameter(m_type, argument.name);
        if (!parameter || !TakesByName(m_function, *parameter))
        {
            WarnUnknown(argument);
            return;
        }
        if (const NdlArgument* const before = NamedOf(*parameter))
            m_binding.warn(argument.nameWhere,
                           Concat(m_call.text, " is given ", before->name, "=", before->value.AsWritten(), " and ",
                                  argument.name, "=", argument.value.AsWritten(), "; the last counts"));
        m_named.emplace_back(parameter, &argument);
        Set(*parameter, argument.value);
    }

    const NdlArgument* NamedOf(const NodeParameterInfo& parameter) const
    {
        const auto found = std::find_if(m_named.rbegin(), m_named.rend(),
                                        [&](const auto& named) { return named.first == &parameter; });
        return found == m_named.rend() ? nullptr : found->second;
    }

    // What the arguments without a name say counts.
    void WarnOfNamed(std::string_view name, std::string_view why) const
    {
        const NodeParameterInfo* const parameter = FindParameter(m_type, name);
        const NdlArgument* const named = parameter ? NamedOf(*parameter) : nullptr;
        if (named)
            m_binding.warn(named->nameWhere,
                           Concat(named->name, "=", named->value.AsWritten(), " has no effect: ", why));
    }
    static constexpr std::string_view c_byPosition = "the arguments without a name say it, too";

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
            text = WholeNumber(Number(value));
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
        m_bound.places[ToLower(parameter.name)] = value.where;
    }

    // Beyond the range of numbers, as the original reads it; whoever means infinity writes 1#INF.
    std::string RealNumber(const NdlExpression& value) const
    {
        std::string text = Number(value);
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
        const std::string text = WholeNumber(Number(expression));
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
        if (!dims.empty())
        {
            WarnOfNamed("rows", c_byPosition);
            WarnOfNamed("dims", c_byPosition);
            if (m_bound.parameters.Has("dims"))
                m_bound.parameters.Set("dims", m_type.name == "LearnableParameter" ? Join(dims, ":") : dims[0]);
        }
        if (dims.size() > 1)
            WarnOfNamed("cols", c_byPosition);
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

    // A value that is given and not taken is a start value that training does not have.
    void WarnOfUnusedStartValues() const
    {
        const std::string init = ToLower(m_bound.parameters.Text("init", "uniform"));
        if (init == "uniform" || init == "gaussian")
            WarnOfNamed("value", Concat("init is ", init, "; expected init=fixedValue"));
        if (init != "fromfile")
            WarnOfNamed("initFromFilePath", Concat("init is ", init, "; expected init=fromFile"));
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
        m_bound.places["value"] = positional[0]->where;
        parameters.Set("learningRateMultiplier", "0");
        if (positional.size() > 1)
        {
            WarnOfNamed("rows", c_byPosition);
            parameters.Set("rows", Dimension(*positional[1]));
        }
        if (positional.size() > 2)
        {
            WarnOfNamed("cols", c_byPosition);
            parameters.Set("cols", Dimension(*positional[2]));
        }
        for (const char* name : {"rows", "cols"})
            if (!parameters.Has(name))
                parameters.Set(name, "1");
    }

    // The image's dimensions come last, in the order of the layout: HWC ("legacy") has the channels first in memory.
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
        NdlImageLayout& layout = m_bound.imageLayout;
        if (layout.word.empty())
            layout = {"HWC", true};
        if (EqualsIgnoreCase(layout.word, "HWC") || EqualsIgnoreCase(layout.word, "legacy"))
            std::rotate(dims.end() - 3, dims.end() - 1, dims.end());
        else if (!EqualsIgnoreCase(layout.word, "CHW") && !EqualsIgnoreCase(layout.word, "cudnn"))
            FailAt(m_bound.places["imagelayout"], ErrorKind::Config, "imageLayout is '", layout.word,
                   "'; expected HWC (legacy) or CHW (cudnn)");
        m_bound.parameters.Set("dims", Join(dims, ":"));
    }

    // The layout in which the node reads images. Convolution has two forms, of which the one with three arguments takes
    // CHW only; BatchNormalization reads images with spatial=true only.
    void NoteImageLayout(size_t arguments)
    {
        const NodeParameterInfo* const parameter = FindParameter(m_type, "imageLayout");
        const NodeParameters& given = m_bound.parameters;
        if (!parameter || (FindParameter(m_type, "spatial") && !given.Boolean("spatial", false)))
            return;
        const std::string_view byForm = arguments == 3 ? "CHW" : "HWC";
        m_bound.imageLayout = {
            given.Text("imageLayout", parameter->defaultText.empty() ? byForm : parameter->defaultText),
            !given.Has("imageLayout")};
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
        // What is given by name leaves its place to the others, unless there are as many arguments as places.
        if (parameters < infos.size())
            std::stable_partition(infos.begin(), infos.end(),
                                  [&](const NodeParameterInfo* info) { return NamedOf(*info) == nullptr; });
        for (size_t i = 0; i < parameters; i++)
        {
            WarnOfNamed(infos[i]->name, c_byPosition);
            Set(*infos[i], *positional[firstParameter + i]);
        }
        m_bound.inputs.assign(positional.begin() + std::ptrdiff_t(firstInput),
                              positional.begin() + std::ptrdiff_t(firstInput + inputs));
    }

    const NdlFunction& m_function;
    const NodeType& m_type;
    const NdlExpression& m_call;
    const NdlBinding& m_binding;
    std::vector<std::pair<const NodeParameterInfo*, const NdlArgument*>> m_named;
    NdlBoundCall m_bound;
};

} // namespace

NdlBoundCall BindNdlCall(const NdlFunction& function, const NdlExpression& call, const NdlBinding& binding)
{
    return CallBinder(function, call, binding).Bind();
}

} // namespace cntk
