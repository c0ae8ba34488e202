// Numbers that all workers add up, and errors that end all of them.
#pragma once

#include "Common/Error.h"
#include "Common/Workers.h"

#include <optional>
#include <span>
#include <vector>

namespace cntk
{

class SharedNumbers
{
public:
    explicit SharedNumbers(Workers& workers) : m_workers(workers) {}

    // Collective: numbers becomes the sums of all workers', made in the order of ranks. Where one of them has an error
    // instead, all fail with it.
    void Sum(std::span<double> numbers, const std::optional<Error>& error = {});
    // Collective: what this worker fails with where one of them has an error, its own or the first one's of all.
    std::optional<Error> AnyError(const std::optional<Error>& own);

private:
    Error ErrorOfAll(const std::optional<Error>& own);

    Workers& m_workers;
    std::vector<double> m_numbers;
};

} // namespace cntk
