// Builds a network from the syntax tree of a script: variables, macros, forward references, tags and node arrays (book
// 4.1). The node registry defines the functions.
#pragma once

#include "ActionsLib/Ndl/NdlFunctions.h"
#include "ActionsLib/Ndl/NdlParser.h"
#include "Common/Error.h"
#include "Common/Random.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cntk
{

// Place of the script at which a node is created.
struct NdlPlace
{
    std::weak_ptr<const ComputationNode> node; // guards against reuse of the address
    SourcePos where;
    std::shared_ptr<const std::vector<std::string>> callers; // notes about the macros around it
};

// Counters that continue from one network of a program to the next, as in the original CNTK.
struct NdlCounts
{
    uint64_t nextRandomSeed = 1; // one for each random parameter, in script order
    size_t nextUnnamed = 1;
};

struct NdlContext
{
    NdlCounts counts;
    SeedStream startValueSeeds;        // seeds of the command that builds or edits
    std::vector<std::string> warnings; // with positions; the caller logs the warnings
    // Limit for the nodes that a script creates and for the macros that it expands, so that runaway macros fail early.
    size_t most = 1000000;
    bool writesDumps = true; // false with --check, which writes nothing
    std::unordered_map<const ComputationNode*, NdlPlace> places;

    const NdlPlace* FindPlace(const ComputationNode& node) const; // null if no script created the node
};

class NdlBuilder
{
public:
    NdlBuilder(ComputationNetwork& network, NdlContext& context, uint64_t randomSeedOffset = 0);
    ~NdlBuilder();
    NdlBuilder(const NdlBuilder&) = delete;
    NdlBuilder& operator=(const NdlBuilder&) = delete;

    // Reads the macros of a script and ignores its other statements.
    void DefineMacros(NdlScript script);
    // Executes statements in order. Creates nodes, but does not connect them.
    void Run(NdlScript script);
    // Connects the nodes; every name must be known now. Puts tagged nodes into groups first, then the nodes of node
    // arrays.
    void Finish();
    // Fails (Config) if the network has no feature node: at the script's first input without a role, else at the given
    // place.
    void RequireFeatures(const SourcePos& elsewhere) const;
    // Returns the node that a name of the script refers to; the value of a macro is its last node. Turns a number into
    // a constant of that name. Null if the name is unknown.
    ComputationNodePtr FindNode(std::string_view name);
    // Validates the network. Errors name the place in the script, the macros around it, and the inputs with their
    // shapes.
    void Validate();

private:
    struct Scope;
    struct Value
    {
        enum class Kind
        {
            None,
            Number,
            Text,
            Node,
            Instance // of a macro
        };
        Kind kind = Kind::None;
        std::string text;
        ComputationNodePtr node;
        Scope* instance = nullptr;
    };
    // A variable, or a macro's parameter: an expression that is looked up in the scope of the macro's call.
    struct Symbol
    {
        Value value;
        const NdlExpression* actual = nullptr;
        Scope* actualScope = nullptr;
        SourcePos where;
        bool isFormal = false;
        const NdlExpression* call = nullptr; // the call that defines the variable
    };
    // A constant that a macro's call passes by name; it replaces the local constant of that name.
    struct Override
    {
        Value value;
        SourcePos where;
        std::string name;
        bool isUsed = false;
    };
    struct Scope
    {
        std::string prefix; // "L1."
        std::string macroName;
        const NdlExpression* call = nullptr; // the call of the macro
        const Scope* caller = nullptr;
        std::map<std::string, Symbol> symbols;     // by lower-case name
        std::map<std::string, Override> overrides; // by lower-case name
        Value lastCall;
        // Nodes created and macros expanded in this scope, for renaming.
        std::vector<ComputationNodePtr> nodes;
        std::vector<Scope*> instances;
    };
    struct PendingInput
    {
        Value value; // Kind::None: a forward reference, looked up by name in Finish
        const NdlExpression* expression = nullptr;
        Scope* scope = nullptr;
    };
    struct PendingNode
    {
        ComputationNodePtr node;
        std::vector<PendingInput> inputs;
    };
    // The expression that created a node, and the scope of that expression.
    struct Origin
    {
        const NdlExpression* expression = nullptr;
        const Scope* scope = nullptr;
        bool isOpen = false; // a parameter with a dimension of 0
    };

    void Warn(const SourcePos& where, const std::string& text) const
    {
        m_context.warnings.push_back(Concat(where.Location(), ": ", text));
    }
    [[noreturn]] static void FailList(const NdlStatement& statement);
    void Execute(Scope& scope, const NdlStatement& statement);
    void AddScript(NdlScript script);
    void DefineMacro(const NdlStatement& statement);
    void Define(Scope& scope, const NdlStatement& statement, Value value);
    void AddToGroups(Scope& scope, const NdlStatement& statement);
    bool IsSameCall(const Scope& scope, const NdlStatement& statement) const;
    Value Alias(Scope& scope, const NdlStatement& statement);
    void RenameInstance(Scope& instance, const std::string& newPrefix);
    Value Call(Scope& scope, const NdlExpression& call, const std::string& localName);
    Value ExpandMacro(Scope& scope, const NdlStatement& macro, const NdlExpression& call, const std::string& localName);
    Value MakeNode(Scope& scope, const NdlFunction& function, const NdlExpression& call, const std::string& localName);
    void ChooseSeed(NodeParameters& parameters);
    PendingInput InputOf(Scope& scope, const NdlExpression& expression);
    ComputationNodePtr MakeConstant(Scope& scope, const std::string& number, const NdlExpression& expression);
    std::vector<ComputationNodePtr> ResolveInputs(const PendingNode& pending);
    void CheckSize(const NdlExpression& expression) const;
    void NoteOrigin(Scope& scope, const ComputationNodePtr& node, const NdlExpression& expression);
    void BindActuals(Scope& scope, Scope& inner, const NdlStatement& macro, const NdlExpression& call);

    Value Resolve(const Scope& scope, const std::string& name, int depth = 0) const;
    Value ValueOf(const Symbol& symbol, int depth) const;
    ComputationNodePtr NodeOf(const Value& value) const; // null if the value is no node
    std::string NumberOf(const Scope& scope, const NdlExpression& expression) const;
    std::string WordOf(const Scope& scope, const NdlExpression& expression) const;
    std::string ShapeOf(const Scope& scope, const NdlExpression& expression) const;
    void ApplyTag(Scope& scope, const ComputationNodePtr& node, const NdlArgument& tag);
    std::string NodeName(Scope& scope, const std::string& localName);
    enum class Wanted
    {
        Node,
        Number
    };
    [[noreturn]] void FailUnknown(const Scope& scope, const NdlExpression& name, std::string_view what,
                                  Wanted wanted = Wanted::Node) const;
    std::string HintFor(const Scope& scope, const NdlExpression& expression, Wanted wanted) const;
    std::vector<std::string> NamesIn(const Scope& scope, Wanted wanted) const;
    SourcePos DefinitionAfter(const Scope& scope, const NdlExpression& name) const;

    // NdlMessages.cpp
    void NotePlaces();
    void WarnOfRoles() const;
    void ExplainInvalid(const Error& error, const ComputationNode& node,
                        const std::vector<ComputationNodePtr>& loop) const;
    void AddPlaces(Error& error, const std::vector<ComputationNodePtr>& nodes, bool withShapes) const;
    std::string PlaceOf(const ComputationNode& node) const;
    static std::vector<std::string> CallersOf(const Scope& scope);
    static void AddCallers(Error& error, const Scope& scope);

    ComputationNetwork& m_network;
    NdlContext& m_context;
    uint64_t m_randomSeedOffset;
    std::deque<NdlScript> m_scripts; // symbols and pending inputs point into the scripts
    std::map<std::string, const NdlStatement*> m_macros;
    std::deque<Scope> m_scopes; // the first is the scope of the script
    std::vector<PendingNode> m_pending;
    std::vector<ComputationNodePtr> m_made;                         // nodes in script order
    std::vector<std::pair<NodeGroup, ComputationNodePtr>> m_listed; // nodes of node arrays
    std::unordered_map<const ComputationNode*, Origin> m_origins;
    std::vector<const NdlStatement*> m_expanding; // macros being expanded, outermost first
};

// True for nodes that the reader fills.
inline bool IsInputNode(const ComputationNode& node)
{
    return node.TypeName() == "InputValue" || node.TypeName() == "SparseInputValue";
}

} // namespace cntk
