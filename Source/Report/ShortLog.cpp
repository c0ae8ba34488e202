#include "Report/ShortLog.h"

#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Common/WrappedText.h"
#include "Report/Markup.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

constexpr size_t c_mostWarningsInSummary = 10;
constexpr size_t c_mostFiles = 12;

std::string PercentText(double share)
{
    return RoundedNumber(100 * share, 3) + "%";
}

// "loss 0.0744 error 3.1%", or with the name of another evaluation node.
std::string LossText(const MetricsRow& row, std::string_view loss, bool withName = true)
{
    std::string text = Concat(loss, RoundedNumber(row.criterion.value_or(std::nan("")), 3));
    if (!row.nodes.empty())
    {
        const NodeAverage& node = row.nodes.front();
        const bool isError = node.type == "ErrorPrediction";
        text += withName ? Concat(" ", isError ? "error" : node.name, " ") : " ";
        text += isError ? PercentText(node.average) : RoundedNumber(node.average, 3);
    }
    return text;
}

std::string AccuracyText(const std::vector<NodeAverage>& nodes)
{
    const auto accuracy = AccuracyIn(nodes);
    return accuracy ? Concat(" (accuracy ", RoundedNumber(100 * *accuracy, 4), "%)") : std::string();
}

std::string EpochText(const MetricsRow& row)
{
    const char* const loss = row.kind == RowKind::Validation ? "Validation loss " : "training loss ";
    return LossText(row, loss) + AccuracyText(row.nodes);
}

std::string SpeedText(double samples, double seconds)
{
    return seconds > 0 ? ShortCount(samples / seconds) : std::string("?");
}

std::string ResultText(const EvaluationSummary& result)
{
    std::vector<std::string> parts;
    for (const NodeAverage& node : result.nodes)
        parts.push_back(Concat(node.name, " ", RoundedNumber(node.average, 5)));
    const std::string epoch = result.epoch ? Concat(" (epoch ", *result.epoch, ")") : std::string();
    return Concat(Counted(result.samples, "sample"), epoch, ": ", Join(parts, ", "), AccuracyText(result.nodes));
}

// Paragraphs of the summary, in lines of the terminal's width.
class SummaryText
{
public:
    explicit SummaryText(size_t columns) : m_columns(columns) {}

    void Add(size_t indent, const std::string& text)
    {
        m_text += std::string(indent, ' ') + Wrapped(text, indent + 4, indent, m_columns) + "\n";
    }
    void AddAsItIs(const std::string& text) { m_text += text; }
    const std::string& Text() const { return m_text; }

private:
    size_t m_columns;
    std::string m_text;
};

void AddTraining(const CommandRecord& command, SummaryText& summary)
{
    if (!command.training)
        return;
    if (command.epochsHere > 0)
    {
        const double waited = command.secondsHere > 0 ? command.secondsWaited / command.secondsHere : 0;
        summary.Add(2, Concat(command.name, ": ", Counted(command.epochsHere, "epoch"), " in ",
                              ElapsedText(command.seconds), ", ",
                              SpeedText(double(command.samplesHere), command.secondsHere),
                              " samples/s, waiting for data ", PercentText(waited)));
    }
    const MetricsRow* const best = BestEpoch(command);
    if (best != nullptr)
        summary.Add(4, Concat("best: epoch ", *best->epoch, ", ", EpochText(*best)));
    if (const MetricsRow* const last = LastRow(command, RowKind::Epoch))
    {
        const MetricsRow* const validation = LastRow(command, RowKind::Validation);
        summary.Add(4, Concat("last: epoch ", *last->epoch, ", ", EpochText(*last),
                              validation != nullptr && validation->epoch == last->epoch ? ", " + EpochText(*validation)
                                                                                        : std::string()));
    }
}

// Final models and other files; models of epochs are only counted, without those that keepModels has removed.
void AddFiles(const RunRecord& record, SummaryText& summary)
{
    std::vector<std::string> files;
    size_t others = 0;
    for (const CommandRecord& command : record.commands)
    {
        for (const SavedModel& model : command.models)
            if (command.training && model.path == command.training->modelPath)
                files.push_back(model.path);
            else if (FileExists(model.path))
                ++others;
        files.insert(files.end(), command.files.begin(), command.files.end());
    }
    files.insert(files.end(), record.files.begin(), record.files.end());
    if (files.size() > c_mostFiles)
    {
        const size_t rest = files.size() - c_mostFiles;
        files.resize(c_mostFiles);
        files.push_back(Concat("and ", rest, " more"));
    }
    if (others > 0)
        files.push_back(Counted(others, "model") + " of epochs");
    if (!files.empty())
        summary.Add(2, "files: " + Join(files, ", "));
}

void AddWarnings(const RunRecord& record, bool isColoured, SummaryText& summary)
{
    if (record.warnings.empty())
        return;
    summary.AddAsItIs(isColoured ? "\x1b[33m" : "");
    summary.Add(2, Counted(record.warnings.size(), "warning") + ":");
    for (size_t i = 0; i < std::min(record.warnings.size(), c_mostWarningsInSummary); ++i)
        summary.Add(4, record.warnings[i]);
    if (record.warnings.size() > c_mostWarningsInSummary)
        summary.Add(4, Concat("and ", record.warnings.size() - c_mostWarningsInSummary, " more"));
    summary.AddAsItIs(isColoured ? "\x1b[0m" : "");
}

} // namespace

std::string ShortCount(double number)
{
    if (number >= 1e9)
        return RoundedNumber(number / 1e9, 3) + "G";
    if (number >= 1e6)
        return RoundedNumber(number / 1e6, 3) + "M";
    if (number >= 1e4)
        return RoundedNumber(number / 1e3, 3) + "k";
    return RoundedNumber(std::round(number), 4);
}

