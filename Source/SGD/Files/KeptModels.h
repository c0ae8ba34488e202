// The option keepModels: which models of finished epochs stay on the disk.
#pragma once

#include "Common/Config/Options.h"

#include <cstddef>
#include <string>

namespace cntk
{

// keepModels = all | last | best | last:N | every:N, or several of them: last:3:best. The model that a training begins
// with and the final model always stay, and so do models that a resumed training may need.
struct KeptModels
{
    bool all = true;
    size_t last = 0;   // so many models of the last epochs
    size_t every = 0;  // models of epochs that this divides; 0: none
    bool best = false; // modelPath.best

    // epochsDone: of the model. newest: epochs done so far.
    bool Keeps(size_t epochsDone, size_t newest) const
    {
        return all || epochsDone + last > newest || (every > 0 && epochsDone % every == 0);
    }
};

template <>
struct OptionType<KeptModels>
{
    static std::string Name() { return "all, last, best, last:N, every:N, or several of them"; }
    static KeptModels Read(const ConfigValue& value, const Range&);
    static std::string Print(const KeptModels& value);
};

} // namespace cntk
