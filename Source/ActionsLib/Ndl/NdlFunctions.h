// The functions of the language: every node type of the registry under its name and aliases, and the few whose
// arguments are not simply "inputs, then parameters" (Constant, Input, Parameter, ImageInput, ...).
#pragma once

#include "ActionsLib/Ndl/NdlSyntax.h"
#include "ComputationNetwork/NodeRegistry.h"

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
        Image // width, height, channels; the dimensions of a parameter's outputs before them
    };
    Form form = Form::None;
    const NodeType* type = nullptr;
};

// The order of the elements in which a call reads or makes images; an empty word: it does neither.
struct NdlImageLayout
{
    std::string word; // HWC, legacy, CHW, cudnn
    bool isDefault = false;
};

NdlFunction FindNdlFunction(const NodeRegistry& registry, std::string_view name); // any case
// Functions that every version of the original knows. Scripts may give the names of all others to variables and macros
// of their own: where they come from, those were free.
bool IsReservedInNdl(std::string_view name); // any case
std::vector<std::string> NdlFunctionNames(const NodeRegistry& registry);
// Parameters that are given by name, in a signature: in braces behind the others.
enum class NamedParameters
{
    LeftOut,
    Shown
};
// "Times(A, B, [outputRank])", as help and errors show a function.
std::string NdlSignature(const NodeRegistry& registry, std::string_view name, NamedParameters byName);
std::string NdlSignature(const NdlFunction& function, std::string_view name, NamedParameters byName);
// What a function takes by name, besides the tag that all take.
bool TakesByName(const NdlFunction& function, const NodeParameterInfo& parameter); // of the parameters of its type
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

} // namespace cntk
