// Syntax tree to network: variables, macros, forward references, tags and node arrays (book 4.1; spec config-ndl-mel.md
// 3.3 to 3.8). What the functions are, the node registry says.
#pragma once

#include "ActionsLib/Ndl/NdlFunctions.h"
#include "ActionsLib/Ndl/NdlSyntax.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// What goes on counting from one network of a program to the next, as in the original.
struct NdlContext
{
    uint64_t nextRandomSeed = 1; // one for each random parameter, in script order
    size_t nextUnnamed = 1;
    std::vector<std::string> warnings; // with positions; the caller logs them
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
    // Executes statements in order: nodes are made, but not yet connected.
    void Run(NdlScript script);
    // Connects the nodes: by now every name must be known.
    void Finish();

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
    };
    struct Scope
    {
        std::string prefix; // "L1."
        std::string macroName;
        std::map<std::string, Symbol> symbols;        // lower case
        std::map<std::string, std::string> overrides; // scalars given by name in the macro's call
        Value lastCall;
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

    void Execute(Scope& scope, const NdlStatement& statement);
    void DefineMacro(const NdlStatement& statement);
    void Define(Scope& scope, const NdlStatement& statement, Value value);
    void AddToGroups(Scope& scope, const NdlStatement& statement);
    Value Alias(Scope& scope, const NdlStatement& statement);
    Value Call(Scope& scope, const NdlExpression& call, const std::string& localName);
    Value ExpandMacro(Scope& scope, const NdlStatement& macro, const NdlExpression& call, const std::string& localName);
    Value MakeNode(Scope& scope, const NdlFunction& function, const NdlExpression& call, const std::string& localName);
    void ChooseSeed(NodeParameters& parameters);
    PendingInput InputOf(Scope& scope, const NdlExpression& expression);
    ComputationNodePtr MakeConstant(Scope& scope, const std::string& number);

    Value Resolve(const Scope& scope, const std::string& name, int depth = 0) const;
    Value ValueOf(const Symbol& symbol, int depth) const;
    ComputationNodePtr NodeOf(const Value& value) const; // null: not a node
    std::string NumberOf(const Scope& scope, const NdlExpression& expression) const;
    std::string WordOf(const Scope& scope, const NdlExpression& expression) const;
    void ApplyTag(Scope& scope, const ComputationNodePtr& node, const NdlArgument& tag);
    std::string NodeName(Scope& scope, const std::string& localName);
    [[noreturn]] void FailUnknown(const Scope& scope, const NdlExpression& name, std::string_view what) const;

    ComputationNetwork& m_network;
    NdlContext& m_context;
    uint64_t m_randomSeedOffset;
    std::deque<NdlScript> m_scripts; // symbols and pending inputs point into them
    std::map<std::string, const NdlStatement*> m_macros;
    std::deque<Scope> m_scopes; // the first is the script's own
    std::vector<PendingNode> m_pending;
    int m_depth = 0;
};

} // namespace cntk
