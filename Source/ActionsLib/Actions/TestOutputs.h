// The files of classified samples that a test writes: confusion= and predictions=.
#pragma once

#include "Common/Config/Options.h"
#include "Report/Confusion.h"
#include "SGD/Evaluation/Classification.h"
#include "SGD/Evaluation/Evaluation.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

struct TestOutputOptions
{
    std::string confusion;
    std::string predictions;

    static OptionTable<TestOutputOptions> Options();
};

// The paths of the options. confusion=x, x.csv and x.svg all stand for the two files x.csv and x.svg.
struct TestOutputPaths
{
    std::string confusionCsv; // empty: none, as for the others
    std::string confusionSvg;
    std::string predictions;

    bool AreAsked() const { return !confusionCsv.empty() || !predictions.empty(); }
    std::vector<std::string> Files() const;
};

// Fails (Config) for another ending of confusion=, at its place.
TestOutputPaths ReadTestOutputs(const ConfigParameters& block);

// Returns the node whose samples are counted: the first ErrorPrediction without topK. Fails (Config) without one.
ComputationNodePtr RequireClassifier(const std::vector<ComputationNodePtr>& evaluated);

// Counts the samples of one evaluation and writes the files.
class TestOutputs
{
public:
    TestOutputs(const TestOutputPaths& paths, const std::vector<ComputationNodePtr>& evaluated,
                const MinibatchSource& source);

    // Adds what the outputs need to the settings of the evaluation, which must end before this object.
    void AddTo(EvaluationSettings& settings);
    // Writes all files.
    void Finish();

private:
    TestOutputPaths m_paths;
    const MinibatchSource& m_source;
    ClassificationRecorder m_recorder;
    std::optional<PredictionsFile> m_predictions;
};

} // namespace cntk
