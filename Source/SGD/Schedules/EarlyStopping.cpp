// The best epoch so far.
#include "SGD/Schedules/EarlyStopping.h"

#include "SGD/Files/CheckpointExtra.h"

namespace cntk
{

bool EarlyStopping::Observe(size_t epochsDone, double value)
{
    if (value < m_progress - m_minImprovement)
    {
        m_progress = value;
        m_lastImprovement = epochsDone;
    }
    if (!(value < m_best))
        return false;
    m_best = value;
    m_bestEpoch = epochsDone;
    return true;
}

void EarlyStopping::SaveExtra(std::map<std::string, std::string>& extra) const
{
    if (m_bestEpoch == 0)
        return;
    extra["bestCriterion"] = ExactText(m_best);
    extra["bestEpoch"] = std::to_string(m_bestEpoch);
    extra["progressCriterion"] = ExactText(m_progress);
    extra["progressEpoch"] = std::to_string(m_lastImprovement);
}

void EarlyStopping::RestoreExtra(const std::map<std::string, std::string>& extra)
{
    m_best = NumberOf(extra, "bestCriterion", m_best);
    m_bestEpoch = size_t(NumberOf(extra, "bestEpoch", double(m_bestEpoch)));
    m_progress = NumberOf(extra, "progressCriterion", m_progress);
    m_lastImprovement = size_t(NumberOf(extra, "progressEpoch", double(m_lastImprovement)));
}

} // namespace cntk
