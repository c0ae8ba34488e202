// The classified samples of a test: the files of confusion= and predictions=, and counts for reports.
#pragma once

#include "ActionsLib/Actions/FeaturePlane.h"
#include "Common/Config/Options.h"
#include "Report/Confusion.h"
#include "SGD/Evaluation/Classification.h"
#include "SGD/Evaluation/Evaluation.h"
#include "SGD/RunListener.h"

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

// Returns the node whose samples the files are about: the first ErrorPrediction without topK. Fails (Config) without
// one.
ComputationNodePtr RequireClassifier(const std::vector<ComputationNodePtr>& evaluated);

// Counts the samples of one evaluation for each classifier, writes the files and tells the listener.
class TestOutputs
{
public:
    // listener: null if nobody wants counts. All arguments must outlive this.
    TestOutputs(const TestOutputPaths& paths, ComputationNetwork& network,
                const std::vector<ComputationNodePtr>& evaluated, const MinibatchSource& source, RunListener* listener);

    // Adds what the outputs need to the settings of the evaluation, which must end before this object.
    void AddTo(EvaluationSettings& settings);
    // Writes all files and tells the listener.
    void Finish();

private:
    void AddMinibatch();

    TestOutputPaths m_paths;
    const MinibatchSource& m_source;
    RunListener* m_listener;
    std::vector<std::unique_ptr<ClassificationRecorder>> m_recorders; // the files are about the first one
    std::optional<PredictionsFile> m_predictions;
    std::optional<FeaturePlane> m_plane;
};

} // namespace cntk
