// Finds config keys that nothing has read: misspelt keys, keys in the wrong block, and pieces of a list that a wrong
// separator broke up. The search runs after every block of every command has been read.
#pragma once

#include "Common/Config/ConfigParameters.h"
#include "Common/Config/Options.h"
#include "Common/Log.h"

#include <string>
#include <vector>

namespace cntk
{

// The keys that may stand in a block. The block of a command has the command's name and the options of its actions.
// The root has the empty name. The name "*" stands for every block inside the parents.
struct KnownBlock
{
    std::string name;
    std::vector<std::string> parents; // blocks that may contain it, "" for the root; empty: any block
    std::vector<OptionInfo> options;
};

struct UnusedKey
{
    std::string message; // "unknown key 'minbatchSize' in block 'Train:SGD'; did you mean 'minibatchSize'?"
    SourcePos where;
    bool isError = false; // a wrong separator broke up a list of numbers, so the run would use wrong numbers
};

// Reports no root block that holds an "action" (a command of another run), no root value that some block knows
// (a default for other commands), and no key that the options of its block list.
std::vector<UnusedKey> FindUnusedKeys(const ConfigParameters& root, const std::vector<KnownBlock>& blocks);

// Finds likely reasons why a block cannot be read: broken lists ("layerSizes=2;50;2") in any block, and keys whose name
// is near to one that their block knows.
std::vector<UnusedKey> FindLikelySlips(const ConfigParameters& root, const std::vector<KnownBlock>& blocks);

// Warns of each unused key, and of variables without a value in blocks that this run does not use. Fails (Config) if
// a wrong separator broke up a list of numbers. With strictConfig=true at the root any unused key fails.
void CheckUnusedKeys(const ConfigParameters& root, const std::vector<KnownBlock>& blocks, Log& log);

} // namespace cntk
