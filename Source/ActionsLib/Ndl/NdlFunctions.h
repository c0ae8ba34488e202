// The functions of NDL: every node type of the registry under its name and aliases, and functions with other argument
// orders (Constant, Input, Parameter, ImageInput, ...). Binds the arguments of calls to inputs and parameters.
#pragma once

#include "ActionsLib/Ndl/NdlParser.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct NdlFunction
{
    enum class Form
    {
        None,       // unknown function
        Inputs,     // node inputs, then the positional parameters of the node type
        NodeLast,   // positional parameters, then node inputs: PastValue(rows, cols, m)
        Dimensions, // dimensions of an input or a parameter
        Constant,   // value, rows, columns
        Image       // width, height, channels; ImageParameter has output dimensions before them
    };
    Form form = Form::None;
    const NodeType* type = nullptr;
};

NdlFunction FindNdlFunction(const NodeRegistry& registry, std::string_view name); // any case
// True for functions of all versions of the original CNTK. Scripts may use the names of later functions for their own
// variables and macros, because those names were free in earlier versions.
bool IsReservedInNdl(std::string_view name); // any case
std::vector<std::string> NdlFunctionNames(const NodeRegistry& registry);
// Selects if a signature shows the parameters that are given by name (in braces, after the others).
enum class NamedParameters
{
    LeftOut,
    Shown
};
// Returns the call of a function for help and errors: "Times(A, B, [outputRank])".
std::string NdlSignature(const NodeRegistry& registry, std::string_view name, NamedParameters byName);
std::string NdlSignature(const NdlFunction& function, std::string_view name, NamedParameters byName);
// Parameters that a function takes by name, except tag, which every function takes.
std::vector<NodeParameterInfo> NdlNamedParameters(const NdlFunction& function);

// A function whose arguments or effect differ from those of its node type.
struct NdlFormRecord
{
    std::string name;
    std::vector<std::string> aliases;
    std::string type; // node type that the function creates
    std::string doc;
    std::string bookSection;
    bool takesTypesArguments = false; // same inputs and positional parameters as the node type
};
std::vector<NdlFormRecord> NdlForms(const NodeRegistry& registry);

struct NdlBoundCall
{
    std::vector<const NdlExpression*> inputs;
    NodeParameters parameters; // by the names of the node type
    std::vector<const NdlArgument*> tags;
};

// How a call reads its arguments in the scope where it stands.
struct NdlBinding
{
    std::function<std::string(const NdlExpression&)> number; // text of a number or constant; fails for anything else
    std::function<std::string(const NdlExpression&)> word;   // text of a number, a constant, a quoted text or a word
    std::function<std::string(const NdlExpression&)> shape;  // like word; "3:4:5" for a list
    std::function<void(const SourcePos&, const std::string&)> warn;
};

// Sorts the arguments of a call into inputs and parameters. Fails (Config) with position for a wrong number of
// arguments and for malformed values.
NdlBoundCall BindNdlCall(const NdlFunction& function, const NdlExpression& call, const NdlBinding& binding);

} // namespace cntk
