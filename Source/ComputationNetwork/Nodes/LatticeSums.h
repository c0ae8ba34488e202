// What sequence training asks of a lattice (nodes sheet, SequenceWithSoftmax): sums over all its paths, forward and
// backward, with log likelihoods that the network computes.
#pragma once

#include "Common/Lattice.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cntk
{

// SGD's hSmoothingWeight, frameDropThresh and seqGamma*.
struct SequenceTrainingSettings
{
    double smoothing = 0.95;           // weight of the lattice, beside the frame's own softmax
    double frameDropThreshold = 1e-10; // frames whose reference is less probable in the lattice are left out (MMI)
    bool usesMbr = false;              // minimum Bayes risk of states instead of mutual information
    double acousticFactor = 14;        // of all that follows: scores are divided by it
    double languageFactor = 14;        // language model scores are multiplied by it
    double boost = 0;                  // paths are worth exp(-boost) for each frame that agrees with the reference
    double wordPenalty = 0;            // added for each word
};

// The log likelihoods of an utterance within a column-major matrix [states x columns].
template <class ElemType>
struct FrameScores
{
    const ElemType* values = nullptr;
    size_t rows = 0;        // states
    size_t firstColumn = 0; // of frame 0
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

    // Sums over the paths of the lattice; a path is worth exp(its score), an arc's score is
    //   (sum of log likelihoods + languageFactor * language score + wordPenalty) / acousticFactor - boost * (frames of
    //   the reference).
    // reference: the state of each frame. States of both must be rows of the scores.
    template <class ElemType>
    void Compute(const Lattice& lattice, const FrameScores<ElemType>& scores, std::span<const uint32_t> reference,
                 const SequenceTrainingSettings& settings);

    // After Compute with the same lattice: what Posteriors and Posterior tell. states: rows of the scores.
    void ComputePosteriors(const Lattice& lattice, size_t states, bool usesMbr);

    // Of all paths: the logarithm of what they are worth. Not finite where no path is possible.
    double LogTotal() const { return m_logTotal; }
    // The frames that agree with the reference, on the average over paths.
    double ExpectedAccuracy() const { return m_accuracy; }
    // The reference's log likelihoods / acousticFactor.
    double ReferenceScore() const { return m_referenceScore; }

    // States of a frame in ascending order, each once: the probability that a path is there; with usesMbr, times how
    // many more frames such paths have right than the average (acousticFactor times the derivative of LogTotal, or of
    // ExpectedAccuracy, with respect to the log likelihood).
    std::span<const StatePosterior> Posteriors(size_t frame) const
    {
        return {m_posteriors.data() + m_frameStarts[frame], m_frameStarts[frame + 1] - m_frameStarts[frame]};
    }
    double Posterior(size_t frame, uint32_t state) const; // 0: no path is there

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
    // By arc.
    std::vector<double> m_scores;
    std::vector<double> m_right; // frames that agree with the reference
    // By node: of the paths from the first node to it, and from it to the last one, the logarithm of what they are
    // worth, and the frames that they have right on the average.
    std::vector<double> m_forward, m_backward, m_forwardRight, m_backwardRight;
    std::vector<size_t> m_frameStarts; // in m_posteriors
    std::vector<StatePosterior> m_posteriors;
    std::vector<StatePosterior> m_unsorted;
    std::vector<double> m_ofState;   // of a frame
    std::vector<uint64_t> m_isThere; // a bit for each state
};

} // namespace cntk
