// Collects the errors of several steps, so that a user sees all mistakes of a block at once.
#pragma once

#include "Common/Error.h"

#include <optional>

namespace cntk
{

class ErrorCollection
{
public:
    template <class Step>
    void Try(Step&& step)
    {
        try
        {
            step();
        }
        catch (const Error& error)
        {
            Add(error);
        }
    }
    // Throws the first error. The other errors become notes "exp.cntk:5:3: message".
    void ThrowIfAny() const;

private:
    void Add(const Error& error);

    std::optional<Error> m_first;
};

} // namespace cntk
