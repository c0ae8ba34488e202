// All that a run leaves, as a report and a closing summary show it.
#pragma once

#include "Report/MetricsRow.h"
#include "SGD/RunListener.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

struct CommandRecord
{
    std::string name;
    std::string action;
    std::optional<TrainingBegin> training;
    std::string finishedModel;      // of a training that had nothing to do
    std::vector<MetricsRow> epochs; // rows of epochs and validations, also of the part before a resumed training
    size_t epochsHere = 0;          // that this run has trained
    double secondsHere = 0;         // of these epochs
    double secondsWaited = 0;       // for data, in these epochs
    size_t samplesHere = 0;
    size_t bytes = 0; // of values and gradients
    std::vector<EvaluationSummary> results;
    std::vector<ConfusionCounts> confusions;
    std::optional<ClassRegions> regions;
    std::vector<SavedModel> models;
    std::vector<std::string> files; // other files
    bool hasEnded = false;
    double seconds = 0;
};

// A file that the config names.
struct DataFile
{
    std::string key;
    std::string path;
    size_t bytes = 0;
    std::string changed; // its time
};

struct RunRecord
{
    RunStart start;
    std::string title; // name of the config
    std::vector<std::pair<std::string, std::string>> environment;
    std::vector<DataFile> dataFiles;
    std::vector<CommandRecord> commands;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    double seconds = 0; // so far, or of the whole run
    std::optional<int> exitCode;
    std::string message; // of an error, or why the run was stopped
    std::vector<std::string> warnings;
    std::vector<std::string> files; // of the run itself: report, metrics
};

// The row of the lowest criterion among validations, else among epochs; null without rows. Not a number never is the
// lowest.
const MetricsRow* BestEpoch(const CommandRecord& command);
// The last row of a kind; null without one.
const MetricsRow* LastRow(const CommandRecord& command, RowKind kind);

// 1 - average of the first ErrorPrediction among the nodes; none without one.
std::optional<double> AccuracyIn(const std::vector<NodeAverage>& nodes);

// "1:05", "2:03:07".
std::string DurationText(double seconds);
// The same from a minute on; before, "0.24 s".
std::string ElapsedText(double seconds);

} // namespace cntk
