// Weights as npz files: zip archives of npy arrays, the format of numpy.savez.
#pragma once

#include "Exchange/ModelValues.h"

#include <cstddef>
#include <string>
#include <vector>

namespace cntk
{

// Writes one array for each node, <node name>.npy, with the node's dimensions in C order, and special:cntk.json, which
// names types and dimensions. The same values give the same bytes. The file is written whole or not at all.
void WriteNpz(const ExportedValues& values, DataType precision, const std::string& path);

struct ImportOptions
{
    bool requireAll = false;     // fail if a parameter of the network is not in the file
    bool allowNonFinite = false; // accept NaN and infinities
};

struct ImportCounts
{
    size_t parameters = 0;
    size_t numbers = 0;
    std::vector<std::string> unchanged; // names of parameters and statistics that the file does not have
};

// Sets parameters and statistics of the network to the arrays of their names. Passes over entries special:*. Fails
// (Data) with file and entry for a damaged file, an array without a node, or other dimensions; sizes are checked before
// memory is taken. After an error the network may be half changed.
ImportCounts ReadNpz(ComputationNetwork& network, const std::string& path, const ImportOptions& options);

} // namespace cntk
