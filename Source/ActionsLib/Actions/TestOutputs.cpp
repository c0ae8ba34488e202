#include "ActionsLib/Actions/TestOutputs.h"

#include "Common/Error.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"

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
    RequireNotRead({"predictions", paths.predictions},
                   {{"confusion", paths.confusionCsv}, {"confusion", paths.confusionSvg}},
                   block.WhereOf("predictions"));
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

TestOutputs::TestOutputs(const TestOutputPaths& paths, ComputationNetwork& network,
                         const std::vector<ComputationNodePtr>& evaluated, const MinibatchSource& source,
                         RunListener* listener)
    : m_paths(paths), m_source(source), m_listener(listener)
{
    ComputationNodePtr first = m_paths.AreAsked() ? RequireClassifier(evaluated) : nullptr;
    for (const ComputationNodePtr& node : evaluated)
        if (ClassificationRecorder::CanRecord(*node) && (listener != nullptr || node == first))
        {
            if (m_recorders.empty() && listener != nullptr)
                m_plane = FeaturePlane::Of(network, node);
            m_recorders.push_back(std::make_unique<ClassificationRecorder>(node, source.Streams()));
        }
    if (m_paths.predictions.empty())
        return;
    m_predictions.emplace(m_paths.predictions, m_recorders.front()->Counts());
    m_recorders.front()->Visit([this](const ClassifiedSample& sample) { m_predictions->Add(sample); });
}

void TestOutputs::AddTo(EvaluationSettings& settings)
{
    if (m_recorders.empty())
        return;
    for (const std::unique_ptr<ClassificationRecorder>& recorder : m_recorders)
        for (const ComputationNodePtr& node : recorder->NodesToKeep())
            settings.keepValues.push_back(node);
    if (m_plane)
        settings.keepValues.push_back(m_plane->Features());
    settings.afterMinibatch = [this] { AddMinibatch(); };
}

void TestOutputs::AddMinibatch()
{
    for (const std::unique_ptr<ClassificationRecorder>& recorder : m_recorders)
        recorder->AddMinibatch(m_source.SequenceKeys());
    if (m_plane)
        m_plane->AddMinibatch();
}

void TestOutputs::Finish()
{
    if (m_predictions)
        m_predictions->Commit();
    if (!m_paths.confusionCsv.empty())
    {
        WriteWhole(m_paths.confusionCsv, ConfusionCsv(m_recorders.front()->Counts()));
        WriteWhole(m_paths.confusionSvg, ConfusionPicture(m_recorders.front()->Counts()).File());
    }
    if (m_listener == nullptr)
        return;
    for (const std::unique_ptr<ClassificationRecorder>& recorder : m_recorders)
        m_listener->ClassificationEnds(recorder->Counts());
    if (m_plane)
        if (const std::optional<ClassRegions> regions = m_plane->Evaluate())
            m_listener->RegionsAreKnown(*regions);
}

} // namespace cntk
