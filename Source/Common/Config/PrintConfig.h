// The config as text: the output of --print-config, and the three dumps at the head of the log of CNTK v1.1.
#pragma once

#include "Common/Config/ConfigParameters.h"

#include <string>

namespace cntk
{

// Prints the effective config with variables inserted. A comment after each value names its file and line. The output
// is a config with the same values.
std::string PrintConfig(const ConfigParameters& root);

// Text for the log's ">>>> RAW CONFIG ..." lines: all files and arguments without comments and blank lines.
// ResolvedConfigText also inserts variables that have a value.
std::string RawConfigText(const ConfigParameters& root);
std::string ResolvedConfigText(const ConfigParameters& root);
// Text for the ">>>> PROCESSED CONFIG ..." lines: "configparameters: exp.cntk:name=value", one per root name.
std::string ProcessedConfigText(const ConfigParameters& root);

} // namespace cntk
