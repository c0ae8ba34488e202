// Receives the results of a run as they arise, for metrics files, reports and short logs. Epochs count from 1.
#pragma once

#include "SGD/Evaluation/Classification.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// A criterion or evaluation node with its average per sample.
struct NodeAverage
{
    std::string name;
    std::string type;
    double average = 0;
    bool isCriterion = false; // the model lists it among its training criteria
};

// A node of the trained network.
struct NodeLine
{
    std::string name;
    std::string type;
    std::vector<std::string> inputs;
    std::string dimensions;
    size_t parameters = 0; // trainable elements
};

struct TrainingBegin
{
    std::string modelPath;
    size_t maxEpochs = 0;
    // The training continues after so many epochs, and after so many minibatches of the next one.
    size_t epochsDone = 0;
    size_t minibatchesDone = 0;
    bool isResumed = false;
    std::string resumedModel; // of the last network; empty if the training resumes within an epoch
    bool isValidated = false; // after each epoch
    size_t samplesSeen = 0;
    std::string device;
    NodeAverage criterion;                // without average, as are the evaluations
    std::vector<NodeAverage> evaluations; // of training; the first one is evaluated in validation
    std::vector<NodeLine> network;
};

// Results since the previous such event of the epoch.
struct MinibatchResult
{
    size_t epoch = 0;
    size_t minibatch = 0; // the last one
    size_t samples = 0;
    double criterion = 0;
    std::vector<double> evaluations;
    double seconds = 0;
};

struct EpochSummary
{
    size_t epoch = 0;
    size_t samples = 0;
    size_t samplesSeen = 0; // since the training began
    double criterion = 0;
    std::vector<double> evaluations;
    double learningRatePerSample = 0;
    double momentumAsTimeConstant = 0; // samples
    size_t minibatchSize = 0;
    double seconds = 0;
    double secondsWaited = 0; // for data
    size_t bytes = 0;         // allocated for values and gradients
};

struct ValidationSummary
{
    size_t epoch = 0;
    size_t samples = 0;
    double criterion = 0;
    std::vector<double> evaluations; // at most one
};

// Result of a test command, or of one model of a cv command.
struct EvaluationSummary
{
    size_t samples = 0;
    std::vector<NodeAverage> nodes;
    std::optional<size_t> epoch; // of the model; only cv
    std::optional<bool> isBest;  // by the first node, among the models so far; only cv
    std::string modelPath;
};

struct SavedModel
{
    std::string path;
    size_t bytes = 0;
    size_t parameters = 0; // trainable elements
};

// Values of a grid over two features: the class that a network predicts at each point.
struct ClassRegions
{
    size_t size = 0; // points along each axis
    double firstX = 0, lastX = 0;
    double firstY = 0, lastY = 0;
    std::vector<size_t> classes; // size x size; x varies fastest
    struct Point
    {
        double x = 0, y = 0;
        size_t label = 0;
    };
    std::vector<Point> samples;
    std::string features; // name of the input node
};

class RunListener
{
public:
    virtual ~RunListener() = default;

    // True if ClassificationEnds and RegionsAreKnown are wanted, which cost time.
    virtual bool WantsClassification() const { return false; }

    virtual void CommandBegins(const std::string& /*command*/, const std::string& /*action*/) {}
    virtual void CommandEnds() {}
    virtual void TrainingBegins(const TrainingBegin& /*training*/) {}
    // The command has nothing to train: its final model exists.
    virtual void TrainingIsDone(const std::string& /*modelPath*/) {}
    virtual void EpochBegins(size_t /*epoch*/) {}
    virtual void MinibatchesEnd(const MinibatchResult& /*result*/) {}
    virtual void EpochEnds(const EpochSummary& /*epoch*/) {}
    virtual void ValidationEnds(const ValidationSummary& /*validation*/) {}
    virtual void EvaluationEnds(const EvaluationSummary& /*evaluation*/) {}
    virtual void ClassificationEnds(const ConfusionCounts& /*counts*/) {}
    virtual void RegionsAreKnown(const ClassRegions& /*regions*/) {}
    virtual void ModelIsSaved(const SavedModel& /*model*/) {}
    // A file other than models is written.
    virtual void FileIsWritten(const std::string& /*path*/) {}
};

} // namespace cntk
