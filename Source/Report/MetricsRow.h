// The rows of metrics files: one for the results of some minibatches, an epoch, a validation, an evaluation, a model.
#pragma once

#include "SGD/RunListener.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

enum class RowKind
{
    Start,
    Minibatch,
    Epoch,
    Validation,
    Result,
    Confusion,
    Model,
    End
};
const char* NameOf(RowKind kind);
std::optional<RowKind> RowKindOf(std::string_view name);

// The rows that trainings write, and those of evaluations: one command may have both.
enum class RowGroup
{
    Training,
    Evaluation
};
bool IsIn(RowGroup group, RowKind kind);

// A row of numbers, as its event gives them. Fields that a kind does not have are empty.
struct MetricsRow
{
    RowKind kind = RowKind::Epoch;
    std::string command;
    std::optional<size_t> epoch;
    std::optional<size_t> minibatch;
    std::optional<size_t> samples;
    std::optional<size_t> samplesSeen;
    std::optional<double> criterion;
    std::vector<NodeAverage> nodes; // evaluations; of a result all nodes
    std::optional<double> learningRatePerSample;
    std::optional<double> momentumAsTimeConstant;
    std::optional<size_t> minibatchSize;
    std::optional<double> seconds;
    std::optional<double> secondsWaited;
    std::optional<double> samplesPerSecond;
    std::optional<bool> isBest;
    std::string path; // of a model
    std::optional<size_t> bytes;
    std::optional<size_t> parameters;
};

// The point in a command's training where it continues: rows after it are dropped.
struct ContinuationPoint
{
    size_t epochs = 0;      // that are done
    size_t minibatches = 0; // done in the next epoch

    // True if a row of this position lies after the point.
    bool IsRepeated(RowKind kind, std::optional<size_t> epoch, std::optional<size_t> minibatch) const;
};

// The start of a run.
struct RunStart
{
    std::string time; // ISO 8601 with zone
    std::string version;
    std::string compiler;
    std::string host;
    std::vector<std::string> commandLine;
    std::string precision;
    std::string device;
    size_t threads = 0;
    size_t trainingSeed = 0;
    std::string config; // as --print-config prints it
    std::vector<std::string> commands;
};

// A file of rows. Each row is written and flushed at once.
class RowFile
{
public:
    virtual ~RowFile() = default;

    // Begins a run. If the last run in the file did not end with exit code 0, this one takes its place.
    virtual void BeginRun(const RunStart& /*start*/) {}
    // Drops the command's rows of the group after the point; without a point all of them. Replaces the file as a whole.
    virtual void Drop(const std::string& command, RowGroup group, const std::optional<ContinuationPoint>& point) = 0;
    virtual void Add(const MetricsRow& row) = 0;
    // Adds the row of a model that a killed run has saved last, if it had no time for the row.
    virtual void AddMissingModel(const std::string& /*command*/, const std::string& /*path*/) {}
    virtual void AddConfusion(const std::string& /*command*/, const ConfusionCounts& /*counts*/) {}
    virtual void EndRun(int /*exitCode*/, const std::string& /*message*/, double /*seconds*/) {}
};

} // namespace cntk
