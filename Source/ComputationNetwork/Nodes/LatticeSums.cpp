// Runs forward and backward over the nodes of a lattice, which are in topological order.
#include "ComputationNetwork/Nodes/LatticeSums.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace cntk
{

namespace
{

constexpr double c_impossible = -std::numeric_limits<double>::infinity();

double AddLogarithms(double a, double b)
{
    if (a < b)
        std::swap(a, b);
    return b == c_impossible ? a : a + std::log1p(std::exp(b - a));
}

// Calls body(frame, state) for each frame of the arc.
template <class Body>
void ForEachFrame(const Lattice& lattice, size_t arc, Body&& body)
{
    uint32_t frame = lattice.nodeFrames[lattice.arcs[arc].from];
    for (uint32_t i = lattice.arcs[arc].firstSegment; i < lattice.EndOfSegments(arc); ++i)
        for (; frame < lattice.segments[i].end; ++frame)
            body(frame, lattice.segments[i].state);
}

} // namespace

template <class ElemType>
void LatticeSums::Compute(const Lattice& lattice, const FrameScores<ElemType>& scores,
                          std::span<const uint32_t> reference, const SequenceTrainingSettings& settings)
{
    m_referenceScore = 0;
    for (size_t frame = 0; frame < reference.size(); ++frame)
        m_referenceScore += scores.At(frame, reference[frame]);
    m_referenceScore /= settings.acousticFactor;
    ScoreArcs(lattice, scores, reference, settings);
    SumPaths(lattice);
    SumAccuracies(lattice);
}

template <class ElemType>
void LatticeSums::ScoreArcs(const Lattice& lattice, const FrameScores<ElemType>& scores,
                            std::span<const uint32_t> reference, const SequenceTrainingSettings& settings)
{
    m_scores.resize(lattice.arcs.size());
    m_right.resize(lattice.arcs.size());
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const LatticeArc& arc = lattice.arcs[i];
        double score = settings.languageFactor * arc.languageScore + (arc.isWord ? settings.wordPenalty : 0);
        size_t right = 0;
        ForEachFrame(lattice, i,
                     [&](uint32_t frame, uint32_t state)
                     {
                         score += scores.At(frame, state);
                         right += reference[frame] == state ? 1 : 0;
                     });
        m_right[i] = double(right);
        m_scores[i] = score / settings.acousticFactor - settings.boost * double(right);
    }
}

void LatticeSums::SumPaths(const Lattice& lattice)
{
    const size_t nodes = lattice.nodeFrames.size();
    m_forward.assign(nodes, c_impossible);
    m_backward.assign(nodes, c_impossible);
    m_forward.front() = 0;
    m_backward.back() = 0;
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const LatticeArc& arc = lattice.arcs[i];
        m_forward[arc.to] = AddLogarithms(m_forward[arc.to], m_forward[arc.from] + m_scores[i]);
    }
    for (size_t i = lattice.arcs.size(); i-- > 0;)
    {
        const LatticeArc& arc = lattice.arcs[i];
        m_backward[arc.from] = AddLogarithms(m_backward[arc.from], m_backward[arc.to] + m_scores[i]);
    }
    m_logTotal = m_forward.back();
}

void LatticeSums::SumAccuracies(const Lattice& lattice)
{
    const size_t nodes = lattice.nodeFrames.size();
    m_forwardRight.assign(nodes, 0);
    m_backwardRight.assign(nodes, 0);
    const auto share = [](double part, double whole) { return whole == c_impossible ? 0 : std::exp(part - whole); };
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const LatticeArc& arc = lattice.arcs[i];
        m_forwardRight[arc.to] +=
            share(m_forward[arc.from] + m_scores[i], m_forward[arc.to]) * (m_forwardRight[arc.from] + m_right[i]);
    }
    for (size_t i = lattice.arcs.size(); i-- > 0;)
    {
        const LatticeArc& arc = lattice.arcs[i];
        m_backwardRight[arc.from] +=
            share(m_backward[arc.to] + m_scores[i], m_backward[arc.from]) * (m_backwardRight[arc.to] + m_right[i]);
    }
    m_accuracy = m_forwardRight.back();
}

// Collects the entries of each frame in the order of arcs, then merges them so that each state of a frame occurs once.
void LatticeSums::ComputePosteriors(const Lattice& lattice, size_t states, bool usesMbr)
{
    std::vector<size_t>& ends = m_frameStarts;
    ends.assign(lattice.frames + 1, 0);
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
        ForEachFrame(lattice, i, [&](uint32_t frame, uint32_t) { ++ends[frame + 1]; });
    for (size_t frame = 0; frame < lattice.frames; ++frame)
        ends[frame + 1] += ends[frame];
    m_unsorted.resize(ends.back());
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const LatticeArc& arc = lattice.arcs[i];
        double value = std::exp(m_forward[arc.from] + m_scores[i] + m_backward[arc.to] - m_logTotal);
        if (usesMbr)
            value *= m_forwardRight[arc.from] + m_right[i] + m_backwardRight[arc.to] - m_accuracy;
        ForEachFrame(lattice, i, [&](uint32_t frame, uint32_t state) { m_unsorted[ends[frame]++] = {state, value}; });
    }
    // The end of each frame's entries is now the beginning of the next frame's.
    m_ofState.assign(states, 0);
    m_isThere.assign((states + 63) / 64, 0);
    m_posteriors.clear();
    size_t begin = 0;
    for (size_t frame = 0; frame < lattice.frames; ++frame)
    {
        const size_t end = ends[frame];
        ends[frame] = m_posteriors.size();
        for (size_t i = begin; i < end; ++i)
        {
            const StatePosterior& entry = m_unsorted[i];
            m_ofState[entry.state] += entry.value;
            m_isThere[entry.state / 64] |= uint64_t(1) << entry.state % 64;
        }
        TakeStates();
        begin = end;
    }
    ends.back() = m_posteriors.size();
}

// Appends the sums of a frame and resets them to 0.
void LatticeSums::TakeStates()
{
    for (size_t word = 0; word < m_isThere.size(); ++word)
        for (; m_isThere[word] != 0; m_isThere[word] &= m_isThere[word] - 1)
        {
            const auto state = uint32_t(word * 64 + size_t(std::countr_zero(m_isThere[word])));
            m_posteriors.push_back({state, m_ofState[state]});
            m_ofState[state] = 0;
        }
}

double LatticeSums::Posterior(size_t frame, uint32_t state) const
{
    const std::span<const StatePosterior> all = Posteriors(frame);
    const auto found = std::lower_bound(all.begin(), all.end(), state,
                                        [](const StatePosterior& a, uint32_t wanted) { return a.state < wanted; });
    return found != all.end() && found->state == state ? found->value : 0;
}

template void LatticeSums::Compute(const Lattice&, const FrameScores<float>&, std::span<const uint32_t>,
                                   const SequenceTrainingSettings&);
template void LatticeSums::Compute(const Lattice&, const FrameScores<double>&, std::span<const uint32_t>,
                                   const SequenceTrainingSettings&);

} // namespace cntk
