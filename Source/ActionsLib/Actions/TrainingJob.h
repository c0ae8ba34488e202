// The common part of all actions that train: options, files, progress.
#pragma once

#include "ActionsLib/ActionTable.h"
#include "SGD/Files/TrainingFiles.h"
#include "SGD/Trainer/Trainer.h"

#include <cstddef>
#include <string>
#include <vector>

namespace cntk
{

struct TrainingJobOptions
{
    bool makeMode = true;

    static OptionTable<TrainingJobOptions> Options();
};

class TrainingJob : public Job
{
public:
    size_t Epochs() const override { return m_request.options.maxEpochs; }
    std::vector<std::string> Outputs() const override { return {m_request.modelPath}; }
    bool OpensData() const override;

protected:
    // Reads the SGD block and modelPath.
    explicit TrainingJob(const CommandContext& command);

    virtual TrainingFiles Files() const;
    // The training begins with a new network, as far as the files show now.
    bool BeginsNew() const { return !m_request.makeMode || !Files().FindResumePoint(); }
    // Fails (Config) if a model that the training will write would replace the original model, which it reads.
    void RequireKept(const NamedFile& original) const;
    // Prints the network before training.
    void LogReady(const ComputationNetwork& network, bool isLoaded) const;
    // Trains, stops on request, prints progress for watching programs.
    void RunTraining();

    CommandContext m_command;
    int m_traceLevel;
    const ConfigParameters& m_sgd;
    SourcePos m_modelPlace; // of modelPath
    // The earlier command that writes the model with which the training begins: modelPath itself, or modelPath.N by an
    // edit that adds a layer (the book's discriminative pre-training, 7.1.5). Empty: none.
    std::string m_startWriter;
    TrainingRequest m_request;
};

} // namespace cntk
