// Builds the operators of an ONNX graph, and of the bodies of its Scan operators. A sample of [d1 x d2 x ...] is the
// tensor [..., d2, d1]: the same bytes. In front stand the dynamic axes: [N] for frames, [T, S] for sequences, [S] in
// the body of a Scan.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "Exchange/OnnxModel.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cntk
{

using OnnxDims = std::vector<int64_t>;

// A value of the graph. A static value has no dynamic axes: it is the same for all samples.
struct OnnxValue
{
    std::string name;
    OnnxDims dims; // of a sample, the last dimension of the network first
    bool isDynamic = false;
};

// Reversed dimensions. [d x 1] is a vector, [d]; higher ranks keep their ones.
OnnxDims OnnxDimsOf(const TensorShape& shape);
// Reversed dimensions of the shape padded with ones to a rank.
OnnxDims ReversedDims(const TensorShape& shape, size_t rank);
int64_t ElementsOf(const OnnxDims& dims);

// The axis of the tensor, counted from its end, for a dimension of the network counted from 1.
inline int64_t AxisOfDimension(size_t dimension)
{
    return -int64_t(dimension);
}

class OnnxBuilder
{
public:
    // dynamicAxes: 1 for frames, 2 for sequences. names: reserved for nodes.
    OnnxBuilder(DataType dataType, size_t dynamicAxes, const std::vector<std::string>& names);

    OnnxType Type() const { return m_dataType == DataType::Float32 ? OnnxType::Float : OnnxType::Double; }
    OnnxGraph& Main() { return m_main; }
    bool IsInBody() const { return m_body != nullptr; }
    size_t DynamicAxes() const { return IsInBody() ? 1 : m_dynamicAxes; }

    // Values made from now on have names "<node>/<number>".
    void SetNode(const std::string& name) { m_node = name; }
    std::string NewName();
    // Returns the name, or one like it if it is in use.
    std::string Reserve(const std::string& name);

    // ---- operators ----
    // Appends an operator to the current graph (to the main one if all its values are static) and returns its output.
    std::string Append(std::string_view type, std::vector<std::string> inputs, std::vector<OnnxAttribute> attributes,
                       bool isStatic = false);
    void Append(OnnxOperator op) { Current().operators.push_back(std::move(op)); }
    // An operator on values whose result has these sample dimensions.
    OnnxValue Apply(std::string_view type, const std::vector<OnnxValue>& inputs, OnnxDims dims,
                    std::vector<OnnxAttribute> attributes = {});
    // Combines two values element by element. The shorter sample gets ones in front, behind the dynamic axes.
    OnnxValue Combine(std::string_view type, const OnnxValue& a, const OnnxValue& b);
    // Where(condition, yes, no), broadcast like Combine.
    OnnxValue Select(const OnnxValue& condition, const OnnxValue& yes, const OnnxValue& no);
    // The same elements with other sample dimensions.
    OnnxValue Reshaped(const OnnxValue& value, const OnnxDims& dims);
    OnnxValue Flat(const OnnxValue& value) { return Reshaped(value, {ElementsOf(value.dims)}); }
    OnnxValue PaddedTo(const OnnxValue& value, size_t rank);
    // Exchanges or permutes sample axes, counted from the first sample axis.
    OnnxValue Transposed(const OnnxValue& value, const std::vector<size_t>& order);
    // Repeats dimensions of 1, and a static value over the dynamic axes of `like`.
    OnnxValue ExpandedTo(const OnnxValue& value, const OnnxDims& dims, const OnnxValue& like);
    OnnxValue SumOver(const OnnxValue& value, std::vector<int64_t> axes, OnnxDims dims, bool keepsAxes);

    // ---- shapes at run time: names of int64 vectors ----
    // The dynamic axes of a value.
    std::string DynamicShape(const OnnxValue& value);
    std::string JoinShapes(const std::vector<std::string>& parts);
    // Reshape to a shape known at run time only.
    OnnxValue ReshapedAs(const OnnxValue& value, const std::string& shape, OnnxDims dims, bool isDynamic);

    // ---- constants ----
    std::string Integers(const std::vector<int64_t>& values);
    std::string Integer(int64_t value); // a scalar
    OnnxValue Number(double value);     // a scalar of the network's type
    OnnxValue Array(OnnxDims dims, const std::vector<double>& values);
    OnnxValue NamedArray(const std::string& name, OnnxDims dims, const std::vector<double>& values);
    std::string FloatPair(float first, float second); // float whatever the network's type
    // An initializer under a name, with memory that lives as long as the model.
    OnnxValue Initializer(const std::string& name, OnnxDims dims, const MatrixView& values);

    // ---- bodies of Scan ----
    // Operators go into the body until EndBody.
    void BeginBody(OnnxGraph& body) { m_body = &body; }
    void EndBody() { m_body = nullptr; }
    OnnxGraph* BodyGraph() const { return m_body; } // null: in the main graph

    // Number of operators in the current graph, and renaming of a value that operators from `first` on made.
    size_t Mark() { return Current().operators.size(); }
    // Gives the value the name if one of the operators from `first` on made it. False: none did.
    bool Rename(size_t first, OnnxValue& value, const std::string& name);

private:
    OnnxGraph& Current() { return m_body != nullptr ? *m_body : m_main; }
    void AddTensor(const std::string& name, OnnxType type, OnnxDims dims, std::vector<std::byte> bytes);
    std::string AddConstant(OnnxType type, OnnxDims dims, std::vector<std::byte> bytes);

    DataType m_dataType;
    size_t m_dynamicAxes;
    OnnxGraph m_main;
    OnnxGraph* m_body = nullptr;
    std::string m_node;
    std::unordered_map<std::string, size_t> m_numbers; // last number for each node
    std::set<std::string> m_names;
    std::map<std::string, std::string> m_constants; // type, dims and bytes to name
};

} // namespace cntk
