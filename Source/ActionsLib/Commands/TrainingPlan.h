// What a training will begin with and leave behind when the run comes to it, for cntk --check.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/FileClashes.h"
#include "SGD/Files/TrainingFiles.h"
#include "SGD/Trainer/Trainer.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace cntk
{

// Fails (Config) at `where` if a training of modelPath would write the model of an epoch onto a file that it reads.
// newest: the epochs after which it goes on; nothing: it begins anew.
void RequireNoEpochOf(const TrainingFiles& files, std::optional<size_t> newest, const NamedFile& read,
                      const SourcePos& where);

class TrainingPlan
{
public:
    TrainingPlan(const CommandContext& command, const TrainingRequest& request);

    // Whether an earlier command of the run writes the model: then nobody will ask for one that is made for a new
    // training, and what describes it need not fit, nor be there.
    bool BeginsWithPlannedModel() const;
    // The network to check: the model that the training will go on with, where an earlier command of the run writes it
    // (modelPath.0, as the book's discriminative pre-training does), else the one made for a new training. Null if only
    // the run will show what it is. made: may be null, for the same reason.
    ComputationNetwork* Start(ComputationNetwork* made);
    // What is read all along is not a model that the training will write (RequireNoEpochOf).
    void RequireKept(const NamedFile& read, const SourcePos& where) const;
    // Puts the models down that the training will write.
    void Finish();

private:
    std::optional<size_t> FindResumePoint() const;

    CommandContext m_command;
    TrainingFiles m_files;
    bool m_makeMode;
    bool m_isOver = false;     // the final model is there: nothing will be written
    size_t m_firstWritten = 0; // epoch
    std::unique_ptr<ComputationNetwork> m_loaded;
    ComputationNetwork* m_network = nullptr;
};

} // namespace cntk
