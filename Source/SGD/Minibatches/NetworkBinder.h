// Copies a reader's minibatches into the input nodes and layouts of a network. Streams are matched with input nodes
// once, so that a minibatch costs one copy per input and no look-up.
#pragma once

#include "Common/ReaderInterface.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/SequenceCriterionNode.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// A probable mistake that does not prevent the computation.
struct NodeWarning
{
    std::string text;
    ComputationNodePtr node;
};

// Gives target the sequences of source. Changes and allocates nothing if they are equal.
void AssignLayout(MBLayout& target, const MBLayout& source);

class NetworkBinder
{
public:
    // Binds the input nodes below the roots to the streams of the same names (case-insensitive). Fails (Config) if an
    // input has no stream or if their dimensions differ.
    NetworkBinder(const std::vector<ComputationNodePtr>& roots, const std::vector<StreamInfo>& streams);

    bool TakesLattices() const { return !m_latticeNodes.empty(); }
    // Fails (Config) if the network takes lattices.
    void RequireNoLattices() const;
    bool HasSeveralAxes() const { return m_axes.size() > 1; }
    const std::vector<NodeWarning>& Warnings() const { return m_warnings; }
    // The names of the bound input nodes, for EpochRequest::wanted.
    std::vector<std::string> Wanted() const;

    // At the beginning of a pass over the data: clears recurrent state.
    void BeginPass();

    // Fills the input nodes and the network's layouts. Allocates only if a minibatch is larger than all before.
    template <class ElemType>
    void Bind(const HostMinibatch<ElemType>& minibatch);

    // Columns (with gaps) and samples (without gaps) of the last bound minibatch. If its inputs have several axes:
    // the largest number of columns, and the samples of the default axis or else the largest number of samples. Hence
    // a criterion of whole sequences, whose labels have the default axis, is an average over sequences.
    size_t Columns() const { return m_columns; }
    size_t Samples() const { return m_samples; }
    // Returns Samples() for a minibatch that is not bound.
    template <class ElemType>
    size_t SamplesOf(const HostMinibatch<ElemType>& minibatch) const;

private:
    struct Binding
    {
        std::shared_ptr<InputValueNode> node;
        size_t stream;
        size_t axis;
    };
    // Inputs of one dynamic axis share a layout.
    struct Axis
    {
        MBLayoutPtr layout;
        size_t firstStream;
        bool isDefault;
    };

    template <class ElemType>
    void BindLayout(const Axis& axis, const HostMinibatch<ElemType>& minibatch);
    void CheckOrder(const std::shared_ptr<InputValueNode>& node, const StreamInfo& stream);
    void CheckWordClasses(const ComputationNode& criterion);
    void RequireNoWordClasses(const ComputationNode& criterion) const;

    std::vector<Binding> m_bindings;
    std::vector<std::shared_ptr<SequenceCriterionNode>> m_latticeNodes;
    std::vector<Axis> m_axes;
    std::vector<StreamInfo> m_streams; // without label names
    std::vector<NodeWarning> m_warnings;
    size_t m_columns = 0;
    size_t m_samples = 0;
};

// For evaluation: sets the dimension of labels to 1 if the stream has one row (mode=softmax of LMSequenceReader) and
// only criteria with noise words read them. These criteria then evaluate the word alone. Validates the network again.
void TakeSingleWords(ComputationNetwork& network, const std::vector<StreamInfo>& streams);

} // namespace cntk
