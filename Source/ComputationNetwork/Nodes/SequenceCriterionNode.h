// SequenceWithSoftmax, the criterion of sequence training over lattices (nodes sheet 15), and the sums over a lattice.
// The node also takes the lattices of a minibatch's sequences and settings from SGD.
#pragma once

#include "Common/Lattice.h"
#include "ComputationNetwork/Nodes/CriterionNode.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// Settings of SGD: hSmoothingWeight, frameDropThresh and seqGamma*.
struct SequenceTrainingSettings
{
    double smoothing = 0.95;           // weight of the lattice against the frame's own softmax
    double frameDropThreshold = 1e-10; // drops frames whose reference is less probable in the lattice (MMI)
    bool usesMbr = false;              // minimum Bayes risk of states instead of mutual information
    double acousticFactor = 14;        // divides scores and word penalties, not the boost
    double languageFactor = 14;        // language model scores are multiplied by it
    double boost = 0;                  // each frame that agrees with the reference weighs a path by exp(-boost)
    double wordPenalty = 0;            // added for each word
};

// The log likelihoods of an utterance within a column-major matrix [states x columns].
template <class ElemType>
struct FrameScores
{
    const ElemType* values = nullptr;
    size_t rows = 0;        // states
    size_t firstColumn = 0; // column of frame 0
    size_t stride = 1;      // columns from one frame to the next

    double At(size_t frame, size_t state) const
    {
        return double(values[(firstColumn + frame * stride) * rows + state]);
    }
};

class LatticeSums
{
public:
    struct StatePosterior
    {
        uint32_t state = 0;
        double value = 0;
    };

    // Sums over the paths of the lattice. A path weighs exp(its score), and an arc's score is
    //   (sum of log likelihoods + languageFactor * language score + wordPenalty) / acousticFactor
    //   - boost * (frames that agree with the reference).
    // reference: the state of each frame. States of both must be rows of the scores.
    template <class ElemType>
    void Compute(const Lattice& lattice, const FrameScores<ElemType>& scores, std::span<const uint32_t> reference,
                 const SequenceTrainingSettings& settings);

    // Computes Posteriors and Posterior. Call after Compute with the same lattice. states: rows of the scores.
    void ComputePosteriors(const Lattice& lattice, size_t states, bool usesMbr);

    // Logarithm of the summed weights of all paths. NaN or infinite if no path is possible.
    double LogTotal() const { return m_logTotal; }
    // Expected number of frames that agree with the reference, over all paths.
    double ExpectedAccuracy() const { return m_accuracy; }
    // The reference's log likelihoods / acousticFactor.
    double ReferenceScore() const { return m_referenceScore; }

    // Returns the states of a frame in ascending order, each once, with the probability that a path is in it. With
    // usesMbr, the probability is multiplied by the excess of correct frames of such paths over the average. This is
    // acousticFactor times the derivative of LogTotal, or of ExpectedAccuracy, with respect to the log likelihood.
    std::span<const StatePosterior> Posteriors(size_t frame) const
    {
        return {m_posteriors.data() + m_frameStarts[frame], m_frameStarts[frame + 1] - m_frameStarts[frame]};
    }
    double Posterior(size_t frame, uint32_t state) const; // 0: no path is in the state

private:
    template <class ElemType>
    void ScoreArcs(const Lattice& lattice, const FrameScores<ElemType>& scores, std::span<const uint32_t> reference,
                   const SequenceTrainingSettings& settings);
    void SumPaths(const Lattice& lattice);
    void SumAccuracies(const Lattice& lattice);
    void TakeStates();

    double m_logTotal = 0;
    double m_accuracy = 0;
    double m_referenceScore = 0;
    // Indexed by arc.
    std::vector<double> m_scores;
    std::vector<double> m_right; // frames that agree with the reference
    // Indexed by node: the log weight of the paths from the first node to it, and from it to the last one, and the
    // average number of correct frames on them.
    std::vector<double> m_forward, m_backward, m_forwardRight, m_backwardRight;
    std::vector<size_t> m_frameStarts; // indices into m_posteriors
    std::vector<StatePosterior> m_posteriors;
    std::vector<StatePosterior> m_unsorted;
    std::vector<double> m_ofState;   // sums per state for one frame
    std::vector<uint64_t> m_isThere; // a bit for each state of the frame
};

// Inputs: labels (one-hot: the reference), z, log likelihoods of the states (usually z minus the logarithm of the
// prior).
class SequenceCriterionNode final : public Criterion, public StepState
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
