// Sparse operands: the support declared by the records, and the error message for a sparse operand in a wrong place.
#include "ComputationNetwork/SparseSupport.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Lists types with sparse inputs: "CrossEntropy (labels), SquareError (a or b)". Selects the criteria, or all other
// types.
std::string TypesWithSparseInputs(bool criteria)
{
    std::vector<std::string> types;
    for (const NodeType& type : NodeRegistry::Standard().Types())
        if (type.traits.isCriterion == criteria && !SparseInputs(type).empty())
            types.push_back(Concat(type.name, " (", SparseInputNames(type), ")"));
    std::sort(types.begin(), types.end(), LessIgnoreCase);
    return Join(types, ", ");
}

} // namespace

std::string InputName(const NodeType& type, size_t input)
{
    return type.inputNames.empty() ? Concat("input", input + 1)
                                   : type.inputNames[std::min(input, type.inputNames.size() - 1)];
}

std::vector<size_t> SparseInputs(const NodeType& type)
{
    std::vector<size_t> inputs;
    for (const GradientSample& sample : type.samples)
        for (size_t i = 0; i < sample.inputs.size(); ++i)
            if (sample.inputs[i].sparse && std::find(inputs.begin(), inputs.end(), i) == inputs.end())
                inputs.push_back(i);
    std::sort(inputs.begin(), inputs.end());
    return inputs;
}

std::string SparseInputNames(const NodeType& type, std::string_view separator)
{
    std::vector<std::string> names;
    for (const size_t input : SparseInputs(type))
        names.push_back(InputName(type, input));
    return Join(names, separator);
}

void FailSparseInput(const ComputationNode& node, size_t input, std::string_view condition)
{
    const NodeType& type = node.Type();
    const std::string name = InputName(type, input);
    const std::vector<size_t> sparse = SparseInputs(type);
    constexpr std::string_view makeDense = "make it dense: InputValue in place of SparseInputValue";
    const std::string head = Concat("input '", node.Input(input)->Name(), "' is sparse, but ", type.name);
    if (std::find(sparse.begin(), sparse.end(), input) != sparse.end())
        Fail(ErrorKind::Model, head, " takes sparse values as ", name, " ", condition, "; ", makeDense);
    Fail(ErrorKind::Model, head, " takes dense values as ", name,
         sparse.empty() ? "" : Concat("; only ", SparseInputNames(type), " may be sparse"), "; sparse values go into ",
         type.traits.isCriterion ? "the criteria " : "", TypesWithSparseInputs(type.traits.isCriterion), "; or ",
         makeDense);
}

} // namespace cntk
