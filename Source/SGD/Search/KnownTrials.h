// The trials of the searches before an epoch that came to their end: a search that is taken up again where it was
// stopped asks for the same ones in the same order, and need not run them again.
#pragma once

#include "SGD/Progress.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace cntk
{

// One run over the first samples of an epoch, and what it gave.
struct Trial
{
    double rate = 0; // per sample
    size_t minibatchSize = 0;
    size_t samples = 0;           // that were asked for
    CriterionAverages averages{}; // the criterion is NaN where it left the numbers

    bool IsSame(const Trial& other) const // but for what it gave
    {
        return rate == other.rate && minibatchSize == other.minibatchSize && samples == other.samples;
    }
};

// For checkpoints: trials as numbers, and back. Numbers behind the last whole trial are none.
std::vector<double> NumbersOfTrials(const std::vector<Trial>& trials);
std::vector<Trial> TrialsOfNumbers(const std::vector<double>& numbers);

class KnownTrials
{
public:
    KnownTrials() = default;
    // Those of a search that was stopped, which asks for the first of them next.
    explicit KnownTrials(std::vector<Trial> trials) : m_trials(std::move(trials)) {}

    const std::vector<Trial>& All() const { return m_trials; }
    // That the searches have asked for so far.
    size_t Asked() const { return m_asked; }

    enum class Next
    {
        NotKnown,
        Known,
        Other // the known one is not the one that is asked for
    };
    Next Find(const Trial& trial) const;
    // The known one that comes next, which has been asked for now.
    const Trial& Take() { return m_trials[m_asked++]; }
    // One that was asked for and has been run; all known ones were asked for before.
    void Add(Trial trial);
    // Forgets all but the first ones.
    void Keep(size_t count);

private:
    std::vector<Trial> m_trials;
    size_t m_asked = 0;
};

} // namespace cntk
