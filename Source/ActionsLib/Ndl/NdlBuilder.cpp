// Executes statements, expands macros in place, creates nodes, resolves names, and connects the nodes at the end. Hints
// and errors of the finished network: NdlMessages.cpp.
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

constexpr size_t c_deepestExpansion = 100;

// A tag, or a node array.
struct GroupName
{
    std::string_view name;
    std::optional<NodeGroup> group; // none: accepted without effect
};
constexpr GroupName c_tags[] = {
    {"feature", NodeGroup::Feature},     {"label", NodeGroup::Label},   {"criteria", NodeGroup::Criterion},
    {"criterion", NodeGroup::Criterion}, {"output", NodeGroup::Output}, {"multiseq", std::nullopt},
};

constexpr int c_deepestReference = 1000;

constexpr GroupName c_arrays[] = {
    {"FeatureNodes", NodeGroup::Feature},       {"LabelNodes", NodeGroup::Label},
    {"CriteriaNodes", NodeGroup::Criterion},    {"CriterionNodes", NodeGroup::Criterion},
    {"EvalNodes", NodeGroup::Evaluation},       {"OutputNodes", NodeGroup::Output},
    {"NodesReqMultiSeqHandling", std::nullopt},
};

// "; did you mean 'OutputNodes'?", empty for a name that resembles no node array.
std::string SimilarArrays(const std::string& name)
{
    std::vector<std::string> names;
    for (const GroupName& array : c_arrays)
        names.emplace_back(array.name);
    return DidYouMean(name, names);
}

// True for the same place of a text that may have been read twice.
bool IsSamePlace(const SourcePos& a, const SourcePos& b)
{
    return a && b && a.offset == b.offset && a.text->Name() == b.text->Name() && a.text->Text() == b.text->Text();
}

const GroupName* FindArray(std::string_view name)
{
    for (const GroupName& array : c_arrays)
        if (EqualsIgnoreCase(array.name, name))
            return &array;
    return nullptr;
}

// True if two values are written alike. Ignores tags.
bool IsSameExpression(const NdlExpression& a, const NdlExpression& b)
{
    const auto arguments = [](const NdlExpression& expression)
    {
        std::vector<const NdlArgument*> found;
        for (const NdlArgument& argument : expression.arguments)
            if (!EqualsIgnoreCase(argument.name, "tag"))
                found.push_back(&argument);
        return found;
    };
    const auto first = arguments(a), second = arguments(b);
    return a.kind == b.kind && EqualsIgnoreCase(a.text, b.text) &&
           std::equal(first.begin(), first.end(), second.begin(), second.end(),
                      [](const NdlArgument* x, const NdlArgument* y)
                      { return EqualsIgnoreCase(x->name, y->name) && IsSameExpression(x->value, y->value); });
}

// Adds the place to an error that has none. An error of the model becomes an error of the script (Config).
Error WithPlace(const Error& error, const SourcePos& where)
{
    if (error.Where())
        return error;
    return error.Retold(error.Kind() == ErrorKind::Model ? ErrorKind::Config : error.Kind(), error.Message(), where);
}

// Runs the body and adds the place to its errors.
template <class Body>
auto AtPlace(const SourcePos& where, Body&& body)
{
    try
    {
        return body();
    }
    catch (const Error& error)
    {
        throw WithPlace(error, where);
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
    std::vector<NdlStatement> macros;
    for (NdlStatement& statement : script.statements)
        if (statement.kind == NdlStatement::Kind::Macro)
            macros.push_back(std::move(statement));
    AddScript({std::move(macros)});
}

void NdlBuilder::AddScript(NdlScript script)
{
    m_scripts.push_back(std::move(script));
    for (const NdlStatement& statement : m_scripts.back().statements)
        if (statement.kind == NdlStatement::Kind::Macro)
            DefineMacro(statement);
}

// Defines macros first, because a script may call macros before it defines them.
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
                AtPlace(origin.expression->where, [&] { m_network.SetInputs(pending.node, std::move(inputs)); });
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
                       ? Concat("macro '", value.instance->macroName, "' has none: its body has no call")
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
    FailAt(call.where, ErrorKind::Config, "unknown function or macro '", call.text, "'", DidYouMean(call.text, names));
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
               "; macros cannot be recursive");
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

