// What names stand for: variables, parameters of macros, dotted paths into macros, nodes of the network.
#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

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

void NdlBuilder::FailUnknown(const Scope& scope, const NdlExpression& name, std::string_view what) const
{
    // A macro's parameter stands for what its caller wrote.
    if (const auto symbol = scope.symbols.find(ToLower(name.text));
        symbol != scope.symbols.end() && symbol->second.actual)
        FailUnknown(*symbol->second.actualScope, *symbol->second.actual, what);
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
