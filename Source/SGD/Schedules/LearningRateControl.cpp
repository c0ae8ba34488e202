// The arithmetic of AdjustAfterEpoch.
#include "SGD/Schedules/LearningRateControl.h"

#include <cmath>

namespace cntk
{

void LearningRateControl::Observe(RateState& state, size_t epoch, double controlValue) const
{
    const size_t sinceLook = epoch % m_options.learnRateAdjustInterval;
    if (!state.isAverageKnown || sinceLook == 0)
        state.epochsMissing = sinceLook;
    state.isAverageKnown = true;
    const auto before = double(sinceLook - state.epochsMissing);
    state.averageCriterion =
        before == 0 ? controlValue : (before * state.averageCriterion + controlValue) / (before + 1);
}

bool LearningRateControl::WantsRollBack(const RateState& state, size_t epoch) const
{
    if (!Adjusts(epoch) || !m_options.loadBestModel)
        return false;
    return !std::isfinite(state.averageCriterion) ||
           (std::isfinite(state.previousCriterion) && state.previousCriterion - state.averageCriterion < 0);
}

RateChange LearningRateControl::Adjust(RateState& state, size_t epoch) const
{
    if (!Adjusts(epoch))
        return RateChange::None;
    const double average = state.averageCriterion;
    const double previous = state.previousCriterion;
    const double improvement = previous - average;
    const double whole = m_isMaximised ? std::abs(previous) : previous;
    const bool hasPrevious = std::isfinite(previous);
    const bool insufficient =
        !std::isfinite(average) || (hasPrevious && improvement <= m_options.reduceLearnRateIfImproveLessThan * whole);
    if (m_options.continueReduce)
    {
        if (insufficient && state.reducing)
            return RateChange::Stop;
        state.reducing = state.reducing || insufficient;
        if (!state.reducing)
            return RateChange::None;
    }
    if (insufficient || m_options.continueReduce)
    {
        state.learningRatePerSample *= m_options.learnRateDecreaseFactor;
        return RateChange::Reduced;
    }
    if (hasPrevious && improvement > m_options.increaseLearnRateIfImproveMoreThan * whole)
    {
        state.learningRatePerSample *= m_options.learnRateIncreaseFactor;
        return RateChange::Increased;
    }
    return RateChange::None;
}

void LearningRateControl::EndLook(RateState& state, size_t epoch, bool rolledBack) const
{
    if (!rolledBack && IsLookDue(epoch))
        state.previousCriterion = state.averageCriterion;
}

} // namespace cntk