// Binds the arguments of a macro's call. Names are looked up when they are used, because they may be defined later.
void NdlBuilder::BindActuals(Scope& scope, Scope& inner, const NdlStatement& macro, const NdlExpression& call)
{
    size_t given = 0;
    for (const NdlArgument& argument : call.arguments)
    {
        if (EqualsIgnoreCase(argument.name, "tag"))
            continue;
        if (!argument.name.empty())
        {
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
           "), defined at ", macro.where.Location());
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
        AtPlace(call.where, [&] { ChooseSeed(bound.parameters); });
    const std::string name = NodeName(scope, localName);
    AtPlace(call.where, [&] { pending.node = m_network.AddUnconnected(function.type->name, name, bound.parameters); });
    NoteOrigin(scope, pending.node, call);
    m_pending.push_back(pending);
    for (const NdlArgument* tag : bound.tags)
        ApplyTag(scope, pending.node, *tag);
    return {Value::Kind::Node, "", pending.node, nullptr};
}

// Chooses the random seed of a parameter. randomSeed= does not advance the counter.
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
    return {{}, &expression, &scope}; // defined later, or a macro that is being expanded
}

// Creates a constant for a number where a node is expected, such as the first argument of Scale.
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

// Fails if the script creates too many nodes: nested macros that call others twice grow exponentially.
void NdlBuilder::CheckSize(const NdlExpression& expression) const
{
    const bool hasNodes = m_made.size() >= m_context.most;
    if (!hasNodes && m_scopes.size() <= m_context.most)
        return;
    FailAt(expression.where, ErrorKind::Config, "the network would have more than ", m_context.most,
           hasNodes ? " nodes" : " calls of macros");
}

void NdlBuilder::NoteOrigin(Scope& scope, const ComputationNodePtr& node, const NdlExpression& expression)
{
    CheckSize(expression);
    scope.nodes.push_back(node);
    m_made.push_back(node);
    m_origins[node.get()] = {&expression, &scope, node->Type().traits.isLeaf && node->SampleLayout().HasUnknown()};
}

