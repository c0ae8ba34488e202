// Adaptation with KL regularization (book 3.3.1.4): the labels of a minibatch are mixed with the outputs of a reference
// network, so that the adapted network stays near it.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "SGD/Minibatches/NetworkBinder.h"
#include "SGD/TrainingOptions.h"

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace cntk
{

// Whether a training mixes its labels, which takes a reference network.
bool AdaptsByKL(const SgdOptions& options);

// The node of that name; fails (Config) with near names if there is none.
ComputationNodePtr RequireReferenceNode(const ComputationNetwork& reference, const std::string& name);

class LabelMixer
{
public:
    // label = weight * output of the reference's node + (1 - weight) * label, for the trained network's first label
    // node. Fails (Config) when the node or the labels are missing, or their dimensions differ.
    LabelMixer(std::unique_ptr<ComputationNetwork> reference, const std::string& node,
               const ComputationNetwork& trained, const std::vector<StreamInfo>& streams, double weight);

    // The inputs of the reference.
    std::vector<std::string> Wanted() const { return m_binder.Wanted(); }
    void BeginPass() { m_binder.BeginPass(); }
    // Evaluates the reference and puts the mixed labels into the minibatch in place of the reader's, which Unmix gives
    // back.
    template <class ElemType>
    void Mix(HostMinibatch<ElemType>& minibatch);
    template <class ElemType>
    void Unmix(HostMinibatch<ElemType>& minibatch);

private:
    template <class ElemType>
    void FillLabels(const StreamBatch<ElemType>& labels, StreamBatch<ElemType>& mixed) const;

    std::unique_ptr<ComputationNetwork> m_reference;
    ComputationNodePtr m_node;
    size_t m_labelStream;
    double m_weight;
    Evaluator m_evaluator;
    NetworkBinder m_binder;
    Matrix m_outputs;
    std::vector<std::byte> m_hostOutputs;
    // While mixed: what the reader delivered; else the mixed labels of before.
    std::tuple<StreamBatch<float>, StreamBatch<double>> m_other;
    bool m_isMixed = false;
};

} // namespace cntk
