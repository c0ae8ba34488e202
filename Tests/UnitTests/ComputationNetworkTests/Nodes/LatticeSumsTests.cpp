// Sums over lattices against all paths, one by one.
#include "ComputationNetwork/Nodes/SequenceCriterionNode.h"
#include "RandomLattice.h"

#include <gtest/gtest.h>
#include <numeric>

namespace cntk::Testing
{

namespace
{

constexpr uint32_t c_states = 4;

struct Utterance
{
    explicit Utterance(unsigned seed) : random(seed)
    {
        lattice = RandomLattice(1 + uint32_t(random() % 6), c_states, random);
        for (uint32_t i = 0; i < lattice.frames * c_states; ++i)
            scores.push_back(double(random()) / double(random.max()) * 4 - 3);
        for (uint32_t i = 0; i < lattice.frames; ++i)
            reference.push_back(uint32_t(random() % c_states));
    }

    LatticeSums Sums(const SequenceTrainingSettings& settings) const
    {
        LatticeSums sums;
        sums.Compute(lattice, FrameScores<double>{scores.data(), c_states, 0, 1}, reference, settings);
        sums.ComputePosteriors(lattice, c_states, settings.usesMbr);
        return sums;
    }

    std::mt19937 random;
    Lattice lattice;
    std::vector<double> scores;
    std::vector<uint32_t> reference;
};

// Computes the sums over a lattice by enumerating its paths.
struct PathSums
{
    PathSums(const Utterance& utterance, const SequenceTrainingSettings& settings)
    {
        std::vector<double> worth, right;
        const std::vector<LatticePath> paths = PathsOf(utterance.lattice);
        for (const LatticePath& path : paths)
        {
            double score = settings.languageFactor * path.languageScore + settings.wordPenalty * path.words;
            double same = 0;
            for (size_t frame = 0; frame < path.states.size(); ++frame)
            {
                score += utterance.scores[frame * c_states + path.states[frame]];
                same += path.states[frame] == utterance.reference[frame] ? 1 : 0;
            }
            worth.push_back(std::exp(score / settings.acousticFactor - settings.boost * same));
            right.push_back(same);
        }
        const double total = std::accumulate(worth.begin(), worth.end(), 0.0);
        logTotal = std::log(total);
        accuracy = std::inner_product(worth.begin(), worth.end(), right.begin(), 0.0) / total;
        posteriors.assign(utterance.lattice.frames * c_states, 0);
        for (size_t i = 0; i < paths.size(); ++i)
            for (size_t frame = 0; frame < paths[i].states.size(); ++frame)
                posteriors[frame * c_states + paths[i].states[frame]] +=
                    worth[i] / total * (settings.usesMbr ? right[i] - accuracy : 1);
        count = paths.size();
    }