void NdlBuilder::ApplyTag(Scope& scope, const ComputationNodePtr& node, const NdlArgument& tag)
{
    if (!node)
        FailAt(tag.nameWhere, ErrorKind::Config, "a tag is given to a macro without a node: its body has no call");
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

// ---- statements ----

void NdlBuilder::Execute(Scope& scope, const NdlStatement& statement)
{
    if (statement.kind == NdlStatement::Kind::Macro)
        return DefineMacro(statement);
    if (statement.kind == NdlStatement::Kind::Section)
        FailAt(statement.where, ErrorKind::Config, "section '", statement.name,
               "' is inside a network; sections belong to the top level of a file, next to 'run' and 'load'");
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
    if (IsReservedInNdl(statement.name) && !EqualsIgnoreCase(statement.name, scope.macroName))
        FailAt(statement.where, ErrorKind::Config, "the name '", statement.name,
               "' is reserved: it is also the name of a function");
    if (const auto found = scope.symbols.find(ToLower(statement.name)); found != scope.symbols.end())
    {
        if (!IsSameCall(scope, statement))
            FailAt(statement.where, ErrorKind::Config, "'", statement.name, "' is already defined at ",
                   found->second.where.Location());
        for (const NdlArgument& argument : statement.value.arguments)
            if (EqualsIgnoreCase(argument.name, "tag"))
                ApplyTag(scope, NodeOf(found->second.value), argument);
        return;
    }
    if (const auto given = scope.overrides.find(ToLower(statement.name));
        given != scope.overrides.end() && statement.value.kind != NdlExpression::Kind::Call)
    {
        given->second.isUsed = true;
        return Define(scope, statement, given->second.value);
    }

    switch (statement.value.kind)
    {
    case NdlExpression::Kind::Number:
        return Define(scope, statement, {Value::Kind::Number, statement.value.text, nullptr, nullptr});
    case NdlExpression::Kind::Text:
        return Define(scope, statement, {Value::Kind::Text, statement.value.text, nullptr, nullptr});
    case NdlExpression::Kind::Name:
        return Define(scope, statement, Alias(scope, statement));
    case NdlExpression::Kind::Call:
        scope.lastCall = Call(scope, statement.value, statement.name);
        return Define(scope, statement, scope.lastCall);
    default:
        FailList(statement);
    }
}

// Fails for a list that is assigned to anything but a node array.
void NdlBuilder::FailList(const NdlStatement& statement)
{
    FailAt(statement.where, ErrorKind::Config, "'", statement.name,
           "' is given a list; only FeatureNodes, LabelNodes, CriteriaNodes, EvalNodes and OutputNodes take one",
           SimilarArrays(statement.name));
}

void NdlBuilder::Define(Scope& scope, const NdlStatement& statement, Value value)
{
    const bool isCall = statement.value.kind == NdlExpression::Kind::Call;
    scope.symbols[ToLower(statement.name)] = {std::move(value), nullptr, nullptr,
                                              statement.where,  false,   isCall ? &statement.value : nullptr};
}

// True for a definition that is repeated with another tag: the book tags a node a second time in this way.
bool NdlBuilder::IsSameCall(const Scope& scope, const NdlStatement& statement) const
{
    const auto symbol = scope.symbols.find(ToLower(statement.name));
    if (symbol == scope.symbols.end() || !symbol->second.call)
        return false;
    const bool hasTag = std::any_of(statement.value.arguments.begin(), statement.value.arguments.end(),
                                    [](const NdlArgument& argument) { return EqualsIgnoreCase(argument.name, "tag"); });
    return hasTag && IsSameExpression(*symbol->second.call, statement.value);
}

void NdlBuilder::DefineMacro(const NdlStatement& statement)
{
    if (IsReservedInNdl(statement.name))
        FailAt(statement.where, ErrorKind::Config, "macro '", statement.name,
               "' has the name of a built-in function, which cannot be redefined");
    const auto [place, isNew] = m_macros.emplace(ToLower(statement.name), &statement);
    // The same macro again: inside a macro that is expanded twice, or in a file that is loaded twice.
    if (!isNew && (place->second == &statement || IsSamePlace(place->second->where, statement.where)))
        return;
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
    Symbol written;
    written.where = statement.where;
    const auto [place, isNew] = scope.symbols.emplace(ToLower(statement.name), std::move(written));
    if (!isNew)
        FailAt(statement.where, ErrorKind::Config, "'", statement.name, "' is already defined at ",
               place->second.where.Location(), "; list all its nodes in one place");
    const auto add = [&](const NdlExpression& element)
    {
        if (element.kind != NdlExpression::Kind::Name)
            FailAt(element.where, ErrorKind::Config, statement.name, " expects names of nodes, found ",
                   element.InWords());
        const ComputationNodePtr node = NodeOf(Resolve(scope, element.text));
        if (!node)
            FailUnknown(scope, element, Concat(statement.name, " names an unknown node"));
        if (array.group)
            m_listed.emplace_back(*array.group, node);
    };
    if (statement.value.kind != NdlExpression::Kind::Array)
        return add(statement.value);
    for (const NdlArgument& argument : statement.value.arguments)
        add(argument.value);
}

// Defines another name for a variable. Renames a node of this script, as in the original CNTK; the script may use both
// names afterwards.
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
    if (const std::string similar = SimilarArrays(statement.name); !similar.empty())
        Warn(statement.where,
             Concat("'", statement.name, "' is not a list of nodes, so '", other, "' is renamed to it", similar));
    if (value.kind == Value::Kind::Node)
        AtPlace(statement.where, [&] { m_network.Rename(value.node, newName); });
    else if (value.kind == Value::Kind::Instance)
        AtPlace(statement.where, [&] { RenameInstance(*value.instance, newName + "."); });
    return value;
}

