// Words that stand in a block without a value behind a value of the same line: pieces of a list that a wrong separator
// broke up ("layerSizes=2;50;2"), or what follows a bracket or a quote.
#pragma once

#include "Common/Config/KnownNames.h"

#include <string>

namespace cntk
{

struct ConfigEntry;

// "in block 'Train:SGD'" or "at the root of the config"
std::string InBlock(const ConfigParameters& block);

struct StrayWord
{
    std::string message;        // what the word is, and what to write instead; empty if it is not a stray word
    bool breaksNumbers = false; // the word and the value before it are numbers, so that the config means other numbers
};

StrayWord FindStray(const ConfigParameters& block, const ConfigEntry& entry, const KnownNames& names);

} // namespace cntk