std::string ShortEpochLine(const MetricsRow& epoch, const MetricsRow* validation, size_t maxEpochs, double secondsLeft,
                           size_t columns)
{
    const std::string speed = SpeedText(double(epoch.samples.value_or(0)), epoch.seconds.value_or(0));
    const double rate = epoch.learningRatePerSample.value_or(0);
    const std::string left = secondsLeft < 0 ? std::string() : DurationText(secondsLeft);
    const std::string validated = validation != nullptr ? LossText(*validation, "Validation loss ") : std::string();
    const size_t number = epoch.epoch.value_or(0);
    const auto join = [](const std::vector<std::string>& parts, const char* separator)
    {
        std::string line;
        for (const std::string& part : parts)
            if (!part.empty())
                line += (line.empty() ? "" : separator) + part;
        return line;
    };
    std::string line =
        join({Concat("Epoch ", number, " of ", maxEpochs, ": ", LossText(epoch, "loss ")), validated,
              "rate " + RoundedNumber(rate, 3), speed + " samples/s", left.empty() ? left : left + " left"},
             "  ");
    // Each step leaves out more. All epochs begin with the same step, so that their lines look alike.
    enum Step
    {
        Abbreviated,
        WithoutWords,
        WithoutSpeed,
        WithoutRate,
        Steps
    };
    constexpr size_t c_columnsForWords = 100;
    for (int step = validated.empty() || columns >= c_columnsForWords ? Abbreviated : WithoutWords;
         step < Steps && CellsOf(line) >= columns; ++step)
    {
        const bool withWords = step < WithoutWords;
        line = join({Concat(number, "/", maxEpochs, ": ", LossText(epoch, withWords ? "loss " : "", withWords)),
                     validated, step < WithoutRate ? "rate " + RoundedNumber(rate, 2) : "",
                     step < WithoutSpeed ? speed + "/s" : "", left},
                    " ");
    }
    return line;
}

void ShortLog::Print(const std::string& line)
{
    m_log.WriteShort(line + "\n");
}

size_t ShortLog::Columns() const
{
    constexpr size_t c_unlimited = 1000;
    return m_log.HasTerminal() ? m_log.TerminalColumns() : c_unlimited;
}

void ShortLog::PrintWrapped(const std::string& text)
{
    constexpr size_t c_indent = 4;
    Print(Wrapped(text, c_indent, 0, Columns()));
}

void ShortLog::TrainingBegins(const TrainingBegin& training)
{
    const std::string& name = m_record.commands.back().name;
    size_t parameters = 0;
    for (const NodeLine& node : training.network)
        parameters += node.parameters;
    if (training.isResumed && training.minibatchesDone > 0)
        PrintWrapped(Concat(name, ": resumes in epoch ", training.epochsDone + 1, ", after minibatch ",
                            training.minibatchesDone));
    else if (training.isResumed && training.epochsDone > 0)
        Print(Concat(name, ": resumes after epoch ", training.epochsDone));
    PrintWrapped(Concat(name, ": trains ", Counted(parameters, "parameter"), " to epoch ", training.maxEpochs, " on ",
                        training.device));
}

void ShortLog::TrainingIsDone(const std::string& modelPath)
{
    PrintWrapped(Concat(m_record.commands.back().name, ": nothing to train, since '", modelPath,
                        "' is finished; makeMode=false trains anew"));
}

void ShortLog::EpochBegins(size_t)
{
    PrintEpoch();
}

void ShortLog::EpochEnds(const EpochSummary&)
{
    const CommandRecord& command = m_record.commands.back();
    m_epoch = command.epochs.back();
    if (!command.training->isValidated)
        PrintEpoch();
}

void ShortLog::ValidationEnds(const ValidationSummary&)
{
    m_validation = m_record.commands.back().epochs.back();
    PrintEpoch();
}

void ShortLog::PrintEpoch()
{
    if (!m_epoch)
        return;
    const CommandRecord& command = m_record.commands.back();
    const size_t maxEpochs = command.training->maxEpochs, done = m_epoch->epoch.value_or(0);
    const double left =
        command.secondsHere / double(command.epochsHere) * double(maxEpochs - std::min(done, maxEpochs));
    Print(ShortEpochLine(*m_epoch, m_validation ? &*m_validation : nullptr, maxEpochs, left, Columns()));
    m_epoch.reset();
    m_validation.reset();
}

void ShortLog::EvaluationEnds(const EvaluationSummary& evaluation)
{
    PrintWrapped(m_record.commands.back().name + ": " + ResultText(evaluation));
}

void ShortLog::CommandEnds()
{
    PrintEpoch();
    const CommandRecord& command = m_record.commands.back();
    if (command.training || !command.finishedModel.empty() || !command.results.empty())
        return;
    std::string line = Concat(command.name, ": ", command.action, " done in ", ElapsedText(command.seconds));
    if (!command.files.empty())
        line += ", wrote " + Join(command.files, ", ");
    PrintWrapped(line);
}

void ShortLog::EndRun()
{
    PrintEpoch();
    SummaryText summary(Columns());
    summary.AddAsItIs(Concat("\nFinished in ", ElapsedText(m_record.seconds), "\n"));
    for (const CommandRecord& command : m_record.commands)
    {
        AddTraining(command, summary);
        for (const EvaluationSummary& result : command.results)
            if (!result.isBest || *result.isBest)
                summary.Add(2, command.name + ": " + ResultText(result));
    }
    AddFiles(m_record, summary);
    AddWarnings(m_record, m_log.HasTerminal(), summary);
    m_log.WriteShort(summary.Text());
}

} // namespace cntk
