// What would stop a command when its turn comes, perhaps a week from now, and can be seen before the first command
// runs: files that are not there and that no command makes. cntk --check looks at far more, and takes longer.
#pragma once

#include "ActionsLib/Action.h"
#include "SGD/Files/TrainingFiles.h"

#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// The files that are there when a command's turn comes.
class FilesToCome
{
public:
    // Paths that a command makes, as Job::Produces says; models of a training's epochs have names that begin so.
    void Add(const std::vector<std::string>& made);
    // That is there, or that a command before makes.
    bool WillExist(const std::string& path) const;
    // That a command before makes.
    bool WillBeMade(const std::string& path) const;

private:
    std::vector<std::string> m_made; // canonical
};

// Whether a training finds its final model when its turn comes, as far as can be seen: then it opens no data.
bool MayBeOver(const TrainingFiles& training, bool makeMode, const FilesToCome& files);

// Fails (Model), at the key's place, where the model will not be there.
void RequireModelToCome(const CommandContext& command, const std::string& path, const FilesToCome& files,
                        std::string_view key = "modelPath");
void RequireModelToCome(const SourcePos& where, const std::string& path, const FilesToCome& files);

// Fails (Data) where a file that a reader of the command surely opens, as its plugin says, will not be there: no
// command before makes it, and its name does not begin with an output's (outputPath, a writer's files).
void RequireDataToCome(const CommandContext& command, const Action& action, const FilesToCome& files);

// Fails (Config) where the writer's block cannot be right, whatever the files that it reads say when its turn comes.
// type: its library.
void RequireWriterToCome(const CommandContext& command, const ConfigParameters& writer, const std::string& type,
                         const FilesToCome& files);

} // namespace cntk
