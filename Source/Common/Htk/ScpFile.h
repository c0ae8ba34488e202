// Script files of HTK (book 3.4.2): one utterance a line, "path", "logical=path" or "logical=path[first,last]".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct ScpEntry
{
    std::string key; // the logical name without its extension
    uint32_t path;   // index into ScpFile::paths
    bool hasRange;   // the line gives the frames first..last of the file
    uint32_t first;
    uint32_t last;
};

struct ScpFile
{
    std::string path;
    std::vector<std::string> paths; // distinct, in the order of their first use
    std::vector<ScpEntry> entries;  // entry i stands in line i+1

    // Returns "train.scp:12".
    std::string Location(size_t entry) const { return path + ":" + std::to_string(entry + 1); }
};

// prefix: prefixPathInSCP; empty: "..." stands for the folder of the script file. Fails (Data) with file and line.
ScpFile ReadScpFile(const std::string& path, const std::string& prefix);

// Returns "An4/71/x" for "An4/71/x.mfc". Backslashes become slashes.
std::string KeyOfName(std::string_view logicalName);
// Returns the path of a file that a list names: with the prefix in front, or with the folder of the list for "...".
std::string PhysicalPath(std::string_view path, const std::string& prefix, const std::string& list);
// Returns the part of a key after the last slash.
std::string_view LastComponent(std::string_view key);

} // namespace cntk
