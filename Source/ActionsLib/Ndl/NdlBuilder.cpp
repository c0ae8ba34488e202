// Makes the nodes that calls ask for, expands macros in place, and connects everything at the end. Statements:
// NdlStatements.cpp; names: NdlNames.cpp; errors of the finished network: NdlExplain.cpp.
#include "ActionsLib/Ndl/NdlBuilder.h"

#include "ActionsLib/Ndl/NdlCallBinder.h"
#include "ActionsLib/Ndl/NdlPlacing.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <optional>

namespace cntk
{

namespace
{

constexpr size_t c_deepestExpansion = 100;

struct TagName
{
    std::string_view name;
    std::optional<NodeGroup> group; // none: accepted without effect
};
constexpr TagName c_tags[] = {
    {"feature", NodeGroup::Feature},     {"label", NodeGroup::Label},   {"criteria", NodeGroup::Criterion},
    {"criterion", NodeGroup::Criterion}, {"output", NodeGroup::Output}, {"multiseq", std::nullopt},
};

// "parameter 'stepW' is 0; ..." is told where that value stands.
SourcePos PlaceOfParameter(const NdlBoundCall& bound, std::string_view message, const SourcePos& callWhere)
{
    constexpr std::string_view begin = "parameter '", file = "initFromFilePath";
    if (bound.parameters.Has(file) &&
        message.find(Concat("'", bound.parameters.Text(file), "'")) != std::string_view::npos)
        return bound.places.at(ToLower(file));
    if (!message.starts_with(begin))
        return callWhere;
    message.remove_prefix(begin.size());
    const auto place = bound.places.find(ToLower(message.substr(0, message.find('\''))));
    return place == bound.places.end() ? callWhere : place->second;
}

} // namespace

NdlBuilder::NdlBuilder(ComputationNetwork& network, NdlContext& context, uint64_t randomSeedOffset)
    : m_network(network), m_context(context), m_randomSeedOffset(randomSeedOffset), m_scopes(1)
{
}

NdlBuilder::~NdlBuilder() = default;

void NdlBuilder::DefineMacros(NdlScript script)
{
    std::vector<NdlStatement> macros;
    for (NdlStatement& statement : script.statements)
        (statement.kind == NdlStatement::Kind::Macro ? macros : m_unread).push_back(std::move(statement));
    AddScript({std::move(macros)});
}

void NdlBuilder::NoteSections(const std::vector<NdlStatement>& sections)
{
    m_sections.insert(m_sections.end(), sections.begin(), sections.end());
}

void NdlBuilder::AddScript(NdlScript script)
{
    m_scripts.push_back(std::move(script));
    for (const NdlStatement& statement : m_scripts.back().statements)
        if (statement.kind == NdlStatement::Kind::Macro)
            DefineMacro(statement);
}

// Macros first: a script may call them before it defines them.
void NdlBuilder::Run(NdlScript script)
{
    AddScript(std::move(script));
    for (const NdlStatement& statement : m_scripts.back().statements)
        if (statement.kind != NdlStatement::Kind::Macro)
            Execute(m_scopes.front(), statement);
}

void NdlBuilder::Finish()
{
    for (const PendingNode& pending : m_pending)
    {
        const Origin& origin = m_origins.at(pending.node.get());
        try
        {
            std::vector<ComputationNodePtr> inputs = ResolveInputs(pending);
            if (!inputs.empty())
                At(origin.expression->where, [&] { m_network.SetInputs(pending.node, std::move(inputs)); });
        }
        catch (Error& error)
        {
            AddCallers(error, *origin.scope);
            throw;
        }
    }
    m_pending.clear();
    for (const auto& [group, node] : m_listed)
        m_network.AddToGroup(group, node);
    m_listed.clear();
}

std::vector<ComputationNodePtr> NdlBuilder::ResolveInputs(const PendingNode& pending)
{
    std::vector<ComputationNodePtr> inputs;
    for (const PendingInput& input : pending.inputs)
    {
        const bool isKnown = input.value.kind != Value::Kind::None;
        const Value value = isKnown ? input.value : Resolve(*input.scope, input.expression->text);
        ComputationNodePtr node = value.kind == Value::Kind::Number
                                      ? MakeConstant(*input.scope, value.text, *input.expression)
                                      : NodeOf(value);
        if (!node && value.kind == Value::Kind::None)
            FailUnknown(*input.scope, *input.expression, "unknown variable");
        if (!node)
            FailAt(input.expression->where, ErrorKind::Config, "a node expected as input, but ",
                   value.kind == Value::Kind::Instance
                       ? Concat("macro '", value.instance->macroName, "' makes none: its body has no call")
                       : Concat("'", input.expression->text, "' gives none"));
        inputs.push_back(std::move(node));
    }
    return inputs;
}

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
    std::string hint = HintForCall(scope, call.text);
    if (hint.empty())
        hint = DidYouMean(call.text, names);
    FailAt(call.where, ErrorKind::Config, "unknown function or macro '", call.text, "'", hint);
}

