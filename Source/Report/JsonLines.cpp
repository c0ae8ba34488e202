#include "Report/JsonLines.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Report/Markup.h"

#ifdef CNTK_WITH_JSON

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

namespace cntk
{

namespace
{

using Json = nlohmann::ordered_json;

constexpr size_t c_mostClassesInCounts = 256;
constexpr size_t c_mostErrorsInRow = 1000;

std::string LineOf(const Json& row)
{
    return row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

struct ParsedLine
{
    std::string_view text; // without line end
    Json row;
};

std::vector<ParsedLine> ParseLines(std::string_view text, const std::string& path)
{
    std::vector<ParsedLine> lines;
    size_t number = 0;
    for (size_t begin = 0; begin < text.size();)
    {
        const size_t end = text.find('\n', begin);
        const std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        ++number;
        if (Trim(line).empty())
            continue;
        Json row = Json::parse(line, nullptr, false);
        if (!row.is_object())
            Fail(ErrorKind::Data, path, ":", number,
                 ": the line is no JSON object, as each line of a metrics file is; remove the line, or give another "
                 "file");
        lines.push_back({line, std::move(row)});
    }
    return lines;
}

template <class Value>
std::optional<Value> Field(const Json& row, const char* name)
{
    const auto found = row.find(name);
    if (found == row.end() || !found->is_number())
        return {};
    return found->get<Value>();
}

std::string TextField(const Json& row, const char* name)
{
    const auto found = row.find(name);
    return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json EvaluationsOf(const MetricsRow& row)
{
    Json evaluations = Json::object();
    for (const NodeAverage& node : row.nodes)
        evaluations[node.name] = node.average;
    return evaluations;
}

Json NodesOf(const MetricsRow& row)
{
    Json nodes = Json::object();
    for (const NodeAverage& node : row.nodes)
        nodes[node.name] = {{"type", node.type}, {"average", node.average}};
    return nodes;
}

void PutModel(const MetricsRow& row, Json& json)
{
    json["path"] = row.path;
    json["bytes"] = row.bytes.value_or(0);
    json["parameters"] = row.parameters.value_or(0);
}

void PutResult(const MetricsRow& row, Json& json)
{
    if (row.isBest)
    {
        json["epoch"] = row.epoch ? Json(*row.epoch) : Json(nullptr); // the final model has no number
        json["best"] = *row.isBest;
    }
    json["samples"] = row.samples.value_or(0);
    json["nodes"] = NodesOf(row);
}

void PutEpoch(const MetricsRow& row, Json& json)
{
    json["epoch"] = row.epoch.value_or(0);
    if (row.minibatch)
        json["minibatch"] = *row.minibatch;
    json["samples"] = row.samples.value_or(0);
    if (row.samplesSeen)
        json["samplesSeen"] = *row.samplesSeen;
    json["criterion"] = row.criterion.value_or(0);
    json["evaluations"] = EvaluationsOf(row);
    if (row.learningRatePerSample)
        json["learningRatePerSample"] = *row.learningRatePerSample;
    if (row.momentumAsTimeConstant)
        json["momentumAsTimeConstant"] = *row.momentumAsTimeConstant;
    if (row.minibatchSize)
        json["minibatchSize"] = *row.minibatchSize;
    if (row.seconds)
        json["seconds"] = *row.seconds;
    if (row.secondsWaited)
        json["secondsWaited"] = *row.secondsWaited;
    if (row.samplesPerSecond)
        json["samplesPerSecond"] = *row.samplesPerSecond;
}

Json RowBegin(RowKind kind, const std::string& command)
{
    return {{"kind", NameOf(kind)}, {"command", command}};
}

Json StartRow(const RunStart& start)
{
    Json row = RowBegin(RowKind::Start, "");
    row["time"] = start.time;
    row["version"] = start.version;
    row["compiler"] = start.compiler;
    row["host"] = start.host;
    row["commandLine"] = start.commandLine;
    row["precision"] = start.precision;
    row["device"] = start.device;
    row["threads"] = start.threads;
    row["trainingSeed"] = start.trainingSeed;
    row["config"] = start.config;
    row["commands"] = start.commands;
    return row;
}

// Index of the last row of a kind; the number of lines if there is none.
size_t LastOfKind(const std::vector<ParsedLine>& lines, RowKind kind)
{
    for (size_t i = lines.size(); i > 0; --i)
        if (TextField(lines[i - 1].row, "kind") == NameOf(kind))
            return i - 1;
    return lines.size();
}

} // namespace

bool HasJsonLines()
{
    return true;
}

JsonLinesFile::JsonLinesFile(const std::string& path, Log& log) : m_storage(path), m_log(log)
{
    ParseLines(m_storage.Read(log), path);
}

void JsonLinesFile::BeginRun(const RunStart& start)
{
    const std::string text = m_storage.Read(m_log);
    const std::vector<ParsedLine> lines = ParseLines(text, m_storage.Path());
    const size_t none = lines.size();
    const size_t last = LastOfKind(lines, RowKind::Start);
    size_t end = LastOfKind(lines, RowKind::End);
    if (end < last)
        end = none;
    const bool continues = last != none && (end == none || Field<int>(lines[end].row, "exit") != 0);
    std::string replaced;
    for (size_t i = 0; i < lines.size(); ++i)
    {
        if (continues && i == last)
            replaced += LineOf(StartRow(start));
        else if (!continues || i != end)
            replaced.append(lines[i].text).append("\n");
    }
    if (!continues)
        replaced += LineOf(StartRow(start));
    m_storage.Replace(replaced);
}

void JsonLinesFile::Drop(const std::string& command, RowGroup group, const std::optional<ContinuationPoint>& point)
{
    const std::string text = m_storage.Read(m_log);
    std::string kept;
    bool isBehind = !point;
    for (const ParsedLine& line : ParseLines(text, m_storage.Path()))
    {
        const auto kind = RowKindOf(TextField(line.row, "kind"));
        const bool isOfCommand =
            kind && IsIn(group, *kind) && (command.empty() || TextField(line.row, "command") == command);
        if (isOfCommand && !isBehind)
            isBehind = point->IsRepeated(*kind, Field<size_t>(line.row, "epoch"), Field<size_t>(line.row, "minibatch"));
        if (!isOfCommand || !isBehind)
            kept.append(line.text).append("\n");
    }
    if (kept != text)
        m_storage.Replace(kept);
}

void JsonLinesFile::Add(const MetricsRow& row)
{
    Json json = RowBegin(row.kind, row.command);
    if (row.kind == RowKind::Model)
        PutModel(row, json);
    else if (row.kind == RowKind::Result)
        PutResult(row, json);
    else
        PutEpoch(row, json);
    m_storage.Append(LineOf(json));
}

void JsonLinesFile::AddMissingModel(const std::string& command, const std::string& path)
{
    const std::string text = m_storage.Read(m_log);
    std::optional<size_t> parameters; // the same for all models of a training
    for (const ParsedLine& line : ParseLines(text, m_storage.Path()))
    {
        if (TextField(line.row, "kind") != NameOf(RowKind::Model) || TextField(line.row, "command") != command)
            continue;
        if (TextField(line.row, "path") == path)
            return;
        parameters = Field<size_t>(line.row, "parameters");
    }
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!parameters || error)
        return;
    MetricsRow row;
    row.kind = RowKind::Model;
    row.command = command;
    row.path = path;
    row.bytes = size_t(bytes);
    row.parameters = parameters;
    Add(row);
}

void JsonLinesFile::AddConfusion(const std::string& command, const ConfusionCounts& counts)
{
    Json row = RowBegin(RowKind::Confusion, command);
    row["node"] = counts.Node();
    std::vector<std::string> labels;
    for (size_t i = 0; i < counts.Classes(); ++i)
        labels.push_back(counts.NameOf(i));
    row["labels"] = labels;
    if (counts.Classes() <= c_mostClassesInCounts)
    {
        std::vector<std::vector<size_t>> matrix(counts.Classes(), std::vector<size_t>(counts.Classes()));
        for (const ConfusionCounts::Pair& pair : counts.Pairs())
            matrix[pair.label][pair.predicted] = pair.count;
        row["counts"] = matrix;
    }
    else
    {
        Json pairs = Json::array();
        for (const ConfusionCounts::Pair& pair : counts.MostFrequentErrors(c_mostErrorsInRow))
            pairs.push_back({pair.label, pair.predicted, pair.count});
        row["pairs"] = pairs;
        row["correct"] = counts.Correct();
        row["total"] = counts.Samples();
    }
    m_storage.Append(LineOf(row));
}

void JsonLinesFile::EndRun(int exitCode, const std::string& message, double seconds)
{
    Json row = RowBegin(RowKind::End, "");
    row["exit"] = exitCode;
    row["message"] = message;
    row["seconds"] = seconds;
    m_storage.Append(LineOf(row));
}

std::vector<MetricsRow> JsonLinesFile::Epochs(const std::string& command) const
{
    std::vector<MetricsRow> rows;
    const std::string text = m_storage.Read(m_log);
    for (const ParsedLine& line : ParseLines(text, m_storage.Path()))
    {
        const auto kind = RowKindOf(TextField(line.row, "kind"));
        if ((kind != RowKind::Epoch && kind != RowKind::Validation) ||
            (!command.empty() && TextField(line.row, "command") != command))
            continue;
        MetricsRow row;
        row.kind = *kind;
        row.command = TextField(line.row, "command");
        row.epoch = Field<size_t>(line.row, "epoch");
        row.samples = Field<size_t>(line.row, "samples");
        row.samplesSeen = Field<size_t>(line.row, "samplesSeen");
        row.criterion = Field<double>(line.row, "criterion");
        row.learningRatePerSample = Field<double>(line.row, "learningRatePerSample");
        row.minibatchSize = Field<size_t>(line.row, "minibatchSize");
        row.seconds = Field<double>(line.row, "seconds");
        row.secondsWaited = Field<double>(line.row, "secondsWaited");
        if (const auto nodes = line.row.find("evaluations"); nodes != line.row.end() && nodes->is_object())
            for (const auto& [name, average] : nodes->items())
                row.nodes.push_back({name, "", average.is_number() ? average.get<double>() : std::nan(""), false});
        rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace cntk

#else

namespace cntk
{

bool HasJsonLines()
{
    return false;
}

JsonLinesFile::JsonLinesFile(const std::string& path, Log& log) : m_storage(path), m_log(log)
{
    Fail(ErrorKind::Config, "'", path,
         "' cannot be written: this program was built without the JSON library (Debian package nlohmann-json3-dev); a "
         "metrics file that ends in .csv needs no library");
}

void JsonLinesFile::BeginRun(const RunStart&) {}
void JsonLinesFile::Drop(const std::string&, RowGroup, const std::optional<ContinuationPoint>&) {}
void JsonLinesFile::Add(const MetricsRow&) {}
void JsonLinesFile::AddMissingModel(const std::string&, const std::string&) {}
void JsonLinesFile::AddConfusion(const std::string&, const ConfusionCounts&) {}
void JsonLinesFile::EndRun(int, const std::string&, double) {}

std::vector<MetricsRow> JsonLinesFile::Epochs(const std::string&) const
{
    return {};
}

} // namespace cntk

#endif
