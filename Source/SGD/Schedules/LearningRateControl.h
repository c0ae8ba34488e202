// AdjustAfterEpoch (book 3.3.1.2): what the criterion of an epoch means for the next learning rate. Decisions only; the
// trainer reloads models and prints.
#pragma once

#include "SGD/TrainingOptions.h"

#include <cstddef>
#include <limits>

namespace cntk
{

// What the control remembers from epoch to epoch; a part of the checkpoint.
struct RateState
{
    double learningRatePerSample = 0;                                   // of the next epoch
    double previousCriterion = std::numeric_limits<double>::infinity(); // at the last look
    double averageCriterion = 0;                                        // over the epochs since the last look
    size_t epochsMissing = 0;   // since the last look, which the average does not have
    bool isAverageKnown = true; // false: of the epochs before nothing is known, the next ones are averaged alone
    bool reducing = false;      // continueReduce has begun
};

enum class RateChange
{
    None,
    Reduced,
    Increased,
    Stop // the second insufficient improvement under continueReduce
};

class LearningRateControl
{
public:
    // ratesInList: epochs whose rate the user wrote; they are not adjusted. isMaximised: the criterion is one that
    // training raises, and control values are those below 0 as well as above it: what is a share of one is a share of
    // its size.
    LearningRateControl(const AutoAdjustOptions& options, size_t ratesInList, bool isMaximised = false)
        : m_options(options), m_ratesInList(ratesInList), m_isMaximised(isMaximised)
    {
    }

    // A look is taken at the end of every interval of epochs.
    bool IsLookDue(size_t epoch) const { return (epoch + 1) % m_options.learnRateAdjustInterval == 0; }
    bool Adjusts(size_t epoch) const
    {
        return m_options.autoAdjustLR == LearningRateSearch::AdjustAfterEpoch && IsLookDue(epoch) &&
               epoch >= m_ratesInList;
    }
    bool MayRollBack() const
    {
        return m_options.autoAdjustLR == LearningRateSearch::AdjustAfterEpoch && m_options.loadBestModel;
    }

    // After each epoch, first: takes the control value into the running average.
    void Observe(RateState& state, size_t epoch, double controlValue) const;
    // Then: became it worse, so that the model of the last look should be loaded again?
    bool WantsRollBack(const RateState& state, size_t epoch) const;
    // Then, with the state of the older checkpoint (but this epoch's average) if it was loaded: changes the rate.
    RateChange Adjust(RateState& state, size_t epoch) const;
    // At last: the average becomes the criterion to beat, unless an older model was loaded.
    void EndLook(RateState& state, size_t epoch, bool rolledBack) const;

private:
    AutoAdjustOptions m_options;
    size_t m_ratesInList;
    bool m_isMaximised;
};

} // namespace cntk
