#include "ActionsLib/Actions/TestOutputs.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

namespace
{

void WriteWhole(const std::string& path, const std::string& text)
{
    AtomicFile file(path);
    file.Write(text);
    file.Commit();
}

// Returns the ending with its dot, in lower case: ".csv". Empty without a dot in the file's name.
std::string EndingOf(const std::string& path)
{
    const size_t dot = path.rfind('.');
    return dot == std::string::npos || path.find('/', dot) != std::string::npos ? std::string()
                                                                                : ToLower(path.substr(dot));
}

} // namespace

OptionTable<TestOutputOptions> TestOutputOptions::Options()
{
    using S = TestOutputOptions;
    return {
        Opt("confusion", &S::confusion,
            "files <confusion>.csv and <confusion>.svg: samples by label and predicted class; precision, recall and F1 "
            "of each class. The classifier is the first evaluated ErrorPrediction without topK"),
        Opt("predictions", &S::predictions,
            "file with a line for each sample: record (its number in the data, from 1), label, predicted class and its "
            "probability; with a reader that has keys of sequences also the key"),
    };
}

std::vector<std::string> TestOutputPaths::Files() const
{
    std::vector<std::string> files;
    for (const std::string& path : {confusionCsv, confusionSvg, predictions})
        if (!path.empty())
            files.push_back(path);
    return files;
}

TestOutputPaths ReadTestOutputs(const ConfigParameters& block)
{
    const TestOutputOptions options = ReadOptions<TestOutputOptions>(block);
    TestOutputPaths paths;
    paths.predictions = options.predictions.empty() ? "" : ResolveOutputPath(options.predictions);
    if (options.confusion.empty())
        return paths;
    std::string base = ResolveOutputPath(options.confusion);
    if (const std::string ending = EndingOf(base); ending == ".csv" || ending == ".svg")
        base.resize(base.size() - ending.size());
    else if (!ending.empty())
        FailAt(block.WhereOf("confusion"), ErrorKind::Config, "confusion=", options.confusion, " ends in ", ending,
               "; expected a name that ends in .csv, since a table (.csv) and a picture (.svg) are written");
    paths.confusionCsv = base + ".csv";
    paths.confusionSvg = base + ".svg";
    return paths;
}

ComputationNodePtr RequireClassifier(const std::vector<ComputationNodePtr>& evaluated)
{
    for (const ComputationNodePtr& node : evaluated)
        if (ClassificationRecorder::CanRecord(*node))
            return node;
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : evaluated)
        names.push_back(Concat("'", node->Name(), "' (", node->TypeName(), ")"));
    Fail(ErrorKind::Config,
         "confusion= and predictions= need an evaluated ErrorPrediction node of two classes or more, without topK; "
         "evaluated are ",
         Join(names, ", "), "; evalNodeNames=<node> evaluates another node of the model");
}

TestOutputs::TestOutputs(const TestOutputPaths& paths, const std::vector<ComputationNodePtr>& evaluated,
                         const MinibatchSource& source)
    : m_paths(paths), m_source(source), m_recorder(RequireClassifier(evaluated), source.Streams())
{
    if (m_paths.predictions.empty())
        return;
    m_predictions.emplace(m_paths.predictions, m_recorder.Counts());
    m_recorder.Visit([this](const ClassifiedSample& sample) { m_predictions->Add(sample); });
}

void TestOutputs::AddTo(EvaluationSettings& settings)
{
    settings.keepValues = m_recorder.NodesToKeep();
    settings.afterMinibatch = [this] { m_recorder.AddMinibatch(m_source.SequenceKeys()); };
}

void TestOutputs::Finish()
{
    if (m_predictions)
        m_predictions->Commit();
    if (m_paths.confusionCsv.empty())
        return;
    WriteWhole(m_paths.confusionCsv, ConfusionCsv(m_recorder.Counts()));
    WriteWhole(m_paths.confusionSvg, ConfusionPicture(m_recorder.Counts()).File());
}

} // namespace cntk
