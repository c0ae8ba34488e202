// The statements of a script: definitions, node arrays, other names for variables, macros.
#include "ActionsLib/Ndl/NdlBuilder.h"
#include "ActionsLib/Ndl/NdlPlacing.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <optional>

namespace cntk
{

namespace
{

struct ArrayName
{
    std::string_view name;
    std::optional<NodeGroup> group; // none: accepted without effect
};
constexpr ArrayName c_arrays[] = {
    {"FeatureNodes", NodeGroup::Feature},       {"LabelNodes", NodeGroup::Label},
    {"CriteriaNodes", NodeGroup::Criterion},    {"CriterionNodes", NodeGroup::Criterion},
    {"EvalNodes", NodeGroup::Evaluation},       {"OutputNodes", NodeGroup::Output},
    {"NodesReqMultiSeqHandling", std::nullopt},
};

// The same place of the same text, which may have been read twice.
bool IsSamePlace(const SourcePos& a, const SourcePos& b)
{
    return a && b && a.offset == b.offset && a.text->Name() == b.text->Name() && a.text->Text() == b.text->Text();
}

const ArrayName* FindArray(std::string_view name)
{
    for (const ArrayName& array : c_arrays)
        if (EqualsIgnoreCase(array.name, name))
            return &array;
    return nullptr;
}

// "; did you mean 'OutputNodes'?" of names that look like those of node arrays.
std::string NearArray(std::string_view name)
{
    if (ToLower(name).find("node") == std::string::npos)
        return {};
    std::vector<std::string> names;
    for (const ArrayName& array : c_arrays)
        names.emplace_back(array.name);
    return DidYouMean(name, names);
}

// Whether two values are written alike; tags do not count.
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

} // namespace

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
    if (std::string_view("+-*/").find(statement.name.back()) != std::string_view::npos)
        Warn(statement.where,
             Concat("this defines the name '", statement.name, "'; there is no '", statement.name.back(), "='"));
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

// A list that is none of the node arrays.
void NdlBuilder::FailList(const NdlStatement& statement)
{
    const NdlExpression& list = statement.value;
    if (const std::string near = NearArray(statement.name); !near.empty())
        FailAt(statement.where, ErrorKind::Config, "unknown list '", statement.name, "'", near);
    if (std::any_of(list.arguments.begin(), list.arguments.end(),
                    [](const NdlArgument& argument) { return !argument.name.empty(); }))
        FailAt(list.where, ErrorKind::Config, "a value for '", statement.name, "' expected, found ", list.InWords(),
               "; a macro has parentheses, empty ones too: ", statement.name, "() { ... }");
    if (list.arguments.size() == 1)
        FailAt(list.where, ErrorKind::Config, "a value for '", statement.name, "' expected, found ", list.InWords());
    FailAt(list.where, ErrorKind::Config, "'", statement.name,
           "' is given a list; only FeatureNodes, LabelNodes, CriteriaNodes, EvalNodes and OutputNodes take one");
}

void NdlBuilder::Define(Scope& scope, const NdlStatement& statement, Value value)
{
    const bool isCall = statement.value.kind == NdlExpression::Kind::Call;
    scope.symbols[ToLower(statement.name)] = {std::move(value), nullptr, nullptr,
                                              statement.where,  false,   isCall ? &statement.value : nullptr};
}

// The book tags a node a second time by repeating its definition with another tag.
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
    // Inside a macro that is expanded again, or in a file that is loaded twice.
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
    const ArrayName& array = *FindArray(statement.name);
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
    if (statement.value.arguments.empty())
        Warn(statement.where, Concat(statement.name, " names no node"));
    for (const NdlArgument& argument : statement.value.arguments)
        add(argument.value);
}

// Another name for a variable. A node that the script made itself is renamed, as in the original; the script may go on
// using both names.
NdlBuilder::Value NdlBuilder::Alias(Scope& scope, const NdlStatement& statement)
{
    const std::string& other = statement.value.text;
    const Value value = Resolve(scope, other);
    if (value.kind == Value::Kind::None && EqualsIgnoreCase(statement.name, "include"))
        FailAt(statement.where, ErrorKind::Config,
               "include= belongs in config files; macros of other files come in with ndlMacros=");
    if (value.kind == Value::Kind::None)
        FailUnknown(scope, statement.value, "unknown variable");
    if (const std::string near = NearArray(statement.name); !near.empty())
        Warn(statement.where, Concat("'", statement.name, "' is another name for '", other, "'", near));
    const auto symbol = scope.symbols.find(ToLower(other.substr(0, other.find('.'))));
    if (symbol == scope.symbols.end() || symbol->second.isFormal)
        return value;
    const std::string newName = scope.prefix + statement.name;
    if (value.kind == Value::Kind::Node)
        At(statement.where, [&] { m_network.Rename(value.node, newName); });
    else if (value.kind == Value::Kind::Instance)
        At(statement.where, [&] { RenameInstance(*value.instance, newName + "."); });
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

} // namespace cntk
