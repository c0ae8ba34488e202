// Sums over all paths of a lattice for sequence training (nodes sheet, SequenceWithSoftmax), forward and backward, with
// log likelihoods that the network computes.
#pragma once

#include "Common/Lattice.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
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

} // namespace cntk