void NdlBuilder::RenameInstance(Scope& instance, const std::string& newPrefix)
{
    const size_t oldLength = instance.prefix.size();
    for (const ComputationNodePtr& node : instance.nodes)
        m_network.Rename(node, newPrefix + node->Name().substr(oldLength));
    for (Scope* inner : instance.instances)
        RenameInstance(*inner, newPrefix + inner->prefix.substr(oldLength));
    instance.prefix = newPrefix;
}

// ---- names ----

std::string NdlBuilder::NodeName(Scope& scope, const std::string& localName)
{
    if (!localName.empty())
        return scope.prefix + localName;
    for (;;)
    {
        std::string name = Concat(scope.prefix, "unnamed", m_context.counts.nextUnnamed++);
        if (!m_network.Find(name))
            return name;
    }
}

NdlBuilder::Value NdlBuilder::Resolve(const Scope& scope, const std::string& name, int depth) const
{
    if (depth > c_deepestReference) // a parameter that refers to itself: L = M(L.x)
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

// Returns the node of a macro: the local with the macro's name, else the last call.
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

ComputationNodePtr NdlBuilder::FindNode(std::string_view name)
{
    const Value value = Resolve(m_scopes.front(), std::string(name));
    if (value.kind == Value::Kind::Number)
    {
        Scope& scope = m_scopes.front();
        const NdlExpression nowhere;
        const ComputationNodePtr node = MakeConstant(scope, value.text, nowhere);
        m_origins.erase(node.get()); // no expression of the script made it
        m_network.Rename(node, std::string(name));
        scope.symbols[ToLower(name)].value = {Value::Kind::Node, "", node, nullptr};
        return node;
    }
    ComputationNodePtr node = NodeOf(value);
    // A later statement may have deleted the node.
    return node && m_network.Find(node->Name()) == node ? node : nullptr;
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
            FailUnknown(scope, expression, "a number expected, found the unknown name", Wanted::Number);
        // A macro's parameter refers to the expression of its caller.
        if (const auto symbol = scope.symbols.find(ToLower(expression.text));
            symbol != scope.symbols.end() && symbol->second.actual)
            return NumberOf(*symbol->second.actualScope, *symbol->second.actual);
        FailAt(expression.where, ErrorKind::Config, "a number expected, but '", expression.text, "' is ",
               value.kind == Value::Kind::Text ? "the text '" + value.text + "'" : "a node");
    }
    FailAt(expression.where, ErrorKind::Config, "a number expected, found ", expression.InWords());
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
               expression.InWords());
    }
    const auto symbol = scope.symbols.find(ToLower(expression.text));
    if (symbol == scope.symbols.end())
        return expression.text;
    if (symbol->second.actual) // a macro's parameter
        return WordOf(*symbol->second.actualScope, *symbol->second.actual);
    const Value& value = symbol->second.value;
    return value.kind == Value::Kind::Number || value.kind == Value::Kind::Text ? value.text : expression.text;
}

// Returns a shape as text: "3" for 3, "3:3:2" for {3, 3, 2}. Follows macro parameters.
std::string NdlBuilder::ShapeOf(const Scope& scope, const NdlExpression& expression) const
{
    if (expression.kind == NdlExpression::Kind::Name)
    {
        const auto symbol = scope.symbols.find(ToLower(expression.text));
        if (symbol != scope.symbols.end() && symbol->second.actual)
            return ShapeOf(*symbol->second.actualScope, *symbol->second.actual);
    }
    if (expression.kind != NdlExpression::Kind::Array)
        return WordOf(scope, expression);
    std::vector<std::string> elements;
    for (const NdlArgument& element : expression.arguments)
        elements.push_back(NumberOf(scope, element.value));
    return Join(elements, ":");
}

} // namespace cntk