    double logTotal = 0;
    double accuracy = 0;
    std::vector<double> posteriors;
    size_t count = 0;
};

const SequenceTrainingSettings c_plain{.acousticFactor = 1, .languageFactor = 1};
const SequenceTrainingSettings c_scaled{.acousticFactor = 7, .languageFactor = 11, .boost = 0.3, .wordPenalty = -1.5};
const SequenceTrainingSettings c_risk{.usesMbr = true, .acousticFactor = 3, .languageFactor = 2, .wordPenalty = 0.5};

} // namespace

TEST(LatticeSums, AreThoseOfAllPaths)
{
    size_t most = 0;
    for (unsigned seed = 1; seed <= 200; ++seed)
        for (const SequenceTrainingSettings& settings : {c_plain, c_scaled, c_risk})
        {
            SCOPED_TRACE(seed);
            const Utterance utterance(seed);
            const PathSums expected(utterance, settings);
            const LatticeSums sums = utterance.Sums(settings);
            most = std::max(most, expected.count);
            EXPECT_NEAR(sums.LogTotal(), expected.logTotal, 1e-12);
            EXPECT_NEAR(sums.ExpectedAccuracy(), expected.accuracy, 1e-12);
            double reference = 0;
            for (uint32_t frame = 0; frame < utterance.lattice.frames; ++frame)
            {
                reference += utterance.scores[frame * c_states + utterance.reference[frame]];
                for (uint32_t state = 0; state < c_states; ++state)
                    EXPECT_NEAR(sums.Posterior(frame, state), expected.posteriors[frame * c_states + state], 1e-12)
                        << "frame " << frame << ", state " << state;
                const auto posteriors = sums.Posteriors(frame);
                for (size_t i = 1; i < posteriors.size(); ++i)
                    EXPECT_LT(posteriors[i - 1].state, posteriors[i].state);
            }
            EXPECT_NEAR(sums.ReferenceScore(), reference / settings.acousticFactor, 1e-12);
        }
    EXPECT_GT(most, 100u);
}

TEST(LatticeSums, PosteriorsAreDerivatives)
{
    constexpr double step = 1e-5;
    for (unsigned seed = 1; seed <= 30; ++seed)
        for (const SequenceTrainingSettings& settings : {c_plain, c_scaled, c_risk})
        {
            SCOPED_TRACE(seed);
            Utterance utterance(seed);
            const LatticeSums sums = utterance.Sums(settings);
            for (size_t i = 0; i < utterance.scores.size(); ++i)
            {
                const double score = utterance.scores[i];
                const auto valueAt = [&](double moved)
                {
                    utterance.scores[i] = moved;
                    const LatticeSums there = utterance.Sums(settings);
                    return settings.usesMbr ? there.ExpectedAccuracy() : there.LogTotal();
                };
                const double slope = (valueAt(score + step) - valueAt(score - step)) / (2 * step);
                utterance.scores[i] = score;
                EXPECT_NEAR(sums.Posterior(i / c_states, uint32_t(i % c_states)), settings.acousticFactor * slope,
                            1e-7);
            }
        }
}

// The frames of an utterance lie apart in a minibatch of several parallel utterances, in single precision.
TEST(LatticeSums, FramesMayBeAnywhere)
{
    const Utterance utterance(7);
    constexpr size_t stride = 3, first = 5;
    std::vector<float> scores((first + utterance.lattice.frames * stride) * c_states, NAN);
    for (size_t frame = 0; frame < utterance.lattice.frames; ++frame)
        for (size_t state = 0; state < c_states; ++state)
            scores[(first + frame * stride) * c_states + state] = float(utterance.scores[frame * c_states + state]);
    LatticeSums sums;
    sums.Compute(utterance.lattice, FrameScores<float>{scores.data(), c_states, first, stride}, utterance.reference,
                 c_scaled);
    EXPECT_NEAR(sums.LogTotal(), utterance.Sums(c_scaled).LogTotal(), 1e-6);
}

// Nothing overflows, and paths that are out of the question stay at 0.
TEST(LatticeSums, ScoresOfAnySize)
{
    Lattice lattice;
    lattice.frames = 2;
    lattice.nodeFrames = {0, 2};
    lattice.arcs = {{0, 1, 0, true, 0}, {0, 1, 1, true, 0}};
    lattice.segments = {{2, 0}, {2, 1}};
    const std::vector<uint32_t> reference{0, 0};
    for (const double size : {-1e6, 1e6})
    {
        const std::vector<double> scores{size, size - 1000, size, size - 1000};
        LatticeSums sums;
        sums.Compute(lattice, FrameScores<double>{scores.data(), 2, 0, 1}, reference, c_plain);
        sums.ComputePosteriors(lattice, 2, false);
        EXPECT_EQ(sums.LogTotal(), 2 * size);
        EXPECT_EQ(sums.Posterior(0, 0), 1);
        EXPECT_EQ(sums.Posterior(1, 1), 0);
        EXPECT_EQ(sums.ExpectedAccuracy(), 2);
    }
}

} // namespace cntk::Testing
