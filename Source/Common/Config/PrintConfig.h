// The config as text: what --print-config shows, and the three dumps at the head of the original's log.
#pragma once

#include "Common/Config/ConfigParameters.h"

#include <string>

namespace cntk
{

// The effective config, variables inserted, each value with the file and line it came from as a comment. It is a config
// itself: fed back in, it gives the same values.
std::string PrintConfig(const ConfigParameters& root);

// Between the log's ">>>> RAW CONFIG ..." lines: all files and arguments with comments and blank lines removed; the
// same with variables inserted (those without a value stay as they are).
std::string RawConfigText(const ConfigParameters& root);
std::string ResolvedConfigText(const ConfigParameters& root);
// Between the ">>>> PROCESSED CONFIG ..." lines: "configparameters: exp.cntk:name=value", one per root name.
std::string ProcessedConfigText(const ConfigParameters& root);

} // namespace cntk
