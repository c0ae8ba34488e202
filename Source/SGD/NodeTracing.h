// Prints the values of nodes after each forward pass (traceNodeNames... of CNTK v1.1), so that users can look into a
// running network.
#pragma once

#include "Common/Config/Options.h"
#include "Common/ReaderInterface.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class Log;

// Names of nodes, and the place of the list for error messages.
struct TracedNames
{
    std::vector<std::string> names;
    SourcePos where;
};

template <>
struct OptionType<TracedNames>
{
    static std::string Name() { return OptionType<std::vector<std::string>>::Name(); }
    static TracedNames Read(const ConfigValue& value, const Range& range)
    {
        return {OptionType<std::vector<std::string>>::Read(value, range), value.Where()};
    }
    static std::string Print(const TracedNames& value)
    {
        return OptionType<std::vector<std::string>>::Print(value.names);
    }
};

// Base of the options of a block that has these parameters.
struct NodesToTrace
{
    TracedNames traceNodeNamesReal;
    TracedNames traceNodeNamesCategory;
    TracedNames traceNodeNamesSparse;
};

// Returns the table with the rows of the three parameters appended.
template <class S>
OptionTable<S> WithTraceOptions(OptionTable<S> table)
{
    const auto add = [&](const char* name, TracedNames NodesToTrace::*member, const char* doc)
    { table.push_back(Opt(name, static_cast<TracedNames S::*>(member), doc)); };
    add("traceNodeNamesReal", &NodesToTrace::traceNodeNamesReal,
        "nodes whose values the log shows after each minibatch's forward pass, a line a sample: all numbers");
    add("traceNodeNamesCategory", &NodesToTrace::traceNodeNamesCategory,
        "likewise: the row of the largest number and, where the reader has a label map for it, its label");
    add("traceNodeNamesSparse", &NodesToTrace::traceNodeNamesSparse,
        "likewise: row:value of the numbers that are not 0");
    return table;
}

class NodeTracer
{
public:
    // Fails (Config), with the place of the list, for a name that the network does not have.
    NodeTracer(const ComputationNetwork& network, const NodesToTrace& names, Log& log);

    // Returns each traced node once. An evaluator must keep their values.
    const std::vector<ComputationNodePtr>& Nodes() const { return m_nodes; }
    // Returns traced nodes that are not roots, then the roots: the roots for evaluator and source.
    std::vector<ComputationNodePtr> AddTo(const std::vector<ComputationNodePtr>& roots) const;

    // From now on categories are printed with their labels: for an input that is one of these streams, and for a node
    // with as many rows as exactly one stream has labels.
    void UseLabels(const std::vector<StreamInfo>& streams);
    // Call after a forward pass. of: for example "minibatch 3".
    void Print(const std::string& of);

private:
    enum class Form
    {
        Real,
        Category,
        Sparse
    };
    struct Traced
    {
        ComputationNodePtr node;
        Form form;
        std::vector<std::string> labels; // empty: none
    };

    void Add(const ComputationNetwork& network, const TracedNames& names, const char* key, Form form);
    void Fetch(const ComputationNode& node);
    void AppendSamples(std::string& text, const Traced& traced);
    void AppendSample(std::string& text, const Traced& traced, size_t column) const;

    std::vector<Traced> m_traced;
    std::vector<ComputationNodePtr> m_nodes;
    Log& m_log;
    // Values of the node that is printed, column after column.
    Matrix m_staging;
    std::vector<double> m_values;
    size_t m_rows = 0;
    size_t m_columns = 0;
};

} // namespace cntk
