// cntk --new: looks at a user's data and writes a commented config that trains, tests and writes predictions.
#pragma once

#include <string>

namespace cntk
{

struct NewConfigRequest
{
    std::string data;   // a table, a text, or a folder with one sub-folder of images a class
    std::string config; // the config to write; empty: <name of the data>.cntk
    std::string label;  // of a table: name or number of the column to predict; empty: chosen by its values
};

// Writes the config, and a folder <name>_files with the split of the data and the names of the classes. Returns the
// assumptions and the next commands, to print. Fails (Usage) before anything is written if one of the files exists.
std::string WriteNewConfig(const NewConfigRequest& request);

} // namespace cntk
