// A command's reader (or cvReader) block: opened as the element type of the run.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/ReaderInterface.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cntk
{

struct ReaderSource
{
    const ConfigParameters* block = nullptr;   // null: there is no such block
    const ConfigParameters* command = nullptr; // the block of the command that reads
    ProgramContext* program = nullptr;
    int traceLevel = 0;
    bool forWriting = false; // as ReaderContext has these two
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

// What a writer is created with. writer: its block; listed: files that the command reads, where it may not write.
ReaderContext WriterContextOf(const CommandContext& command, const ConfigParameters& writer, const ListedFiles& listed);

// Fails if there is no such library, or it does not load or does not write numbers of the type. writer: its block.
void RequireWriterPlugin(const ConfigParameters& writer, const std::string& type, DataType dataType);

// The block of that name as the command sees it; fails if it must be there and is not, or if its plugin is not. The
// command's traceLevel goes into the block, as the original does it.
ReaderSource FindReader(const CommandContext& command, const char* blockName);
ReaderSource RequireReader(const CommandContext& command, const char* blockName);

// What the plugin that serves a block says of itself; none where it cannot be opened, which is reported when the reader
// or writer is, with all that is to be said about it.
std::optional<PluginDescription> DescriptionOfReader(const ConfigParameters& reader);
std::optional<PluginDescription> DescriptionOfWriter(const ConfigParameters& writer);

// The values that name the files which the reader surely opens, as its plugin knows them; none where it says nothing,
// or finds fault with the block. forWriting: as ReaderContext has it. fault: gets what is wrong with the block, and the
// files found until then stay.
std::vector<ConfigValue> InputFilesOf(const ConfigParameters& reader, bool forWriting, Log& log,
                                      std::optional<Error>* fault = nullptr);

} // namespace cntk
