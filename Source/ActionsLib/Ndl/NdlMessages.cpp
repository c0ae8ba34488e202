// Hints for unknown names, and errors and warnings about the finished network with their places in the script.
#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <iterator>

namespace cntk
{

void NdlBuilder::FailUnknown(const Scope& scope, const NdlExpression& name, std::string_view what, Wanted wanted) const
{
    // A macro's parameter refers to the expression of its caller.
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

// Returns a hint at the intended name: "; did you mean ...".
std::string NdlBuilder::HintFor(const Scope& scope, const NdlExpression& expression, Wanted wanted) const
{
    const std::string& name = expression.text;
    if (const SourcePos later = DefinitionAfter(scope, expression))
        return Concat("; it is defined after its use, at ", later.Location(),
                      "; only inputs of functions may be defined later");
    std::vector<std::string> names =
        wanted == Wanted::Number ? std::vector<std::string>{} : m_network.NearestNames(name);
    for (std::string& local : NamesIn(scope, wanted))
        names.push_back(std::move(local));
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    names.erase(std::unique(names.begin(), names.end(), EqualsIgnoreCase), names.end());
    if (std::string near = DidYouMean(name, names); !near.empty())
        return near;
    const std::string odd = OddCharacterIn(name);
    return odd.empty() ? "" : Concat("; the name has ", odd);
}

// Returns the names of a scope as written, in alphabetical order.
std::vector<std::string> NdlBuilder::NamesIn(const Scope& scope, Wanted wanted) const
{
    std::vector<std::string> names;
    for (const auto& [key, symbol] : scope.symbols)
    {
        const Value value = ValueOf(symbol, 0);
        const bool isNumber = value.kind == Value::Kind::Number;
        const bool isNodeArray = !symbol.isFormal && value.kind == Value::Kind::None;
        if (wanted == Wanted::Number ? isNumber : !isNumber && !isNodeArray && value.kind != Value::Kind::Text)
            names.emplace_back(symbol.where ? symbol.where.text->Text().substr(symbol.where.offset, symbol.where.length)
                                            : std::string_view(key));
    }
    return names;
}

// Returns the place after `name` at which the scope defines it; an empty place if there is none.
SourcePos NdlBuilder::DefinitionAfter(const Scope& scope, const NdlExpression& name) const
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

// ---- the finished network ----

void NdlBuilder::Validate()
{
    m_network.Validate([this](const Error& error, const ComputationNode& node, const auto& loop)
                       { ExplainInvalid(error, node, loop); });
    NotePlaces();
    WarnOfRoles();
}

void NdlBuilder::RequireFeatures(const SourcePos& elsewhere) const
{
    if (!m_network.Group(NodeGroup::Feature).empty())
        return;
    const std::vector<ComputationNodePtr> labels = m_network.Group(NodeGroup::Label);
    for (const ComputationNodePtr& node : m_made)
    {
        const auto origin = m_origins.find(node.get());
        if (!IsInputNode(*node) || origin == m_origins.end() ||
            std::find(labels.begin(), labels.end(), node) != labels.end())
            continue;
        Error error(ErrorKind::Config,
                    Concat("the network has no feature node; write tag=feature on an input, such as '", node->Name(),
                           "' here, or FeatureNodes=(", node->Name(), ")"),
                    origin->second.expression->where);
        AddCallers(error, *origin->second.scope);
        throw error;
    }
    FailAt(elsewhere, ErrorKind::Config, "the network has no feature node",
           labels.empty() ? " and no input at all; define one, such as features=Input(dimension, tag=feature)"
                          : Concat("; its only inputs are labels; define one more, such as features=Input(dimension, "
                                   "tag=feature)"));
}

void NdlBuilder::NotePlaces()
{
    std::erase_if(m_context.places, [](const auto& place) { return place.second.node.expired(); });
    std::unordered_map<const Scope*, std::shared_ptr<const std::vector<std::string>>> callers;
    for (const ComputationNodePtr& node : m_made)
    {
        const auto origin = m_origins.find(node.get());
        if (origin == m_origins.end())
            continue;
        std::shared_ptr<const std::vector<std::string>>& around = callers[origin->second.scope];
        if (!around)
            around = std::make_shared<const std::vector<std::string>>(CallersOf(*origin->second.scope));
        m_context.places[node.get()] = {node, origin->second.expression->where, around};
    }
}

// Warns about feature and label nodes that are no inputs.
void NdlBuilder::WarnOfRoles() const
{
    for (const NodeGroup group : {NodeGroup::Feature, NodeGroup::Label})
        for (const ComputationNodePtr& node : m_network.Group(group))
        {
            const auto origin = m_origins.find(node.get());
            if (origin != m_origins.end() && !IsInputNode(*node))
                Warn(origin->second.expression->where,
                     Concat(group == NodeGroup::Feature ? "feature" : "label", " node '", node->Name(), "' is a ",
                            node->TypeName(), " and no input, so the reader does not fill it"));
        }
}

void NdlBuilder::AddPlaces(Error& error, const std::vector<ComputationNodePtr>& nodes, bool withShapes) const
{
    constexpr size_t c_mostNotes = 10;
    for (size_t i = 0; i < nodes.size() && i < c_mostNotes; i++)
        error.AddNote(Concat("'", nodes[i]->Name(), "' ",
                             withShapes ? m_network.DescribeShape(*nodes[i]) + " " : std::string(), "is ",
                             PlaceOf(*nodes[i])));
    if (nodes.size() > c_mostNotes)
        error.AddNote(Concat("and ", nodes.size() - c_mostNotes, " more nodes"));
}

// Throws the error of a node at the node's place in the script, with notes about its inputs or the nodes of its loop.
// Returns if the script did not create the node.
void NdlBuilder::ExplainInvalid(const Error& error, const ComputationNode& node,
                                const std::vector<ComputationNodePtr>& loop) const
{
    const auto origin = m_origins.find(&node);
    if (origin == m_origins.end())
        return;
    Error placed = error.Retold(error.Kind() == ErrorKind::Model ? ErrorKind::Config : error.Kind(), error.Message(),
                                error.Where() ? error.Where() : origin->second.expression->where);
    if (loop.empty())
    {
        AddPlaces(placed, node.Inputs(), true);
        AddCallers(placed, *origin->second.scope);
        throw placed;
    }
    std::vector<ComputationNodePtr> nodes; // in script order
    std::copy_if(m_made.begin(), m_made.end(), std::back_inserter(nodes),
                 [&](const ComputationNodePtr& made)
                 { return std::find(loop.begin(), loop.end(), made) != loop.end(); });
    AddPlaces(placed, nodes, false);
    throw placed;
}

// Returns "Times(W, x) at net.ndl:3:4, in macro 'F' called at net.ndl:9:6"
std::string NdlBuilder::PlaceOf(const ComputationNode& node) const
{
    const auto origin = m_origins.find(&node);
    if (origin == m_origins.end())
        return "a node of the loaded model";
    const NdlExpression& expression = *origin->second.expression;
    std::string place = Concat(expression.AsWritten(), " at ", expression.where.Location());
    for (const Scope* scope = origin->second.scope; scope->call; scope = scope->caller)
        place += Concat(", in macro '", scope->macroName, "' called at ", scope->call->where.Location());
    if (origin->second.isOpen)
        place += ", its size inferred from the nodes that use it";
    return place;
}

// Returns notes about the macros around a place, innermost first.
std::vector<std::string> NdlBuilder::CallersOf(const Scope& scope)
{
    std::vector<std::string> callers;
    for (const Scope* each = &scope; each->call; each = each->caller)
        callers.push_back(Concat("in macro '", each->macroName, "', called at ", each->call->where.Location()));
    return callers;
}

void NdlBuilder::AddCallers(Error& error, const Scope& scope)
{
    for (std::string& caller : CallersOf(scope))
        error.AddNote(std::move(caller));
}

const NdlPlace* NdlContext::FindPlace(const ComputationNode& node) const
{
    const auto place = places.find(&node);
    return place != places.end() && place->second.node.lock().get() == &node ? &place->second : nullptr;
}

} // namespace cntk
