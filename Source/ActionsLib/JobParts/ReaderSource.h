// The reader and writer blocks of a command: their plugins, their files, opening them in the element type of the run.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/Error.h"
#include "Common/ReaderInterface.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct ReaderSource
{
    const ConfigParameters* block = nullptr;   // null: the command has no such block
    const ConfigParameters* command = nullptr; // the block of the command that reads
    ProgramContext* program = nullptr;
    int traceLevel = 0;
    bool forWriting = false; // see ReaderContext, also for the next member
    bool createLabelMaps = false;
    uint64_t trainingSeed = 0;
    std::string name = {}; // of the block

    explicit operator bool() const { return block != nullptr; }
    // For --check: false, with a line in the log, if the reader needs files that an earlier command writes.
    bool CanBeChecked() const;
    // "encoderReader ('train.enc.ctf')", for messages about its data.
    std::string NameWithFiles() const;
    std::unique_ptr<MinibatchSource> Open() const;
    // Fails at `where` if a list of the reader names the file, which the command writes.
    std::unique_ptr<MinibatchSource> OpenFor(const NamedFile& written, const SourcePos& where) const;
};

// The block of that name as the command sees it. Fails (Config) if the block's plugin is missing, so that a misspelt
// readerType is found before any command runs.
ReaderSource FindReader(const CommandContext& command, const char* blockName);
// Fails also if the block is missing.
ReaderSource RequireReader(const CommandContext& command, const char* blockName);

// For --check, for a reader's, writer's or format block: false, with a line in the log, if a value of the block names a
// missing file that an earlier command writes.
bool CanBeChecked(const ConfigParameters& block, const ProgramContext& program);

// The files that the source finds in lists; valid as long as the source.
ListedFiles ListedFilesOf(const MinibatchSource& source);

// The values that name files which the reader certainly opens, up to the first mistake that its plugin finds in the
// block.
struct InputFiles
{
    std::vector<ConfigValue> files;
    std::optional<Error> mistake;
};
InputFiles InputFilesOf(const ConfigParameters& reader, bool forWriting, Log& log);

// Fails (Data) if a reader of the command will open a file that neither exists nor is written by an earlier command,
// and (Config) for other mistakes in its block. The reader's plugin names the files.
void RequireData(const CommandContext& command, const Action& action);
// Declares the files that blocks of the command write: label maps that readers create (allowMapCreation), and that a
// writer takes names of files from a list.
void DeclareOutputsOfBlocks(const CommandContext& command, const Action& action);

// The library of a writer block.
std::string WriterTypeOf(const ConfigParameters& writer);
// listed: files that the command reads and the writer must not write.
ReaderContext WriterContextOf(const CommandContext& command, const ConfigParameters& writer, const ListedFiles& listed);
// Fails if the writer's library is missing, does not load, or does not write the element type.
void RequireWriterPlugin(const CommandContext& command, const ConfigParameters& writer);
// Fails (Config) for mistakes in the writer's block, if it reads no file that an earlier command writes.
void RequireWriter(const CommandContext& command, const ConfigParameters& writer);
// The output files that the writer's block names.
std::vector<std::string> FilesOfWriter(const ConfigParameters& writer);

// The plugin's description of itself; none if the plugin cannot be opened. Opening the reader or writer reports why.
std::optional<PluginDescription> DescriptionOfReader(const ConfigParameters& reader);
std::optional<PluginDescription> DescriptionOfWriter(const ConfigParameters& writer);

// The blocks of a composite reader (readers=a:b); of another reader the block itself.
std::vector<const ConfigParameters*> PartsOfReader(const ConfigParameters& reader);

} // namespace cntk
