#include "SGD/Search/KnownTrials.h"

#include <algorithm>

namespace cntk
{

// Of each: rate, size, samples, criterion, number of evaluations, evaluations.
std::vector<double> NumbersOfTrials(const std::vector<Trial>& trials)
{
    std::vector<double> numbers;
    for (const Trial& trial : trials)
    {
        const std::vector<double>& evaluations = trial.averages.evaluations;
        numbers.insert(numbers.end(), {trial.rate, double(trial.minibatchSize), double(trial.samples),
                                       trial.averages.criterion, double(evaluations.size())});
        numbers.insert(numbers.end(), evaluations.begin(), evaluations.end());
    }
    return numbers;
}

std::vector<Trial> TrialsOfNumbers(const std::vector<double>& numbers)
{
    constexpr size_t c_fixed = 5;
    std::vector<Trial> trials;
    for (size_t at = 0; at + c_fixed <= numbers.size();)
    {
        Trial trial{numbers[at], size_t(numbers[at + 1]), size_t(numbers[at + 2])};
        trial.averages.criterion = numbers[at + 3];
        const size_t evaluations = std::min(size_t(numbers[at + 4]), numbers.size() - at - c_fixed);
        const auto first = numbers.begin() + ptrdiff_t(at + c_fixed);
        trial.averages.evaluations.assign(first, first + ptrdiff_t(evaluations));
        at += c_fixed + evaluations;
        trials.push_back(std::move(trial));
    }
    return trials;
}

KnownTrials::Next KnownTrials::Find(const Trial& trial) const
{
    if (m_asked == m_trials.size())
        return Next::NotKnown;
    return m_trials[m_asked].IsSame(trial) ? Next::Known : Next::Other;
}

void KnownTrials::Add(Trial trial)
{
    m_trials.push_back(std::move(trial));
    m_asked = m_trials.size();
}

void KnownTrials::Keep(size_t count)
{
    m_trials.resize(count);
    m_asked = std::min(m_asked, count);
}

} // namespace cntk
