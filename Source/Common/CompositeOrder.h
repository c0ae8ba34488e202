// The orders of readers that are read as one (CompositeReader.h): what they deliver is put together in the order that
// each has it, though one may shuffle and another not, or both in two ways.
#pragma once

namespace cntk
{

class ConfigParameters;
class Log;

// A warning where a part and the first one, by their blocks, have different orders. forWriting: nearly all deliver the
// order of their files, whatever the blocks say.
void WarnOfOtherOrder(const ConfigParameters& part, const ConfigParameters& first, bool forWriting, Log& log);

} // namespace cntk
