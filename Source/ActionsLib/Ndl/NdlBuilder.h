// Syntax tree to network: variables, macros, forward references, tags and node arrays (book 4.1).
// What the functions are, the node registry says.
#pragma once

#include "ActionsLib/Ndl/NdlFunctions.h"
#include "ActionsLib/Ndl/NdlSyntax.h"
#include "Common/Error.h"
#include "Common/Random.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cntk
{

// Where a script makes a node.
struct NdlPlace
{
    std::weak_ptr<const ComputationNode> node; // whose address may be another's one day
    SourcePos where;
    std::shared_ptr<const std::vector<std::string>> callers; // the macros around it, as notes
};

// What goes on counting from one network of a program to the next, as in the original.
struct NdlCounts
{
    uint64_t nextRandomSeed = 1; // one for each random parameter, in script order
    size_t nextUnnamed = 1;
};

struct NdlContext
{
    NdlCounts counts;
    SeedStream startValueSeeds;        // of the command that builds or edits
    std::vector<std::string> warnings; // with positions; the caller logs them
    // Of nodes that a script makes, and of macros that it expands: far more than any network has, and memory for them.
    size_t most = 1000000;
    bool writesDumps = true; // false with --check, which writes nothing
    std::unordered_map<const ComputationNode*, NdlPlace> places;

    const NdlPlace* FindPlace(const ComputationNode& node) const; // null: no script made it
};

class NdlBuilder
{
public:
    NdlBuilder(ComputationNetwork& network, NdlContext& context, uint64_t randomSeedOffset = 0);
    ~NdlBuilder();
    NdlBuilder(const NdlBuilder&) = delete;
    NdlBuilder& operator=(const NdlBuilder&) = delete;

    // Takes the macro definitions of a script and nothing else.
    void DefineMacros(NdlScript script);
    // Sections of a file, which may or may not be run: errors name those that would have what is missing.
    void NoteSections(const std::vector<NdlStatement>& sections);
    // Executes statements in order: nodes are made, but not yet connected.
    void Run(NdlScript script);
    // Connects the nodes: by now every name must be known. Groups have the nodes that are tagged, then those of the
    // node arrays.
    void Finish();
    // Told at the script's first input that has no role; where there is none, at the place given.
    void RequireFeatures(const SourcePos& elsewhere) const;
    // The node that a name of the script stands for (a macro's value is its last node); null if there is none. A number
    // becomes a constant of that name.
    ComputationNodePtr FindNode(std::string_view name);
    // Validates the network. What is wrong is told with the place in the script, the macros around it, and where the
    // shapes of the inputs come from.
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
    // A variable, or a macro's parameter: an expression to be looked up where the macro was called.
    struct Symbol
    {
        Value value;
        const NdlExpression* actual = nullptr;
        Scope* actualScope = nullptr;
        SourcePos where;
        bool isFormal = false;
        const NdlExpression* call = nullptr; // that defines it
    };
    // A constant given by name in a macro's call, for the local of that name.
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
        const NdlExpression* call = nullptr; // of the macro
        const Scope* caller = nullptr;
        std::map<std::string, Symbol> symbols;     // lower case
        std::map<std::string, Override> overrides; // lower case
        Value lastCall;
        // Made here, for renaming: nodes, and macros that were expanded.
        std::vector<ComputationNodePtr> nodes;
        std::vector<Scope*> instances;
    };
    struct PendingInput
    {
        Value value; // none: a forward reference, to be looked up by name
        const NdlExpression* expression = nullptr;
        Scope* scope = nullptr;
    };
    struct PendingNode
    {
        ComputationNodePtr node;
        std::vector<PendingInput> inputs;
    };
    // The expression that made a node, and the macro it stands in.
    struct Origin
    {
        const NdlExpression* expression = nullptr;
        const Scope* scope = nullptr;
        bool isOpen = false; // a parameter with a dimension of 0
        NdlImageLayout imageLayout;
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
    ComputationNodePtr NodeOf(const Value& value) const; // null: not a node
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
    std::string HintForOtherThing(const Scope& scope, const NdlExpression& expression) const;
    std::string HintForNearName(const std::string& name, const std::vector<std::string>& locals, Wanted wanted) const;
    std::string HintWithNames(const std::string& name, std::vector<std::string> locals, Wanted wanted) const;
    bool IsGroup(const Symbol& symbol) const;
    std::string HintForCall(const Scope& scope, const std::string& name) const;
    std::string HintForPath(const Scope& scope, const std::string& path) const;
    std::vector<std::string> NamesIn(const Scope& scope, Wanted wanted) const;
    SourcePos DefinedBehind(const Scope& scope, const NdlExpression& name) const;

    // NdlExplain.cpp
    void NotePlaces();
    void WarnOfDelaySizes() const;
    void WarnOfRoles() const;
    void WarnOfTopK() const;
    void WarnOfLayouts() const;
    std::string LayoutMismatch(const ComputationNode& node) const;
    void CheckLoops() const;
    [[noreturn]] void FailLoop(std::vector<const ComputationNode*> loop) const;
    void ExplainInvalid(const Error& error, const ComputationNode& node,
                        const std::vector<ComputationNodePtr>& loop) const;
    std::string HintBelow(const ComputationNode& node) const;
    void AddPlaces(Error& error, const std::vector<const ComputationNode*>& nodes) const;
    void AddTrail(Error& error, const ComputationNode& node, std::set<const ComputationNode*>& told) const;
    std::string PlaceOf(const ComputationNode& node) const;
    static std::vector<std::string> CallersOf(const Scope& scope);
    static void AddCallers(Error& error, const Scope& scope);

    ComputationNetwork& m_network;
    NdlContext& m_context;
    uint64_t m_randomSeedOffset;
    std::deque<NdlScript> m_scripts;      // symbols and pending inputs point into them
    std::vector<NdlStatement> m_unread;   // beside macros, where only macros count
    std::vector<NdlStatement> m_sections; // of the file
    std::map<std::string, const NdlStatement*> m_macros;
    std::deque<Scope> m_scopes; // the first is the script's own
    std::vector<PendingNode> m_pending;
    std::vector<ComputationNodePtr> m_made;                         // in script order
    std::vector<std::pair<NodeGroup, ComputationNodePtr>> m_listed; // in node arrays; behind what is tagged
    std::unordered_map<const ComputationNode*, Origin> m_origins;
    std::vector<const NdlStatement*> m_expanding; // macros, outermost first
};

} // namespace cntk
