// The entry special:cntk.json of npz files: a description of the arrays for other programs.
#pragma once

#include "Exchange/ModelValues.h"

#include <string>
#include <string_view>

namespace cntk
{

// Returns {"format": 1, "version": "0.1.0", "precision": "float", "nodes": {"W": {"type": ..., "dims": [50, 2]}}}.
std::string MakeNpzManifest(const ExportedValues& values, DataType precision);

// Fails (Data) if the text has a "format" above 1. Everything else in it is ignored.
void RequireKnownManifest(std::string_view text, const std::string& what);

} // namespace cntk
