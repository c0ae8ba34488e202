// A command's reader (or cvReader) block: opened as the element type of the run.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/ReaderInterface.h"
#include "SGD/MinibatchSource.h"
#include "SGD/TrainingOptions.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cntk
{

struct ReaderSource
{
    const ConfigParameters* block = nullptr; // null: there is no such block
    ProgramContext* program = nullptr;
    int traceLevel = 0;
    bool forWriting = false;
    bool createLabelMaps = false;
    uint64_t trainingSeed = 0;
    std::string name = {}; // of the block

    explicit operator bool() const { return block != nullptr; }
    bool CanBeChecked() const;
    // "encoderReader ('train.enc.ctf')", for messages about its data.
    std::string NameWithFiles() const;
    std::unique_ptr<MinibatchSource> Open() const;
    // Fails at `where` if a list of the reader names the file, which the command writes.
    std::unique_ptr<MinibatchSource> OpenFor(const NamedFile& written, const SourcePos& where) const;
};

// For checks, of a reader's or writer's block: false, with a line in the log, where it names a file that is not there
// yet and that an earlier command of the run writes.
bool CanBeChecked(const ConfigParameters& block, const ProgramContext& program);

// The files that the source finds in lists; asked for as long as the source is there.
ListedFiles ListedFilesOf(const MinibatchSource& source);

// Fails if there is no such library, or it does not load or does not write numbers of the type. writer: its block.
void RequireWriterPlugin(const ConfigParameters& writer, const std::string& type, DataType dataType);

// The block of that name as the command sees it; fails if it must be there and is not, or if its plugin is not. The
// command's traceLevel goes into the block, as the original does it.
ReaderSource FindReader(const CommandContext& command, const char* blockName, bool forWriting = false);
ReaderSource RequireReader(const CommandContext& command, const char* blockName, bool forWriting = false);

// What the plugin that serves a block says of itself; none where it cannot be opened, which is reported when the reader
// or writer is, with all that is to be said about it.
std::optional<PluginDescription> DescriptionOfReader(const ConfigParameters& reader);
std::optional<PluginDescription> DescriptionOfWriter(const ConfigParameters& writer);

// modelPath of a command: in its block, around it, or in its SGD block.
std::string RequireModelPath(const CommandContext& command);
// The model that the command trains: what the SGD block itself says comes first.
std::string RequireTrainedModelPath(const CommandContext& command);
SourcePos PlaceOfTrainedModel(const CommandContext& command);
// The learner's block, SGD or, as v1.1 also calls it, optimizer; its options. Warns of what has no effect in it.
const ConfigParameters& RequireSgdBlock(const CommandContext& command);
SgdOptions ReadSgdOptions(const CommandContext& command, const ConfigParameters& sgd);

// Where the command says a key, in its block, around it, or in its SGD block; else the command's place.
SourcePos PlaceOf(const CommandContext& command, std::string_view key);
// Fails (Config) at the key's place if the expression for names of nodes is none.
void RequireRegex(const CommandContext& command, const char* key, const std::string& expression);
int TraceLevelOf(const CommandContext& command);
// trainingSeed, from which everything of the command that is drawn at random gets its seeds; 0: as the original has it.
uint64_t TrainingSeedOf(const CommandContext& command);

} // namespace cntk