NdlBuilder::Value NdlBuilder::ExpandMacro(Scope& scope, const NdlStatement& macro, const NdlExpression& call,
                                          const std::string& localName)
{
    if (const auto first = std::find(m_expanding.begin(), m_expanding.end(), &macro); first != m_expanding.end())
    {
        std::string circle;
        for (auto each = first; each != m_expanding.end(); ++each)
            circle += (*each)->name + " -> ";
        FailAt(call.where, ErrorKind::Config, "macro '", macro.name, "' calls itself: ", circle, macro.name,
               "; recursion is not possible");
    }
    if (m_expanding.size() >= c_deepestExpansion)
        FailAt(call.where, ErrorKind::Config, "macros are nested more than ", c_deepestExpansion, " deep");
    CheckSize(call);
    Scope& inner = m_scopes.emplace_back();
    inner.macroName = macro.name;
    inner.call = &call;
    inner.caller = &scope;
    BindActuals(scope, inner, macro, call);
    inner.prefix = NodeName(scope, localName) + ".";
    scope.instances.push_back(&inner);

    m_expanding.push_back(&macro);
    WithNote(
        [&]
        {
            for (const NdlStatement& statement : macro.body->statements)
                Execute(inner, statement);
        },
        [&] { return Concat("in macro '", macro.name, "', called at ", call.where.Location()); });
    m_expanding.pop_back();

    for (const auto& [key, given] : inner.overrides)
        if (!given.isUsed)
            m_context.warnings.push_back(Concat(given.where.Location(), ": macro '", macro.name,
                                                "' defines no constant '", given.name, "'; it is ignored"));
    const Value value{Value::Kind::Instance, "", nullptr, &inner};
    for (const NdlArgument& argument : call.arguments)
        if (EqualsIgnoreCase(argument.name, "tag"))
            ApplyTag(scope, NodeOf(value), argument);
    return value;
}

