// Finds outputs of a command that are also its inputs, such as after a slip in a path. Runs before anything is written.
#pragma once

#include "Common/SourceText.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

class ConfigParameters;

struct NamedFile
{
    std::string key; // what names it: "modelPath", "Write:reader:features:scpFile"
    std::string path;
};

// Returns the absolute path without symbolic links, as far as the path exists: equal for all spellings of one file.
std::string CanonicalPath(const std::string& path);

// Returns true if both paths lead to one ordinary file, through any spelling and symbolic links. The file need not
// exist.
bool IsSameFile(const std::string& path, const std::string& other);

// Returns the existing files that values of the block and of its inner blocks name, alone or in a list a+b. The values
// do not count as read.
std::vector<NamedFile> FilesNamedIn(const ConfigParameters& block);

// Selects reader blocks of a command: those of the data that it computes with, or also those of the data that a
// training is validated with.
enum class ReaderBlocks
{
    OfData,
    OfDataAndValidation
};
std::vector<NamedFile> FilesOfReaders(const ConfigParameters& command, ReaderBlocks which);

// Fails (Config) at `where` if the file that is written is one of those that are read.
void RequireNotRead(const NamedFile& written, const std::vector<NamedFile>& read, const SourcePos& where);

// The same for a writer, whose block has the command's readers and models around it.
void RequireNotReadByOthers(const ConfigParameters& writer, const NamedFile& written, const SourcePos& where);

// Receives a listed file and its description: "read as features (in.scp:12)".
using ListedFileVisitor = std::function<void(const std::string& path, const std::string& what)>;

// Files that stand in a reader's lists, such as HTK script files, and not in the config. The lists may have millions of
// lines: they are read once, and only if an output exists already.
class ListedFiles
{
public:
    void Add(std::function<void(const ListedFileVisitor&)> visitAll) { m_lists.push_back(std::move(visitAll)); }

    // "read as features (in.scp:12)"; empty if the file does not exist or stands in no list.
    std::string WhyRead(const std::string& path) const;
    // Fails (Config) at `where` if the file that is written is in a list.
    void RequireNone(const NamedFile& written, const SourcePos& where) const;

private:
    std::vector<std::function<void(const ListedFileVisitor&)>> m_lists;
    // The system's identity of a file, independent of the spelling of its path.
    using FileIdentity = std::pair<uint64_t, uint64_t>;
    static std::optional<FileIdentity> IdentityOf(const std::string& path);
    mutable std::optional<std::map<FileIdentity, std::string>> m_read;
};

} // namespace cntk
