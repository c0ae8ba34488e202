// The functions of the language: every node type of the registry under its name and
// aliases, and the few whose arguments are not simply "inputs, then parameters" (Constant, Input, Parameter,
// ImageInput, ...).
#pragma once

#include "ActionsLib/Ndl/NdlSyntax.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct NdlFunction
{
    enum class Form
    {
        None,     // there is no such function
        Inputs,   // node inputs, then the positional parameters of the record
        NodeLast, // positional parameters, then node inputs: PastValue(rows, cols, m)
        Dimensions,
        Constant,
        Image // width, height, channels
    };
    Form form = Form::None;
    const NodeType* type = nullptr;
};

NdlFunction FindNdlFunction(const NodeRegistry& registry, std::string_view name); // any case
// Functions that every version of the original knows. Scripts may give the names of all others to variables and macros
// of their own: where they come from, those were free.
bool IsReservedInNdl(std::string_view name); // any case
std::vector<std::string> NdlFunctionNames(const NodeRegistry& registry);
// "Times(A, B, [outputRank])", as help and errors show a function. withNamed: the parameters that are given by name
// follow in braces.
std::string NdlSignature(const NodeRegistry& registry, std::string_view name, bool withNamed);
// What a function takes by name, besides the tag that all take.
std::vector<NodeParameterInfo> NdlNamedParameters(const NdlFunction& function);

// A function that is more than another name of a node type, or takes other arguments.
struct NdlFormRecord
{
    std::string name;
    std::vector<std::string> aliases;
    std::string type; // of the node that it makes
    std::string doc;
    std::string bookSection;
    bool takesTypesArguments = false; // inputs and positional parameters as the type's record has them
};
std::vector<NdlFormRecord> NdlForms(const NodeRegistry& registry);

struct NdlBoundCall
{
    std::vector<const NdlExpression*> inputs;
    NodeParameters parameters;               // by the names of the record
    std::map<std::string, SourcePos> places; // of the values of parameters, by their names in lower case
    std::vector<const NdlArgument*> tags;
};

struct NdlBinding
{
    // The text of a number (literal or constant); fails where the expression is none.
    std::function<std::string(const NdlExpression&)> number;
    // The text of a number, a constant, a quoted text or a word.
    std::function<std::string(const NdlExpression&)> word;
    // As word; of a list "3:4:5".
    std::function<std::string(const NdlExpression&)> shape;
    std::function<void(const SourcePos&, const std::string&)> warn;
};

// Sorts the arguments of a call into inputs and parameters. Fails (Config) with position for a wrong number of
// arguments.
NdlBoundCall BindNdlCall(const NdlFunction& function, const NdlExpression& call, const NdlBinding& binding);

} // namespace cntk