// The arguments of a macro's call. Names are looked up when they are used: they may be defined later.
void NdlBuilder::BindActuals(Scope& scope, Scope& inner, const NdlStatement& macro, const NdlExpression& call)
{
    size_t given = 0;
    bool isNamed = false; // "a=x", with a parameter's name
    for (const NdlArgument& argument : call.arguments)
    {
        if (EqualsIgnoreCase(argument.name, "tag"))
            continue;
        if (!argument.name.empty())
        {
            isNamed = isNamed || std::any_of(macro.formals.begin(), macro.formals.end(),
                                             [&](const NdlExpression& formal)
                                             { return EqualsIgnoreCase(formal.text, argument.name); });
            std::string word = WordOf(scope, argument.value);
            const auto kind = ParseDouble(word) ? Value::Kind::Number : Value::Kind::Text;
            inner.overrides[ToLower(argument.name)] = {
                {kind, std::move(word), nullptr, nullptr}, argument.nameWhere, argument.name, false};
            continue;
        }
        if (given++ >= macro.formals.size())
            continue;
        const NdlExpression& formal = macro.formals[given - 1];
        Symbol symbol{{}, nullptr, nullptr, formal.where, true, nullptr};
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
    if (given == macro.formals.size())
        return;
    std::vector<std::string> formals;
    for (const NdlExpression& formal : macro.formals)
        formals.push_back(formal.text);
    FailAt(call.where, ErrorKind::Config, "macro ", macro.name, " cannot take ", given,
           given == 1 ? " argument" : " arguments", "; expected ", macro.name, "(", Join(formals, ", "),
           "), defined at ", macro.where.Location(),
           isNamed ? "; the parameters of macros are given in order, without their names" : "");
}

NdlBuilder::Value NdlBuilder::MakeNode(Scope& scope, const NdlFunction& function, const NdlExpression& call,
                                       const std::string& localName)
{
    const NdlBinding binding{[&](const NdlExpression& expression) { return NumberOf(scope, expression); },
                             [&](const NdlExpression& expression) { return WordOf(scope, expression); },
                             [&](const NdlExpression& expression) { return ShapeOf(scope, expression); },
                             [&](const SourcePos& where, const std::string& text) { Warn(where, text); }};
    NdlBoundCall bound = BindNdlCall(function, call, binding);

    PendingNode pending;
    for (const NdlExpression* input : bound.inputs)
        pending.inputs.push_back(InputOf(scope, *input));
    if (function.type->name == "LearnableParameter")
        At(call.where, [&] { ChooseSeed(bound.parameters); });
    const std::string name = NodeName(scope, localName);
    try
    {
        pending.node = m_network.AddUnconnected(function.type->name, name, bound.parameters);
    }
    catch (const Error& error)
    {
        throw Placed(error, PlaceOfParameter(bound, error.Message(), call.where));
    }
    NoteOrigin(scope, pending.node, call);
    m_origins[pending.node.get()].imageLayout = bound.imageLayout;
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
    const uint64_t seed = forced >= 0 ? uint64_t(forced) : m_context.counts.nextRandomSeed++;
    parameters.Set("randomSeed", std::to_string(m_context.startValueSeeds(seed + m_randomSeedOffset)));
}

NdlBuilder::PendingInput NdlBuilder::InputOf(Scope& scope, const NdlExpression& expression)
{
    switch (expression.kind)
    {
    case NdlExpression::Kind::Call:
        return {Call(scope, expression, ""), &expression, &scope};
    case NdlExpression::Kind::Number:
        return {
            {Value::Kind::Node, "", MakeConstant(scope, expression.text, expression), nullptr}, &expression, &scope};
    case NdlExpression::Kind::Name:
        break;
    default:
        FailAt(expression.where, ErrorKind::Config, "a node expected as input, found ", expression.InWords());
    }
    const Value value = Resolve(scope, expression.text);
    if (value.kind == Value::Kind::Number)
        return {{Value::Kind::Node, "", MakeConstant(scope, value.text, expression), nullptr}, &expression, &scope};
    if (value.kind == Value::Kind::Text)
        FailAt(expression.where, ErrorKind::Config, "a node expected as input, but '", expression.text,
               "' is the text '", value.text, "'");
    if (value.kind == Value::Kind::Node)
        return {value, &expression, &scope};
    return {{}, &expression, &scope}; // defined later, or a macro that is still being expanded
}

// A number where a node is expected: the book calls Scale's first argument a scalar.
ComputationNodePtr NdlBuilder::MakeConstant(Scope& scope, const std::string& number, const NdlExpression& expression)
{
    NodeParameters parameters;
    parameters.Set("rows", "1");
    parameters.Set("cols", "1");
    parameters.Set("init", "fixedValue");
    parameters.Set("value", number);
    parameters.Set("learningRateMultiplier", "0");
    const ComputationNodePtr node = m_network.AddUnconnected("LearnableParameter", NodeName(scope, ""), parameters);
    NoteOrigin(scope, node, expression);
    return node;
}

// A macro that calls another twice, which calls another twice, and so on, makes a network that no memory holds.
void NdlBuilder::CheckSize(const NdlExpression& expression) const
{
    const bool hasNodes = m_made.size() >= m_context.most;
    if (!hasNodes && m_scopes.size() <= m_context.most)
        return;
    std::vector<std::string> chain;
    for (const NdlStatement* macro : m_expanding)
        chain.push_back(macro->name);
    FailAt(expression.where, ErrorKind::Config, "the network would have more than ", m_context.most,
           hasNodes ? " nodes" : " calls of macros",
           chain.size() < 2 ? ""
                            : "; a macro that calls another twice doubles what that makes: " + Join(chain, " -> "));
}

void NdlBuilder::NoteOrigin(Scope& scope, const ComputationNodePtr& node, const NdlExpression& expression)
{
    CheckSize(expression);
    scope.nodes.push_back(node);
    m_made.push_back(node);
    m_origins[node.get()] = {&expression, &scope, node->Type().traits.isLeaf && node->SampleLayout().HasUnknown(),
                             NdlImageLayout{}};
}

void NdlBuilder::ApplyTag(Scope& scope, const ComputationNodePtr& node, const NdlArgument& tag)
{
    if (!node)
        FailAt(tag.nameWhere, ErrorKind::Config, "a tag is given to a macro that makes no node: its body has no call");
    const std::string word = WordOf(scope, tag.value);
    if (ToLower(word).starts_with("eval"))
        return m_network.AddToGroup(NodeGroup::Evaluation, node);
    for (const TagName& known : c_tags)
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

} // namespace cntk
