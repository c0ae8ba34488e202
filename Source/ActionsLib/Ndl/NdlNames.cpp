// What names stand for: variables, parameters of macros, dotted paths into macros, nodes of the network.
#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <iterator>

namespace cntk
{

namespace
{

constexpr int c_deepestReference = 1000;

} // namespace

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
    // It may have been deleted since.
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
        // A macro's parameter stands for what its caller wrote.
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

// A shape, in a call or as a macro's argument: 3, or {3, 3, 2}.
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

void NdlBuilder::FailUnknown(const Scope& scope, const NdlExpression& name, std::string_view what, Wanted wanted) const
{
    // A macro's parameter stands for what its caller wrote.
    if (const auto symbol = scope.symbols.find(ToLower(name.text));
        symbol != scope.symbols.end() && symbol->second.actual)
        FailUnknown(*symbol->second.actualScope, *symbol->second.actual, what, wanted);
    if (name.kind != NdlExpression::Kind::Name)
        FailAt(name.where, ErrorKind::Config, wanted == Wanted::Number ? "a number" : "a node", " expected, found ",
               name.InWords());
    const Scope& script = m_scopes.front();
    if (&scope != &script && script.symbols.contains(ToLower(name.text)))
        FailAt(name.where, ErrorKind::Config, what, " '", name.text, "'; macro '", scope.macroName,
               "' sees its own names only: make '", name.text, "' one of its parameters");
    FailAt(name.where, ErrorKind::Config, what, " '", name.text, "'", HintFor(scope, name, wanted));
}

// What may be meant by a name that stands for nothing: the first hint that there is, the surest ones first.
std::string NdlBuilder::HintFor(const Scope& scope, const NdlExpression& expression, Wanted wanted) const
{
    const std::string& name = expression.text;
    if (std::string hint = HintForOtherThing(scope, expression); !hint.empty())
        return hint;
    if (name.size() > 1 && name.front() == '\'')
        return "; texts stand in double quotes";
    if (name.find('$') != std::string::npos)
        return "; a variable of the config is written $name$";
    if (const size_t dot = name.rfind('.'); dot != std::string::npos)
        if (std::string hint = HintForPath(scope, name.substr(0, dot)); !hint.empty())
            return hint;
    std::vector<std::string> locals = NamesIn(scope, wanted);
    if (std::string hint = HintForNearName(name, locals, wanted); !hint.empty())
        return hint;
    if (std::string odd = OddCharacterIn(name); !odd.empty())
        return Concat("; the name has ", odd);
    if (name.find_first_of("+-*/^%<>!&|") != std::string::npos)
        return wanted == Wanted::Number ? "; there is no arithmetic: write the result"
                                        : "; there is no arithmetic: write Plus, Minus, Times, ElementTimes, ...";
    return HintWithNames(name, std::move(locals), wanted);
}

// The name is there, but it is something else than what is wanted, or stands somewhere else.
std::string NdlBuilder::HintForOtherThing(const Scope& scope, const NdlExpression& expression) const
{
    const std::string& name = expression.text;
    if (const SourcePos later = DefinedBehind(scope, expression))
        return Concat("; it is defined behind its use, at ", later.Location(),
                      ", and only the inputs of functions may be");
    if (const Value value = Resolve(scope, name); value.kind == Value::Kind::Number)
        return Concat("; that is the number ", value.text);
    if (const auto symbol = scope.symbols.find(ToLower(name)); symbol != scope.symbols.end() && IsGroup(symbol->second))
        return "; that is a list of nodes";
    for (const NdlStatement& statement : m_unread)
        if (statement.kind == NdlStatement::Kind::Assignment && EqualsIgnoreCase(statement.name, name))
            return Concat("; that at ", statement.where.Location(),
                          " is not read: of files of macros, and beside the sections of a file, only macros are");
    if (const auto macro = m_macros.find(ToLower(name)); macro != m_macros.end())
        return Concat("; that is a macro: write ", macro->second->name, "(...)");
    if (FindNdlFunction(m_network.Registry(), name).type)
        return Concat("; that is a function: write ",
                      NdlSignature(m_network.Registry(), name, NamedParameters::LeftOut));
    return {};
}

// "; did you mean ...": of the names in the scope and of the nodes of the network.
std::string NdlBuilder::HintForNearName(const std::string& name, const std::vector<std::string>& locals,
                                        Wanted wanted) const
{
    std::vector<std::string> names =
        wanted == Wanted::Number ? std::vector<std::string>{} : m_network.NearestNames(name);
    names.insert(names.end(), locals.begin(), locals.end());
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    names.erase(std::unique(names.begin(), names.end(), EqualsIgnoreCase), names.end());
    return DidYouMean(name, names);
}

// All names that there are, if they are few. Of a short name those with its first letter, if these are few: any two
// short names are far from each other, so that none was near.
std::string NdlBuilder::HintWithNames(const std::string& name, std::vector<std::string> locals, Wanted wanted) const
{
    constexpr size_t shortest = 3, most = 5;
    const auto begin = [&](const std::string& other)
    { return EqualsIgnoreCase(std::string_view(other).substr(0, 1), std::string_view(name).substr(0, 1)); };
    std::vector<std::string> shown;
    // In-line NDL of an edit script sees the nodes of its model as well, most of which another script has made.
    if (wanted == Wanted::Node)
        for (const ComputationNodePtr& node : m_network.Nodes())
            if (!m_origins.contains(node.get()))
                locals.push_back(node->Name());
    std::sort(locals.begin(), locals.end(), LessIgnoreCase);
    locals.erase(std::unique(locals.begin(), locals.end(), EqualsIgnoreCase), locals.end());
    if (name.size() < shortest)
        std::copy_if(locals.begin(), locals.end(), std::back_inserter(shown), begin);
    if (shown.empty() || shown.size() > most)
        shown = locals;
    if (shown.empty())
        return wanted == Wanted::Number ? "; no name of a number is defined" : "";
    if (shown.size() > most)
        return "";
    return Concat(wanted == Wanted::Number ? "; names of numbers: '" : "; names there: '", Join(shown, "', '"), "'");
}

// Of a dotted name whose end is not known: what the beginning is.
std::string NdlBuilder::HintForPath(const Scope& scope, const std::string& path) const
{
    const Value value = Resolve(scope, path);
    if (value.kind == Value::Kind::Node)
        return Concat("; '", path, "' is a node, and dots refer into macros");
    if (value.kind == Value::Kind::Number)
        return Concat("; '", path, "' is a number, and dots refer into macros");
    if (value.kind != Value::Kind::Instance)
        return {};
    constexpr size_t most = 12;
    std::vector<std::string> names = NamesIn(*value.instance, Wanted::Node);
    for (std::string& number : NamesIn(*value.instance, Wanted::Number))
        names.push_back(std::move(number));
    if (names.empty() || names.size() > most)
        return {};
    return Concat("; '", path, "' (macro '", value.instance->macroName, "') has '", Join(names, "', '"), "'");
}

// FeatureNodes=(...)
bool NdlBuilder::IsGroup(const Symbol& symbol) const
{
    return !symbol.isFormal && ValueOf(symbol, 0).kind == Value::Kind::None;
}

// Of a function or macro that is not known: what else has that name, or the section that has it, which nothing reads.
std::string NdlBuilder::HintForCall(const Scope& scope, const std::string& name) const
{
    const Value value = Resolve(scope, name);
    if (value.kind == Value::Kind::Number)
        return Concat("; that is the number ", value.text);
    if (value.kind == Value::Kind::Node || value.kind == Value::Kind::Instance)
        return "; that is a node, and only functions and macros take arguments";
    const auto find = [&](const std::vector<NdlStatement>& statements, std::string_view why) -> std::string
    {
        for (const NdlStatement& section : statements)
        {
            if (section.kind != NdlStatement::Kind::Section)
                continue;
            for (const NdlStatement& statement : section.body->statements)
                if (statement.kind == NdlStatement::Kind::Macro && EqualsIgnoreCase(statement.name, name))
                    return Concat("; the macro at ", statement.where.Location(), " stands in section '", section.name,
                                  "', ", why);
        }
        return {};
    };
    std::string hint = find(m_sections, "which no load= names");
    return hint.empty() ? find(m_unread, "and sections of files of macros are not read") : hint;
}

// As they are written, in alphabetical order.
std::vector<std::string> NdlBuilder::NamesIn(const Scope& scope, Wanted wanted) const
{
    std::vector<std::string> names;
    for (const auto& [key, symbol] : scope.symbols)
    {
        const Value value = ValueOf(symbol, 0);
        const bool isNumber = value.kind == Value::Kind::Number;
        if (IsGroup(symbol))
            continue;
        if (wanted == Wanted::Number ? isNumber : !isNumber && value.kind != Value::Kind::Text)
            names.emplace_back(symbol.where ? symbol.where.text->Text().substr(symbol.where.offset, symbol.where.length)
                                            : std::string_view(key));
    }
    return names;
}

// Where the scope's own text defines the name, which it has not done yet.
SourcePos NdlBuilder::DefinedBehind(const Scope& scope, const NdlExpression& name) const
{
    if (scope.symbols.contains(ToLower(name.text)))
        return {};
    const auto find = [&](const NdlScript& script) -> SourcePos
    {
        for (const NdlStatement& statement : script.statements)
            if (statement.kind == NdlStatement::Kind::Assignment && EqualsIgnoreCase(statement.name, name.text) &&
                (statement.where.text != name.where.text || statement.where.offset > name.where.offset))
                return statement.where;
        return {};
    };
    if (const auto macro = m_macros.find(ToLower(scope.macroName)); macro != m_macros.end())
        return find(*macro->second->body);
    for (const NdlScript& script : m_scripts)
        if (const SourcePos where = find(script))
            return where;
    return {};
}

} // namespace cntk
