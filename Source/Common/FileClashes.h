// Files that a command would destroy: one that it writes is one that it reads, by a slip in a path. Asked for before
// anything is written, since what is replaced is gone.
#pragma once

#include "Common/SourceText.h"

#include <string>
#include <vector>

namespace cntk
{

class ConfigParameters;

struct NamedFile
{
    std::string key; // what names it: "modelPath", "Write:reader:features:scpFile"
    std::string path;
};

// Absolute and without symbolic links, as far as the path is there: equal for all spellings of one file.
std::string CanonicalPath(const std::string& path);

// Whether both paths lead to one ordinary file, by whatever spelling and symbolic links. It need not be there.
bool IsSameFile(const std::string& path, const std::string& other);

// The files that are there and that values of the block, and of the blocks inside, name, alone or as one of a list
// a+b. The values do not count as read.
std::vector<NamedFile> FilesNamedIn(const ConfigParameters& block);

// Fails (Config) at `where` if the file that is written is one of those that are read.
void RequireNotRead(const NamedFile& written, const std::vector<NamedFile>& read, const SourcePos& where);

// The same for a writer, whose block has the command's readers and models around it.
void RequireNotReadBesides(const ConfigParameters& writer, const NamedFile& written, const SourcePos& where);

} // namespace cntk
