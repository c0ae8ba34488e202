// When a training ends before maxEpochs: after some epochs in which the criterion did not fall. Keeps the best model.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>

namespace cntk
{

class EarlyStopping
{
public:
    // patience: epochs without an improvement after which to stop; 0: neither stops nor keeps anything.
    EarlyStopping(size_t patience, double minImprovement) : m_patience(patience), m_minImprovement(minImprovement) {}

    bool IsOn() const { return m_patience > 0; }
    // The value of an epoch's criterion; true if it is the best so far. NaN never is.
    bool Observe(size_t epochsDone, double value);
    bool ShouldStop(size_t epochsDone) const
    {
        return IsOn() && epochsDone >= m_lastImprovement && epochsDone - m_lastImprovement >= m_patience;
    }

    size_t BestEpoch() const { return m_bestEpoch; } // epochs done; 0: none yet
    double Best() const { return m_best; }

    // For checkpoints.
    void SaveExtra(std::map<std::string, std::string>& extra) const;
    void RestoreExtra(const std::map<std::string, std::string>& extra);

private:
    size_t m_patience;
    double m_minImprovement;
    double m_best = std::numeric_limits<double>::infinity();
    size_t m_bestEpoch = 0;
    // Small improvements keep the best model, but do not count as progress until they add up.
    double m_progress = std::numeric_limits<double>::infinity();
    size_t m_lastImprovement = 0;
};

} // namespace cntk
