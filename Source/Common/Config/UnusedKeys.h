// Keys that nobody read: misspelt, misplaced, or pieces of a list that a wrong separator broke up. Asked for when every
// block of every command has been read.
#pragma once

#include "Common/Config/ConfigParameters.h"
#include "Common/Config/KnownNames.h"
#include "Common/Log.h"

#include <string>
#include <vector>

namespace cntk
{

struct UnusedKey
{
    std::string message; // "unknown key 'minbatchSize' in block 'Train:SGD'; did you mean 'minibatchSize'?"
    SourcePos where;
    bool isError = false; // a broken list of numbers: the config would run with other numbers than it means
};

// Root blocks that hold an "action" are commands of another run, and root values that some block knows are defaults for
// other commands: neither is reported. Nor are keys that the block's options list.
std::vector<UnusedKey> FindUnusedKeys(const ConfigParameters& root, const std::vector<KnownBlock>& blocks);

// What may be why a block cannot be read: lists that a wrong separator broke into pieces ("layerSizes=2;50;2"), in
// whatever block, and names that are near to one that their block knows.
std::vector<UnusedKey> FindLikelySlips(const ConfigParameters& root, const std::vector<KnownBlock>& blocks);

// Warns of each unused key with its place, and of variables without a value in blocks that this run does not use. Fails
// (Config) if a wrong separator broke up a list of numbers, and with strictConfig=true at the root if any key is
// unused.
void CheckUnusedKeys(const ConfigParameters& root, const std::vector<KnownBlock>& blocks, Log& log);

// "$x$ in 'Test:modelPath' ...", for values that nobody read.
std::vector<UnusedKey> FindUnresolvedVariables(const ConfigParameters& root);

} // namespace cntk
