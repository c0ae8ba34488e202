// Executes statements, expands macros in place, and connects everything at the end.
#include "ActionsLib/Ndl/NdlBuilder.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <optional>
#include <set>

namespace cntk
{

namespace
{

constexpr int c_deepestExpansion = 100;
constexpr int c_deepestReference = 1000;

struct GroupName
{
    std::string_view name;
    std::optional<NodeGroup> group; // none: accepted without effect
};
constexpr GroupName c_arrays[] = {
    {"FeatureNodes", NodeGroup::Feature},       {"LabelNodes", NodeGroup::Label},
    {"CriteriaNodes", NodeGroup::Criterion},    {"CriterionNodes", NodeGroup::Criterion},
    {"EvalNodes", NodeGroup::Evaluation},       {"OutputNodes", NodeGroup::Output},
    {"NodesReqMultiSeqHandling", std::nullopt},
};
constexpr GroupName c_tags[] = {
    {"feature", NodeGroup::Feature},     {"label", NodeGroup::Label},   {"criteria", NodeGroup::Criterion},
    {"criterion", NodeGroup::Criterion}, {"output", NodeGroup::Output}, {"multiseq", std::nullopt},
};

const GroupName* FindArray(std::string_view name)
{
    for (const GroupName& array : c_arrays)
        if (EqualsIgnoreCase(array.name, name))
            return &array;
    return nullptr;
}

// Errors of the network and of nodes get the place in the script.
template <class Body>
auto At(const SourcePos& where, Body&& body)
{
    try
    {
        return body();
    }
    catch (const Error& error)
    {
        if (error.Where())
            throw;
        Error placed(error.Kind() == ErrorKind::Model ? ErrorKind::Config : error.Kind(), error.Message(), where);
        for (const std::string& note : error.Notes())
            placed.AddNote(note);
        throw placed;
    }
}

} // namespace

NdlBuilder::NdlBuilder(ComputationNetwork& network, NdlContext& context, uint64_t randomSeedOffset)
    : m_network(network), m_context(context), m_randomSeedOffset(randomSeedOffset), m_scopes(1)
{
}

NdlBuilder::~NdlBuilder() = default;

void NdlBuilder::DefineMacros(NdlScript script)
{
    m_scripts.push_back(std::move(script));
    for (const NdlStatement& statement : m_scripts.back().statements)
        if (statement.kind == NdlStatement::Kind::Macro)
            DefineMacro(statement);
}

void NdlBuilder::Run(NdlScript script)
{
    m_scripts.push_back(std::move(script));
    for (const NdlStatement& statement : m_scripts.back().statements)
        Execute(m_scopes.front(), statement);
}

void NdlBuilder::Finish()
{
    for (const PendingNode& pending : m_pending)
    {
        std::vector<ComputationNodePtr> inputs;
        for (const PendingInput& input : pending.inputs)
        {
            const bool isKnown = input.value.kind != Value::Kind::None;
            const Value value = isKnown ? input.value : Resolve(*input.scope, input.expression->text);
            ComputationNodePtr node =
                value.kind == Value::Kind::Number ? MakeConstant(*input.scope, value.text) : NodeOf(value);
            if (!node && value.kind == Value::Kind::None)
                FailUnknown(*input.scope, *input.expression, "unknown variable");
            if (!node)
                FailAt(input.expression->where, ErrorKind::Config, "a node expected as input, but '",
                       input.expression->text, "' gives none");
            inputs.push_back(std::move(node));
        }
        if (!inputs.empty())
            m_network.SetInputs(pending.node, std::move(inputs));
    }
    m_pending.clear();
}

// ---- statements ----

void NdlBuilder::Execute(Scope& scope, const NdlStatement& statement)
{
    if (statement.kind == NdlStatement::Kind::Macro)
        return DefineMacro(statement);
    if (statement.kind == NdlStatement::Kind::Section)
        FailAt(statement.where, ErrorKind::Config, "section '", statement.name,
               "' stands inside a network; sections belong to the top of a file, beside 'run' and 'load'");
    if (statement.name.empty())
    {
        scope.lastCall = Call(scope, statement.value, "");
        return;
    }
    if (FindArray(statement.name))
        return AddToGroups(scope, statement);
    if (statement.name.find('.') != std::string::npos)
        FailAt(statement.where, ErrorKind::Config, "the name '", statement.name,
               "' has a dot and cannot be defined; dots refer into macros");
    if (FindNdlFunction(m_network.Registry(), statement.name).form != NdlFunction::Form::None &&
        !EqualsIgnoreCase(statement.name, scope.macroName))
        FailAt(statement.where, ErrorKind::Config, "the name '", statement.name,
               "' is reserved: it is also the name of a function");
    if (const auto found = scope.symbols.find(ToLower(statement.name)); found != scope.symbols.end())
        FailAt(statement.where, ErrorKind::Config, "'", statement.name, "' is already defined at ",
               found->second.where.Location());

    switch (statement.value.kind)
    {
    case NdlExpression::Kind::Number:
    {
        const auto given = scope.overrides.find(ToLower(statement.name));
        const std::string& number = given == scope.overrides.end() ? statement.value.text : given->second;
        return Define(scope, statement, {Value::Kind::Number, number, nullptr, nullptr});
    }
    case NdlExpression::Kind::Text:
        return Define(scope, statement, {Value::Kind::Text, statement.value.text, nullptr, nullptr});
    case NdlExpression::Kind::Name:
        return Define(scope, statement, Alias(scope, statement));
    case NdlExpression::Kind::Call:
        scope.lastCall = Call(scope, statement.value, statement.name);
        return Define(scope, statement, scope.lastCall);
    default:
        FailAt(statement.value.where, ErrorKind::Config, "'", statement.name,
               "' is given a list; only FeatureNodes, LabelNodes, CriteriaNodes, EvalNodes and OutputNodes take one");
    }
}

void NdlBuilder::Define(Scope& scope, const NdlStatement& statement, Value value)
{
    scope.symbols[ToLower(statement.name)] = {std::move(value), nullptr, nullptr, statement.where, false};
}

void NdlBuilder::DefineMacro(const NdlStatement& statement)
{
    if (FindNdlFunction(m_network.Registry(), statement.name).form != NdlFunction::Form::None)
        FailAt(statement.where, ErrorKind::Config, "macro '", statement.name,
               "' has the name of a built-in function, which cannot be redefined");
    const auto [place, isNew] = m_macros.emplace(ToLower(statement.name), &statement);
    if (!isNew)
        FailAt(statement.where, ErrorKind::Config, "macro '", statement.name, "' is already defined at ",
               place->second->where.Location());
    std::set<std::string> names;
    for (const NdlExpression& formal : statement.formals)
        if (!names.insert(ToLower(formal.text)).second)
            FailAt(formal.where, ErrorKind::Config, "macro '", statement.name, "' has two parameters named '",
                   formal.text, "'");
}

void NdlBuilder::AddToGroups(Scope& scope, const NdlStatement& statement)
{
    const GroupName& array = *FindArray(statement.name);
    const auto add = [&](const NdlExpression& element)
    {
        if (element.kind != NdlExpression::Kind::Name)
            FailAt(element.where, ErrorKind::Config, statement.name, " expects names of nodes, found '", element.text,
                   "'");
        const ComputationNodePtr node = NodeOf(Resolve(scope, element.text));
        if (!node)
            FailUnknown(scope, element, Concat(statement.name, " names an unknown node"));
        if (array.group)
            m_network.AddToGroup(*array.group, node);
    };
    if (statement.value.kind != NdlExpression::Kind::Array)
        return add(statement.value);
    for (const NdlArgument& argument : statement.value.arguments)
        add(argument.value);
}

// Another name for a variable. A node that the script made itself is renamed, as in the original; the script may go on
// using both names.
NdlBuilder::Value NdlBuilder::Alias(Scope& scope, const NdlStatement& statement)
{
    const std::string& other = statement.value.text;
    const Value value = Resolve(scope, other);
    if (value.kind == Value::Kind::None)
        FailUnknown(scope, statement.value, "unknown variable");
    const auto symbol = scope.symbols.find(ToLower(other.substr(0, other.find('.'))));
    if (symbol == scope.symbols.end() || symbol->second.isFormal)
        return value;
    const std::string newName = scope.prefix + statement.name;
    if (value.kind == Value::Kind::Node)
        At(statement.where, [&] { m_network.Rename(value.node, newName); });
    else if (value.kind == Value::Kind::Instance)
    {
        const std::string oldPrefix = value.instance->prefix;
        for (const ComputationNodePtr& node : m_network.FindPattern(oldPrefix + "*"))
            At(statement.where, [&] { m_network.Rename(node, newName + "." + node->Name().substr(oldPrefix.size())); });
        value.instance->prefix = newName + ".";
    }
    return value;
}

// ---- calls ----

NdlBuilder::Value NdlBuilder::Call(Scope& scope, const NdlExpression& call, const std::string& localName)
{
    if (const auto macro = m_macros.find(ToLower(call.text)); macro != m_macros.end())
        return ExpandMacro(scope, *macro->second, call, localName);
    const NdlFunction function = FindNdlFunction(m_network.Registry(), call.text);
    if (function.form != NdlFunction::Form::None)
        return MakeNode(scope, function, call, localName);
    std::vector<std::string> names = NdlFunctionNames(m_network.Registry());
    for (const auto& [key, macro] : m_macros)
        names.push_back(macro->name);
    FailAt(call.where, ErrorKind::Config, "unknown function or macro '", call.text, "'", DidYouMean(call.text, names));
}

NdlBuilder::Value NdlBuilder::ExpandMacro(Scope& scope, const NdlStatement& macro, const NdlExpression& call,
                                          const std::string& localName)
{
    if (++m_depth > c_deepestExpansion)
        FailAt(call.where, ErrorKind::Config, "macro '", macro.name, "' calls itself, or macros are nested more than ",
               c_deepestExpansion, " deep");
    Scope& inner = m_scopes.emplace_back();
    inner.macroName = macro.name;

    std::vector<const NdlArgument*> tags;
    size_t given = 0;
    for (const NdlArgument& argument : call.arguments)
    {
        if (EqualsIgnoreCase(argument.name, "tag"))
            tags.push_back(&argument);
        else if (!argument.name.empty())
            inner.overrides[ToLower(argument.name)] = NumberOf(scope, argument.value);
        else if (given++ < macro.formals.size())
        {
            const NdlExpression& formal = macro.formals[given - 1];
            Symbol symbol{{}, nullptr, nullptr, formal.where, true};
            if (argument.value.kind == NdlExpression::Kind::Number)
                symbol.value = {Value::Kind::Number, argument.value.text, nullptr, nullptr};
            else if (argument.value.kind == NdlExpression::Kind::Text)
                symbol.value = {Value::Kind::Text, argument.value.text, nullptr, nullptr};
            else if (argument.value.kind == NdlExpression::Kind::Call)
                symbol.value = Call(scope, argument.value, "");
            else
            {
                symbol.actual = &argument.value;
                symbol.actualScope = &scope;
            }
            inner.symbols[ToLower(formal.text)] = std::move(symbol);
        }
    }
    if (given != macro.formals.size())
    {
        std::vector<std::string> formals;
        for (const NdlExpression& formal : macro.formals)
            formals.push_back(formal.text);
        FailAt(call.where, ErrorKind::Config, "macro ", macro.name, " cannot take ", given,
               given == 1 ? " argument" : " arguments", "; expected ", macro.name, "(", Join(formals, ", "), ")");
    }
    inner.prefix = NodeName(scope, localName) + ".";

    WithNote(
        [&]
        {
            for (const NdlStatement& statement : macro.body->statements)
                Execute(inner, statement);
        },
        [&] { return Concat("in macro '", macro.name, "', called at ", call.where.Location()); });
    for (const auto& [name, value] : inner.overrides)
        if (const auto symbol = inner.symbols.find(name);
            symbol == inner.symbols.end() || symbol->second.value.kind != Value::Kind::Number)
            FailAt(call.where, ErrorKind::Config, "macro '", macro.name, "' has no number named '", name,
                   "' to be given by name");
    const Value value{Value::Kind::Instance, "", nullptr, &inner};
    for (const NdlArgument* tag : tags)
        ApplyTag(scope, NodeOf(value), *tag);
    m_depth--;
    return value;
}

NdlBuilder::Value NdlBuilder::MakeNode(Scope& scope, const NdlFunction& function, const NdlExpression& call,
                                       const std::string& localName)
{
    const NdlBinding binding{[&](const NdlExpression& expression) { return NumberOf(scope, expression); },
                             [&](const NdlExpression& expression) { return WordOf(scope, expression); },
                             [&](const SourcePos& where, const std::string& text)
                             { m_context.warnings.push_back(Concat(where.Location(), ": ", text)); }};
    NdlBoundCall bound = BindNdlCall(function, call, binding);

    PendingNode pending;
    for (const NdlExpression* input : bound.inputs)
        pending.inputs.push_back(InputOf(scope, *input));
    if (function.type->name == "LearnableParameter")
        ChooseSeed(bound.parameters);
    const std::string name = NodeName(scope, localName);
    pending.node =
        At(call.where, [&] { return m_network.AddUnconnected(function.type->name, name, bound.parameters); });
    m_pending.push_back(pending);
    for (const NdlArgument* tag : bound.tags)
        ApplyTag(scope, pending.node, *tag);
    return {Value::Kind::Node, "", pending.node, nullptr};
}

// randomSeed= on a parameter does not use up the counter.
void NdlBuilder::ChooseSeed(NodeParameters& parameters)
{
    if (!parameters.Has("init"))
        parameters.Set("init", "uniform");
    const std::string init = parameters.Text("init");
    if (!EqualsIgnoreCase(init, "uniform") && !EqualsIgnoreCase(init, "gaussian"))
        return;
    const long long forced = parameters.Integer("randomSeed", -1);
    const uint64_t seed = forced >= 0 ? uint64_t(forced) : m_context.nextRandomSeed++;
    parameters.Set("randomSeed", std::to_string(seed + m_randomSeedOffset));
}

NdlBuilder::PendingInput NdlBuilder::InputOf(Scope& scope, const NdlExpression& expression)
{
    switch (expression.kind)
    {
    case NdlExpression::Kind::Call:
        return {Call(scope, expression, ""), &expression, &scope};
    case NdlExpression::Kind::Number:
        return {{Value::Kind::Node, "", MakeConstant(scope, expression.text), nullptr}, &expression, &scope};
    case NdlExpression::Kind::Name:
        break;
    default:
        FailAt(expression.where, ErrorKind::Config, "a node expected as input, found '", expression.text, "'");
    }
    const Value value = Resolve(scope, expression.text);
    if (value.kind == Value::Kind::Number)
        return {{Value::Kind::Node, "", MakeConstant(scope, value.text), nullptr}, &expression, &scope};
    if (value.kind == Value::Kind::Text)
        FailAt(expression.where, ErrorKind::Config, "a node expected as input, but '", expression.text,
               "' is the text '", value.text, "'");
    if (value.kind == Value::Kind::Node)
        return {value, &expression, &scope};
    return {{}, &expression, &scope}; // defined later, or a macro that is still being expanded
}

// A number where a node is expected: the book calls Scale's first argument a scalar.
ComputationNodePtr NdlBuilder::MakeConstant(Scope& scope, const std::string& number)
{
    NodeParameters parameters;
    parameters.Set("rows", "1");
    parameters.Set("cols", "1");
    parameters.Set("init", "fixedValue");
    parameters.Set("value", number);
    parameters.Set("learningRateMultiplier", "0");
    return m_network.AddUnconnected("LearnableParameter", NodeName(scope, ""), parameters);
}

void NdlBuilder::ApplyTag(Scope& scope, const ComputationNodePtr& node, const NdlArgument& tag)
{
    if (!node)
        FailAt(tag.nameWhere, ErrorKind::Config, "a tag is given to a macro that gives no node");
    const std::string word = WordOf(scope, tag.value);
    if (ToLower(word).starts_with("eval"))
        return m_network.AddToGroup(NodeGroup::Evaluation, node);
    for (const GroupName& known : c_tags)
        if (EqualsIgnoreCase(known.name, word))
        {
            if (known.group)
                m_network.AddToGroup(*known.group, node);
            return;
        }
    FailAt(tag.value.where, ErrorKind::Config, "unknown tag '", word,
           "'; expected feature, label, criterion (criteria), eval or output",
           DidYouMean(word, {"feature", "label", "criterion", "criteria", "eval", "output"}));
}

// ---- names ----

std::string NdlBuilder::NodeName(Scope& scope, const std::string& localName)
{
    if (!localName.empty())
        return scope.prefix + localName;
    for (;;)
    {
        std::string name = Concat(scope.prefix, "unnamed", m_context.nextUnnamed++);
        if (!m_network.Find(name))
            return name;
    }
}

NdlBuilder::Value NdlBuilder::Resolve(const Scope& scope, const std::string& name, int depth) const
{
    if (depth > c_deepestReference) // a parameter that stands for itself: L = M(L.x)
        return {};
    const Scope* inside = &scope;
    Value value;
    bool isFound = false;
    const std::vector<std::string_view> parts = Split(name, '.');
    for (size_t i = 0; i < parts.size(); i++)
    {
        const auto symbol = inside->symbols.find(ToLower(parts[i]));
        if (symbol == inside->symbols.end())
            break;
        value = ValueOf(symbol->second, depth + 1);
        isFound = i + 1 == parts.size();
        if (value.kind != Value::Kind::Instance)
            break;
        inside = value.instance;
    }
    if (isFound)
        return value;
    if (ComputationNodePtr node = m_network.Find(name))
        return {Value::Kind::Node, "", std::move(node), nullptr};
    return {};
}

NdlBuilder::Value NdlBuilder::ValueOf(const Symbol& symbol, int depth) const
{
    return symbol.actual ? Resolve(*symbol.actualScope, symbol.actual->text, depth) : symbol.value;
}

// A macro's value is the local that has the macro's name, else its last call.
ComputationNodePtr NdlBuilder::NodeOf(const Value& value) const
{
    Value current = value;
    for (int depth = 0; current.kind == Value::Kind::Instance && depth < c_deepestReference; depth++)
    {
        const Scope& instance = *current.instance;
        const auto result = instance.symbols.find(ToLower(instance.macroName));
        Value next = result != instance.symbols.end() ? ValueOf(result->second, 0) : instance.lastCall;
        current = std::move(next);
    }
    return current.kind == Value::Kind::Node ? current.node : nullptr;
}

std::string NdlBuilder::NumberOf(const Scope& scope, const NdlExpression& expression) const
{
    if (expression.kind == NdlExpression::Kind::Number)
        return expression.text;
    if (expression.kind == NdlExpression::Kind::Text && ParseDouble(expression.text))
        return expression.text;
    if (expression.kind == NdlExpression::Kind::Name)
    {
        const Value value = Resolve(scope, expression.text);
        if (value.kind == Value::Kind::Number || (value.kind == Value::Kind::Text && ParseDouble(value.text)))
            return value.text;
        if (value.kind == Value::Kind::None)
            FailUnknown(scope, expression, "a number expected, found the unknown name");
        FailAt(expression.where, ErrorKind::Config, "a number expected, but '", expression.text, "' is a ",
               value.kind == Value::Kind::Text ? "text" : "node");
    }
    FailAt(expression.where, ErrorKind::Config, "a number expected, found ",
           expression.kind == NdlExpression::Kind::Call    ? "a call of '" + expression.text + "'"
           : expression.kind == NdlExpression::Kind::Array ? "a list"
                                                           : "'" + expression.text + "'");
}

std::string NdlBuilder::WordOf(const Scope& scope, const NdlExpression& expression) const
{
    switch (expression.kind)
    {
    case NdlExpression::Kind::Number:
    case NdlExpression::Kind::Text:
        return expression.text;
    case NdlExpression::Kind::Name:
        break;
    default:
        FailAt(expression.where, ErrorKind::Config, "a word, a number or a quoted text expected, found ",
               expression.kind == NdlExpression::Kind::Call ? "a call" : "a list");
    }
    const auto symbol = scope.symbols.find(ToLower(expression.text));
    if (symbol == scope.symbols.end())
        return expression.text;
    if (symbol->second.actual) // a macro's parameter
        return WordOf(*symbol->second.actualScope, *symbol->second.actual);
    const Value& value = symbol->second.value;
    return value.kind == Value::Kind::Number || value.kind == Value::Kind::Text ? value.text : expression.text;
}

void NdlBuilder::FailUnknown(const Scope& scope, const NdlExpression& name, std::string_view what) const
{
    const Scope& script = m_scopes.front();
    if (&scope != &script && script.symbols.contains(ToLower(name.text)))
        FailAt(name.where, ErrorKind::Config, what, " '", name.text, "'; macro '", scope.macroName,
               "' sees its own names only: make '", name.text, "' one of its parameters");
    std::vector<std::string> names = m_network.NearestNames(name.text);
    for (const auto& [key, symbol] : scope.symbols)
        names.emplace_back(symbol.where ? symbol.where.text->Text().substr(symbol.where.offset, symbol.where.length)
                                        : std::string_view(key));
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    names.erase(std::unique(names.begin(), names.end(), EqualsIgnoreCase), names.end());
    FailAt(name.where, ErrorKind::Config, what, " '", name.text, "'", DidYouMean(name.text, names));
}

} // namespace cntk
