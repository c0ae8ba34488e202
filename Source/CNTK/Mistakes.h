// cntk --check: collects all mistakes of a config instead of the first one.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/Error.h"

#include <string>
#include <vector>

namespace cntk
{

class Mistakes
{
public:
    // Runs a step; keeps its Error. Returns false if there was one.
    template <class Step>
    bool Try(Step&& step)
    {
        try
        {
            step();
            return true;
        }
        catch (const Error& error)
        {
            Add(error);
            return false;
        }
    }
    void Add(const Error& error);

    bool Any() const { return !m_errors.empty(); }
    // Throws a single mistake as it is. Prints several mistakes in the order in which they were found, and throws an
    // Error with their number and the kind of the first one.
    void ThrowIfAny(Log& log) const;

private:
    std::vector<Error> m_errors;
};

// Looks for further mistakes in a command that cannot be prepared: reads the values of its blocks, builds its network,
// and looks for the files of its readers. Declares its model, so that later commands do not miss it.
void FindFurtherMistakes(const CommandContext& command, const Action& action, Mistakes& mistakes);

} // namespace cntk
