// Arguments of a call -> inputs and parameters of a node type.
#pragma once

#include "ActionsLib/Ndl/NdlFunctions.h"
#include "ActionsLib/Ndl/NdlSyntax.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cntk
{

struct NdlBoundCall
{
    std::vector<const NdlExpression*> inputs;
    NodeParameters parameters;               // by the names of the record
    std::map<std::string, SourcePos> places; // of the values of parameters, by their names in lower case
    NdlImageLayout imageLayout;
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
