// SequenceWithSoftmax: the criterion of sequence training over lattices (nodes sheet 15). Besides its inputs it takes
// the lattices of a minibatch's sequences, and the settings from SGD.
#pragma once

#include "ComputationNetwork/Nodes/CriterionNode.h"
#include "ComputationNetwork/Nodes/LatticeSums.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// Inputs: labels (one-hot: the reference), z, log likelihoods of the states (usually z minus the logarithm of the
// prior).
class SequenceCriterionNode final : public Criterion
{
public:
    void SetSettings(const SequenceTrainingSettings& settings) { m_settings = settings; }
    // Sets the lattices by sequence id. Call before each minibatch.
    void SetLattices(const std::vector<LatticePtr>& lattices) { m_lattices = lattices; }

    void InferShape(ShapeInference& inference) override;
    std::vector<TemporarySpec> Temporaries() const override;
    void BeginForwardProp() override { ++m_minibatches; }
    // The backward pass reads m_target, which differs in each minibatch: no device may repeat the work of an earlier
    // one.
    void AppendStepKey(std::vector<uint64_t>& key) const override { key.push_back(m_minibatches); }
    void ForwardProp(const FrameRange& range) override;
    void BackpropTo(size_t input, const FrameRange& range) override;
    std::string UnsuitableData() const override;

private:
    void ReadReference();
    template <class ElemType>
    double SumSequences();
    const Lattice& LatticeOf(const SequenceInfo& sequence) const;
    template <class ElemType>
    void TakePosteriors(const SequenceInfo& sequence, const FrameScores<ElemType>& scores);
    template <class ElemType>
    void MakeTarget();

    SequenceTrainingSettings m_settings;
    std::vector<LatticePtr> m_lattices;
    std::vector<uint32_t> m_reference; // by column; undefined in gaps
    uint64_t m_minibatches = 0;

    LatticeSums m_sums;
    std::vector<uint32_t> m_sequenceReference;
    std::vector<uint8_t> m_columnMask; // 0: a gap, or a dropped frame
    // The posteriors, by column, that are subtracted from the softmax in the gradient of z.
    std::vector<std::vector<LatticeSums::StatePosterior>> m_targets;
    SparseMatrix m_target;
};

} // namespace cntk
