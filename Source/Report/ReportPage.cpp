#include "Report/ReportPage.h"

#include "Common/Text.h"
#include "Report/Confusion.h"
#include "Report/Html.h"
#include "Report/Markup.h"
#include "Report/RegionsPicture.h"
#include "Report/ReportCurves.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

// Limits keep the page below 2 MB.
constexpr size_t c_mostNodes = 1000;
constexpr size_t c_mostWarnings = 200;
constexpr size_t c_mostConfigBytes = 400'000;
constexpr size_t c_mostConfusions = 4;

constexpr const char* c_style = R"(
:root{--paper:#ffffff;--ink:#1a1a1a;--faint:#c8c8c8;--first:#1a5fb4;--second:#c64600}
@media (prefers-color-scheme:dark){:root{)";
constexpr const char* c_styleEnd = R"(}}
body{background:var(--paper);color:var(--ink);font-family:sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0}
th,td{border:1px solid var(--faint);padding:.2rem .5rem;text-align:left;vertical-align:top}
td.number{text-align:right}
.wide{overflow-x:auto}
figure{margin:.5rem 0;overflow-x:auto}
svg{max-width:100%;height:auto}
pre{overflow-x:auto;border:1px solid var(--faint);padding:.5rem}
.failed{border-left:.4rem solid var(--second);padding-left:.6rem}
@media print{body{max-width:none}figure,tr{break-inside:avoid}}
)";

std::string StateText(const RunRecord& record)
{
    if (!record.exitCode)
        return "running";
    if (*record.exitCode == 0)
        return "finished";
    return Concat("ended with exit code ", *record.exitCode);
}

std::string AveragesText(const MetricsRow& row, const std::string& criterion)
{
    std::string text = criterion + " " + RoundedNumber(row.criterion.value_or(std::nan("")), 8);
    for (const NodeAverage& node : row.nodes)
        text += ", " + node.name + " " + RoundedNumber(node.average, 8);
    if (const auto accuracy = AccuracyIn(row.nodes))
        text += ", accuracy " + RoundedNumber(100 * *accuracy, 4) + " %";
    return text;
}

std::string HeadOf(const RunRecord& record)
{
    std::string html = Concat("<h1>", EscapeMarkup(record.title), "</h1>\n");
    html += HtmlTable(
        {"started", "duration", "state", "commands"},
        {{record.start.time, ElapsedText(record.seconds), StateText(record), Join(record.start.commands, ", ")}});
    if (!record.message.empty())
        html += "<div class=\"failed\">" + HtmlPreformatted(record.message) + "</div>\n";
    std::vector<HtmlRow> rows;
    for (const CommandRecord& command : record.commands)
    {
        const std::string criterion = command.training ? command.training->criterion.name : "criterion";
        for (const RowKind kind : {RowKind::Epoch, RowKind::Validation})
            if (const MetricsRow* const last = LastRow(command, kind))
                rows.push_back({command.name, kind == RowKind::Epoch ? "last, training" : "last, validation",
                                std::to_string(last->epoch.value_or(0)), AveragesText(*last, criterion)});
        if (const MetricsRow* const best = BestEpoch(command))
            rows.push_back({command.name, best->kind == RowKind::Epoch ? "best, training" : "best, validation",
                            std::to_string(best->epoch.value_or(0)), AveragesText(*best, criterion)});
    }
    return rows.empty() ? html : html + HtmlTable({"command", "", "epoch", "averages per sample"}, rows);
}

std::string ResultsOf(const RunRecord& record)
{
    std::vector<HtmlRow> rows;
    for (const CommandRecord& command : record.commands)
        for (const EvaluationSummary& result : command.results)
        {
            const std::string model = result.modelPath + (result.isBest.value_or(false) ? " (best)" : "");
            for (const NodeAverage& node : result.nodes)
                rows.push_back({command.name, model, std::to_string(result.samples), node.name, node.type,
                                RoundedNumber(node.average, 8)});
            if (const auto accuracy = AccuracyIn(result.nodes))
                rows.push_back({command.name, model, std::to_string(result.samples), "accuracy", "",
                                RoundedNumber(100 * *accuracy, 5) + " %"});
        }
    if (rows.empty())
        return {};
    return HtmlHeading(2, "Results") +
           HtmlTable({"command", "model", "samples", "node", "type", "average per sample"}, rows);
}

std::string CurvesOf(const RunRecord& record)
{
    std::string html;
    for (const CommandRecord& command : record.commands)
        html += ReportOfTraining(command);
    return html.empty() ? html : HtmlHeading(2, "Curves") + html;
}

std::string MeasureText(const std::optional<double>& measure)
{
    return measure ? RoundedNumber(*measure, 6) : std::string();
}

std::string ConfusionOf(const ConfusionCounts& counts)
{
    std::string html = "<figure>\n" + ConfusionPicture(counts).Element() + "</figure>\n";
    std::vector<HtmlRow> rows;
    for (size_t i = 0; i < std::min(counts.Classes(), c_mostNodes); ++i)
        rows.push_back({counts.NameOf(i), std::to_string(counts.OfLabel(i)), std::to_string(counts.OfPrediction(i)),
                        std::to_string(counts.Count(i, i)), MeasureText(counts.Precision(i)),
                        MeasureText(counts.Recall(i)), MeasureText(counts.F1(i))});
    html += HtmlDetails("Numbers of the classes",
                        HtmlTable({"class", "samples", "predicted", "right", "precision", "recall", "F1"}, rows));
    rows.clear();
    for (const ConfusionCounts::Pair& pair : counts.MostFrequentErrors(100))
        rows.push_back({counts.NameOf(pair.label), counts.NameOf(pair.predicted), std::to_string(pair.count)});
    return rows.empty()
               ? html
               : html + HtmlDetails("Most frequent errors", HtmlTable({"label", "predicted", "samples"}, rows));
}

std::string ConfusionsOf(const RunRecord& record)
{
    std::string html;
    size_t number = 0;
    for (const CommandRecord& command : record.commands)
    {
        for (const ConfusionCounts& counts : command.confusions)
            if (number++ < c_mostConfusions)
                html += HtmlHeading(3, command.name + ": " + counts.Node()) + ConfusionOf(counts);
        if (command.regions && !command.confusions.empty())
            html +=
                "<figure>\n" + RegionsPicture(*command.regions, command.confusions.front()).Element() + "</figure>\n";
    }
    if (number > c_mostConfusions)
        html += HtmlParagraph(Concat("Not shown here: ", number - c_mostConfusions, " more."));
    return html.empty() ? html : HtmlHeading(2, "Confusion") + html;
}

std::string NetworksOf(const RunRecord& record)
{
    std::string html;
    for (const CommandRecord& command : record.commands)
    {
        if (!command.training)
            continue;
        const TrainingBegin& training = *command.training;
        size_t parameters = 0;
        std::vector<HtmlRow> rows;
        for (const NodeLine& node : training.network)
        {
            parameters += node.parameters;
            if (rows.size() < c_mostNodes)
                rows.push_back({node.name, node.type, Join(node.inputs, ", "), node.dimensions,
                                node.parameters == 0 ? "" : std::to_string(node.parameters)});
        }
        html += HtmlHeading(3, command.name);
        std::string text = Concat(Counted(training.network.size(), "node"), ", ", parameters, " trained numbers, on ",
                                  training.device);
        if (command.bytes > 0)
            text += Concat("; ", RoundedNumber(double(command.bytes) / 1e6, 3), " MB for values and gradients");
        if (rows.size() < training.network.size())
            text += Concat("; the first ", rows.size(), " nodes:");
        html += HtmlParagraph(text);
        html += HtmlDetails("Nodes", HtmlTable({"node", "type", "inputs", "dimensions", "parameters"}, rows));
    }
    return html.empty() ? html : HtmlHeading(2, "Network") + html;
}

std::string ConfigOf(const RunRecord& record)
{
    std::string config = record.start.config;
    std::string note;
    if (config.size() > c_mostConfigBytes)
    {
        note = HtmlParagraph(Concat("The first ", c_mostConfigBytes, " bytes of ", config.size(), ":"));
        config.resize(c_mostConfigBytes);
    }
    return HtmlHeading(2, "Effective config") + note +
           HtmlDetails("Each value with its origin", HtmlPreformatted(config));
}

std::string EnvironmentOf(const RunRecord& record)
{
    std::vector<HtmlRow> rows;
    for (const auto& [name, value] : record.environment)
        rows.push_back({name, value});
    std::string html = HtmlHeading(2, "Environment") + HtmlTable({"", ""}, rows);
    rows.clear();
    for (const DataFile& file : record.dataFiles)
        rows.push_back({file.key, file.path, std::to_string(file.bytes), file.changed});
    if (!rows.empty())
        html +=
            HtmlHeading(3, "Files that the config names") + HtmlTable({"named by", "file", "bytes", "changed"}, rows);
    rows.clear();
    for (const CommandRecord& command : record.commands)
    {
        for (const SavedModel& model : command.models)
            rows.push_back({command.name, model.path, std::to_string(model.bytes), std::to_string(model.parameters)});
        for (const std::string& file : command.files)
            rows.push_back({command.name, file, "", ""});
    }
    if (!rows.empty())
        html +=
            HtmlHeading(3, "Files written") +
            HtmlDetails(Counted(rows.size(), "file"), HtmlTable({"command", "file", "bytes", "trained numbers"}, rows));
    return html;
}

std::string WarningsOf(const RunRecord& record)
{
    std::string html = HtmlHeading(2, "Warnings");
    if (record.warnings.empty())
        return html + HtmlParagraph("None.");
    html += "<ul>\n";
    for (size_t i = 0; i < std::min(record.warnings.size(), c_mostWarnings); ++i)
        html += "<li>" + EscapeMarkup(record.warnings[i]) + "</li>\n";
    html += "</ul>\n";
    if (record.warnings.size() > c_mostWarnings)
        html += HtmlParagraph(Concat("Not shown here: ", record.warnings.size() - c_mostWarnings, " more."));
    return html;
}

} // namespace

std::string ReportPage(const RunRecord& record)
{
    std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                       "'unsafe-inline'; img-src data:\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n";
    html += "<title>" + EscapeMarkup(record.title) + "</title>\n<style>";
    html += c_style;
    html += c_darkColours;
    html += c_styleEnd;
    html += "</style>\n</head>\n<body>\n";
    html += HeadOf(record) + ResultsOf(record) + CurvesOf(record) + ConfusionsOf(record) + NetworksOf(record) +
            ConfigOf(record) + EnvironmentOf(record) + WarningsOf(record);
    return html + "</body>\n</html>\n";
}

} // namespace cntk
