#include "Report/ShortLog.h"

#include "Common/Log.h"
#include "Common/Text.h"
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
std::string LossText(const MetricsRow& row, std::string_view loss)
{
    std::string text = Concat(loss, RoundedNumber(row.criterion.value_or(std::nan("")), 3));
    if (!row.nodes.empty())
    {
        const NodeAverage& node = row.nodes.front();
        text += node.type == "ErrorPrediction" ? " error " + PercentText(node.average)
                                               : Concat(" ", node.name, " ", RoundedNumber(node.average, 3));
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

void AddTraining(const CommandRecord& command, std::string& text)
{
    if (!command.training)
        return;
    if (command.epochsHere > 0)
    {
        const double waited = command.secondsHere > 0 ? command.secondsWaited / command.secondsHere : 0;
        text += Concat("  ", command.name, ": ", Counted(command.epochsHere, "epoch"), " in ",
                       DurationText(command.seconds), ", ", SpeedText(double(command.samplesHere), command.secondsHere),
                       " samples/s, waiting for data ", PercentText(waited), "\n");
    }
    const MetricsRow* const best = BestEpoch(command);
    if (best != nullptr)
        text += Concat("    best: epoch ", *best->epoch, ", ", EpochText(*best), "\n");
    if (const MetricsRow* const last = LastRow(command, RowKind::Epoch))
    {
        const MetricsRow* const validation = LastRow(command, RowKind::Validation);
        text += Concat(
            "    last: epoch ", *last->epoch, ", ", EpochText(*last),
            validation != nullptr && validation->epoch == last->epoch ? ",\n          " + EpochText(*validation) : "",
            "\n");
    }
}

// Final models and other files; models of epochs are only counted.
void AddFiles(const RunRecord& record, std::string& text)
{
    std::vector<std::string> files;
    size_t others = 0;
    for (const CommandRecord& command : record.commands)
    {
        for (const SavedModel& model : command.models)
            if (command.training && model.path == command.training->modelPath)
                files.push_back(model.path);
            else
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
        text += "  files: " + Join(files, ", ") + "\n";
}

void AddWarnings(const RunRecord& record, bool isColoured, std::string& text)
{
    if (record.warnings.empty())
        return;
    text += Concat(isColoured ? "\x1b[33m" : "", "  ", Counted(record.warnings.size(), "warning"), ":\n");
    for (size_t i = 0; i < std::min(record.warnings.size(), c_mostWarningsInSummary); ++i)
        text += "    " + record.warnings[i] + "\n";
    if (record.warnings.size() > c_mostWarningsInSummary)
        text += Concat("    and ", record.warnings.size() - c_mostWarningsInSummary, " more\n");
    text += isColoured ? "\x1b[0m" : "";
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
    const std::string rate = "rate " + RoundedNumber(epoch.learningRatePerSample.value_or(0), 3);
    const std::string left = secondsLeft < 0 ? std::string() : DurationText(secondsLeft);
    const std::string validated = validation != nullptr ? LossText(*validation, "Validation loss ") : std::string();
    const size_t number = epoch.epoch.value_or(0);
    const auto add = [](std::string& line, const char* separator, const std::string& part)
    {
        if (!part.empty())
            line += separator + part;
    };
    std::string line = Concat("Epoch ", number, " of ", maxEpochs, ": ", LossText(epoch, "loss "));
    add(line, "  ", validated);
    add(line, "  ", rate);
    add(line, "  ", speed + " samples/s");
    add(line, "  ", left.empty() ? left : left + " left");
    if (CellsOf(line) < columns)
        return line;
    const auto shortLine = [&](bool withLoss, bool withRate, bool withSpeed)
    {
        line = Concat(number, "/", maxEpochs, ": ", LossText(epoch, withLoss ? "loss " : ""));
        add(line, " ", validated);
        add(line, " ", withRate ? rate : "");
        add(line, " ", withSpeed ? speed + "/s" : "");
        add(line, " ", left);
        return CellsOf(line) < columns;
    };
    if (!shortLine(true, true, true) && !shortLine(false, true, true) && !shortLine(false, true, false))
        shortLine(false, false, false);
    return line;
}

void ShortLog::Print(const std::string& line)
{
    m_log.WriteShort(line + "\n");
}

void ShortLog::TrainingBegins(const TrainingBegin& training)
{
    const std::string& name = m_record.commands.back().name;
    size_t parameters = 0;
    for (const NodeLine& node : training.network)
        parameters += node.parameters;
    if (training.isResumed && training.minibatchesDone > 0)
        Print(Concat(name, ": resumes in epoch ", training.epochsDone + 1, ", after minibatch ",
                     training.minibatchesDone));
    else if (training.isResumed && training.epochsDone > 0)
        Print(Concat(name, ": resumes after epoch ", training.epochsDone));
    Print(Concat(name, ": trains ", Counted(parameters, "parameter"), " to epoch ", training.maxEpochs, " on ",
                 training.device));
}

void ShortLog::TrainingIsDone(const std::string& modelPath)
{
    Print(Concat(m_record.commands.back().name, ": nothing to train, since '", modelPath,
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
    constexpr size_t c_unlimited = 1000;
    Print(ShortEpochLine(*m_epoch, m_validation ? &*m_validation : nullptr, maxEpochs, left,
                         m_log.HasTerminal() ? m_log.TerminalColumns() : c_unlimited));
    m_epoch.reset();
    m_validation.reset();
}

void ShortLog::EvaluationEnds(const EvaluationSummary& evaluation)
{
    Print(m_record.commands.back().name + ": " + ResultText(evaluation));
}

void ShortLog::CommandEnds()
{
    PrintEpoch();
    const CommandRecord& command = m_record.commands.back();
    if (command.training || !command.finishedModel.empty() || !command.results.empty())
        return;
    std::string line = Concat(command.name, ": ", command.action, " done in ", RoundedNumber(command.seconds, 3), " s");
    if (!command.files.empty())
        line += ", wrote " + Join(command.files, ", ");
    Print(line);
}

void ShortLog::EndRun()
{
    PrintEpoch();
    std::string text = Concat("\nFinished in ", DurationText(m_record.seconds), "\n");
    for (const CommandRecord& command : m_record.commands)
    {
        AddTraining(command, text);
        for (const EvaluationSummary& result : command.results)
            if (!result.isBest || *result.isBest)
                text += Concat("  ", command.name, ": ", ResultText(result), "\n");
    }
    AddFiles(m_record, text);
    AddWarnings(m_record, m_log.HasTerminal(), text);
    m_log.WriteShort(text);
}

} // namespace cntk
