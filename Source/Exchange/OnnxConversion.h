// The state of one export to ONNX, as the rows of the node types see it: values of nodes, words, masks of sequences.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/ModelArchive.h"
#include "Exchange/OnnxBuilder.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cntk
{

class DelayNode;

struct OnnxExportOptions
{
    std::vector<ComputationNodePtr> outputs;
    std::vector<ComputationNodePtr> wordInputs; // inputs that become word numbers
    bool stateInputs = false;                   // recurrent state as inputs and outputs
    size_t fixedBatch = 0;                      // N (or S) as a number; 0: as a name
};

// An input of word numbers: int64, [..] or, with several words a sample, [.., count].
struct OnnxWords
{
    std::string name;
    size_t count = 1;
    size_t vocabulary = 0;
};

class OnnxConversion
{
public:
    // Values of the nodes in the body. Values from outside with time are scanned: `scan` returns the body's name.
    struct Body
    {
        std::unordered_map<const ComputationNode*, OnnxValue> values;
        std::function<OnnxValue(const OnnxValue& outside)> scan;
    };

    // isSequential: the dynamic axes are [T, S], else [N].
    OnnxConversion(const OnnxExportOptions& options, DataType dataType, bool isSequential,
                   const std::vector<std::string>& names);

    OnnxBuilder& Builder() { return m_builder; }
    const OnnxExportOptions& Options() const { return m_options; }
    bool IsSequential() const { return m_isSequential; }

    // ---- values ----
    // The value of input `index` in the current graph: of the body's own nodes, scanned, or captured from outside.
    OnnxValue Input(const ComputationNode& node, size_t index) { return ValueOf(*node.Input(index)); }
    OnnxValue ValueOf(const ComputationNode& node);
    bool IsStatic(const ComputationNode& node) const { return m_static.contains(&node); }
    // Values of a static node in the network's order (first dimension fastest).
    std::vector<double> StaticValues(const ComputationNode& node) const;
    // The words of an input node that is exported as word numbers.
    std::optional<OnnxWords> WordsOf(const ComputationNode& node) const;

    // ---- sequences; main graph only, but for Scanned ----
    // The name of an int64 vector with the number of parallel sequences of the value.
    std::string Sequences(const OnnxValue& like);
    // The input sequenceLengths, int64 [S], divided for layouts with fewer steps.
    std::string Lengths(const MBLayoutPtr& layout);
    // True at steps inside of their sequence, [T, S] of booleans without sample dimensions.
    OnnxValue Mask(const MBLayoutPtr& layout, const OnnxValue& like);
    // Declares that the layout has multiply / divide times the steps of another one.
    void DeriveLayout(const MBLayoutPtr& layout, const MBLayoutPtr& source, size_t multiply, size_t divide);

    // ---- graph inputs and outputs ----
    void AddInput(const std::string& name, OnnxType type, std::vector<OnnxDim> dims);
    void AddOutput(const std::string& name, OnnxType type, std::vector<OnnxDim> dims);
    OnnxDim BatchDim() const; // N or S
    std::vector<OnnxDim> DimsOf(const OnnxValue& value, const MBLayoutPtr& layout) const;

    // Runs work with the main graph as the current one, also within the body of a Scan: its operators come before it.
    template <class Work>
    auto InMainGraph(Work&& work)
    {
        struct Restore
        {
            OnnxConversion& conversion;
            OnnxGraph* graph;
            OnnxConversion::Body* values;
            ~Restore()
            {
                if (graph != nullptr)
                    conversion.BeginBody(*graph, *values);
            }
        };
        const Restore restore{*this, m_builder.BodyGraph(), m_body};
        EndBody();
        return work();
    }

    // ---- filled by the export ----
    void SetStatic(const ComputationNode& node, std::vector<double> values); // computed ahead of time
    void SetStatic(const ComputationNode& leaf);                             // parameters and statistics
    // Later layouts get names of their own for their steps and lengths, after the dynamic axis.
    void NameLayout(const MBLayoutPtr& layout, const std::string& dynamicAxis);
    void SetWords(const ComputationNode& input, size_t count, size_t vocabulary);
    void SetValue(const ComputationNode& node, OnnxValue value) { m_values[&node] = std::move(value); }

    // ---- bodies of Scan ----
    void BeginBody(OnnxGraph& graph, Body& body)
    {
        m_builder.BeginBody(graph);
        m_body = &body;
    }
    void EndBody()
    {
        m_builder.EndBody();
        m_body = nullptr;
    }

private:
    OnnxValue StaticValueOf(const ComputationNode& node);
    OnnxValue OneHot(const ComputationNode& input, const OnnxWords& words);

    OnnxExportOptions m_options;
    DataType m_dataType;
    bool m_isSequential;
    OnnxBuilder m_builder;
    std::unordered_map<const ComputationNode*, std::optional<std::vector<double>>> m_static;
    std::unordered_map<const ComputationNode*, OnnxValue> m_values;
    std::unordered_map<const ComputationNode*, OnnxWords> m_words;
    struct Derived
    {
        MBLayoutPtr source;
        size_t multiply = 1;
        size_t divide = 1;
    };
    std::map<MBLayoutPtr, Derived> m_derived;
    std::map<MBLayoutPtr, std::string> m_layoutEndings; // of names: "" for the first one
    std::map<MBLayoutPtr, std::string> m_lengths;
    std::map<MBLayoutPtr, OnnxValue> m_masks;
    std::string m_sequences;
    Body* m_body = nullptr;
};

// "'name' is a Type, which <why>; <what to do>"
std::string RefusalText(const ComputationNode& node, std::string_view why, std::string_view advice);
// Fails (Model) with this text.
[[noreturn]] void RefuseOnnx(const ComputationNode& node, std::string_view why, std::string_view advice);

// Reads the fields of a node as a model file of version 8 stores them.
void ReadFields(const ComputationNode& node, const std::function<void(ModelArchive&)>& read);

// ---- the table of node types ----

struct OnnxRow;
using OnnxMapping = OnnxValue (*)(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow& row);

struct OnnxRow
{
    std::string_view type;         // of the network
    std::string_view form;         // operators, or why the type is refused, for the reference page
    OnnxMapping convert = nullptr; // null: a leaf, or refused
    std::string_view op = {};      // for mappings that serve several types
    int exportInstead = -1;        // of a refused type: the input to export
    bool isRefused = false;
};

// Rows by family: OnnxElementwiseRows.cpp, OnnxProductRows.cpp, OnnxShapeRows.cpp, OnnxImageRows.cpp, OnnxTimeRows.cpp,
// OnnxRefusedRows.cpp.
std::span<const OnnxRow> OnnxElementwiseRows();
std::span<const OnnxRow> OnnxProductRows();
std::span<const OnnxRow> OnnxShapeRows();
std::span<const OnnxRow> OnnxImageRows();
std::span<const OnnxRow> OnnxTimeRows();
std::span<const OnnxRow> OnnxRefusedRows();

// Null for a type without a row.
const OnnxRow* FindOnnxRow(std::string_view type);

// The refusal of a node whose type has no row, or a refused one.
std::string RefusalOf(const ComputationNode& node);

// Exports a loop as a Scan, and sets the values of its nodes. isNeeded: nodes whose values are used outside.
void ConvertLoop(OnnxConversion& conversion, const std::vector<ComputationNodePtr>& loop,
                 const std::function<bool(const ComputationNode&)>& isNeeded);
// Exports a node by its row, under the node's name, and sets its value. Fails (Model) if it has no counterpart.
OnnxValue ConvertNode(OnnxConversion& conversion, const ComputationNode& node);

} // namespace cntk
