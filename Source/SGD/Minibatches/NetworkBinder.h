// Brings a reader's minibatch into a network: which stream feeds which input node, and what layout the minibatch has.
// Training, evaluation and writing all bind through it.
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

// Something about a node that can be computed, but is hardly meant.
struct NodeWarning
{
    std::string text;
    ComputationNodePtr node;
};

class NetworkBinder
{
public:
    // Binds the input nodes below the roots to the streams of the same names (any case). Fails (Config) when an input
    // has no stream, naming both sides, and when their dimensions differ, with both numbers and where they come from.
    NetworkBinder(const std::vector<ComputationNodePtr>& roots, const std::vector<StreamInfo>& streams);

    bool TakesLattices() const { return !m_latticeNodes.empty(); }
    // Fails (Config) where it does, for a reader that has none.
    void RequireNoLattices() const;
    bool HasSeveralAxes() const { return m_axes.size() > 1; }
    // Differences between the network and the streams that do not prevent the computation.
    const std::vector<NodeWarning>& Warnings() const { return m_warnings; }
    // The bound input nodes, as the network spells them: EpochRequest::wanted.
    std::vector<std::string> Wanted() const;

    // A pass over the data begins: nothing is carried over from what the network saw before.
    void BeginPass();

    // Fills the input nodes and the network's layouts. Allocates only when a minibatch is larger than all before.
    template <class ElemType>
    void Bind(const HostMinibatch<ElemType>& minibatch);

    // Of the minibatch bound last, where its inputs have several axes: the most columns, gaps included, and the samples
    // (no gaps) of the default axis, or else the most. So a criterion of whole sequences, whose labels have the default
    // axis, is an average over sequences.
    size_t Columns() const { return m_columns; }
    size_t Samples() const { return m_samples; }
    // Samples() of a minibatch that is not bound.
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
    std::vector<StreamInfo> m_streams; // without the labels' names
    std::vector<NodeWarning> m_warnings;
    size_t m_columns = 0;
    size_t m_samples = 0;
};

// Gives target the sequences of source; nothing changes (and nothing is allocated) when it has them already.
void AssignLayout(MBLayout& target, const MBLayout& source);

// For evaluation: criteria of words and noise then take the word alone, which is what mode=softmax of LMSequenceReader
// and any other stream of one row is to them. Labels that nothing else uses get the one row of the reader's stream, and
// the network is validated anew.
void TakeSingleWords(ComputationNetwork& network, const std::vector<StreamInfo>& streams);

} // namespace cntk
