#include "Report/ReportCurves.h"

#include "Common/Text.h"
#include "Report/CurvePicture.h"
#include "Report/Html.h"
#include "Report/Markup.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace cntk
{

namespace
{

constexpr double c_missing = std::numeric_limits<double>::quiet_NaN();
constexpr size_t c_mostTableRows = 1000;
constexpr double c_logarithmicFrom = 30; // ratio of the largest to the smallest rate

using Points = std::vector<std::pair<double, double>>;
using ValueOfRow = std::function<double(const MetricsRow&)>;

Points PointsOf(const CommandRecord& command, RowKind kind, const ValueOfRow& value)
{
    Points points;
    for (const MetricsRow& row : command.epochs)
        if (row.kind == kind)
            points.emplace_back(double(row.epoch.value_or(0)), value(row));
    return points;
}

bool HasNumbers(const Points& points)
{
    return std::any_of(points.begin(), points.end(), [](const auto& point) { return std::isfinite(point.second); });
}

double ValueOfNode(const MetricsRow& row, const std::string& name)
{
    for (const NodeAverage& node : row.nodes)
        if (node.name == name)
            return node.average;
    return c_missing;
}

// The evaluation nodes of the rows, in their order.
std::vector<NodeAverage> EvaluationsOf(const CommandRecord& command)
{
    if (command.training)
        return command.training->evaluations;
    const MetricsRow* const last = LastRow(command, RowKind::Epoch);
    return last != nullptr ? last->nodes : std::vector<NodeAverage>();
}

std::string Panel(const CommandRecord& command, const CurveAxes& axes, const ValueOfRow& value)
{
    std::vector<Curve> curves{{"training", PointsOf(command, RowKind::Epoch, value), false}};
    if (Points validation = PointsOf(command, RowKind::Validation, value); HasNumbers(validation))
        curves.push_back({"validation", std::move(validation), true});
    return "<figure>\n" + CurvePicture(axes, curves).Element() + "</figure>\n";
}

std::string RatePanel(const CommandRecord& command)
{
    const auto rate = [](const MetricsRow& row) { return row.learningRatePerSample.value_or(c_missing); };
    const Points points = PointsOf(command, RowKind::Epoch, rate);
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const auto& point : points)
        if (point.second > 0)
        {
            low = std::min(low, point.second);
            high = std::max(high, point.second);
        }
    if (high == 0)
        return {};
    const CurveAxes axes{command.name + ": learning rate", "epoch", "learning rate per sample",
                         high / low > c_logarithmicFrom};
    return "<figure>\n" + CurvePicture(axes, {{"learning rate", points, false}}).Element() + "</figure>\n";
}

std::string EightDigits(const std::optional<double>& value)
{
    return value ? RoundedNumber(*value, 8) : std::string();
}

std::string NumbersTable(const CommandRecord& command, const std::string& criterion,
                         const std::vector<NodeAverage>& evaluations)
{
    HtmlRow headings{"epoch", "samples seen", criterion + " (training)"};
    for (const NodeAverage& node : evaluations)
        headings.push_back(node.name + " (training)");
    const bool isValidated = LastRow(command, RowKind::Validation) != nullptr;
    if (isValidated)
        headings.push_back(criterion + " (validation)");
    if (isValidated && !evaluations.empty())
        headings.push_back(evaluations.front().name + " (validation)");
    headings.insert(headings.end(), {"learning rate per sample", "minibatch size", "seconds", "waiting for data, s"});

    std::map<size_t, const MetricsRow*> validations;
    size_t epochs = 0;
    for (const MetricsRow& row : command.epochs)
    {
        if (row.kind == RowKind::Validation)
            validations[row.epoch.value_or(0)] = &row;
        else
            ++epochs;
    }
    const size_t step = std::max<size_t>((epochs + c_mostTableRows - 1) / c_mostTableRows, 1);
    std::vector<HtmlRow> rows;
    size_t number = 0;
    for (const MetricsRow& row : command.epochs)
    {
        if (row.kind != RowKind::Epoch || number++ % step != 0)
            continue;
        HtmlRow cells{std::to_string(row.epoch.value_or(0)), std::to_string(row.samplesSeen.value_or(0)),
                      EightDigits(row.criterion)};
        for (const NodeAverage& node : evaluations)
            cells.push_back(RoundedNumber(ValueOfNode(row, node.name), 8));
        const auto found = validations.find(row.epoch.value_or(0));
        const MetricsRow* const validation = found == validations.end() ? nullptr : found->second;
        if (isValidated)
            cells.push_back(validation != nullptr ? EightDigits(validation->criterion) : "");
        if (isValidated && !evaluations.empty())
            cells.push_back(validation != nullptr ? RoundedNumber(ValueOfNode(*validation, evaluations.front().name), 8)
                                                  : "");
        cells.insert(cells.end(),
                     {RoundedNumber(row.learningRatePerSample.value_or(c_missing), 6),
                      std::to_string(row.minibatchSize.value_or(0)), RoundedNumber(row.seconds.value_or(0), 4),
                      RoundedNumber(row.secondsWaited.value_or(0), 4)});
        rows.push_back(std::move(cells));
    }
    std::string title = "Numbers of the curves";
    if (step > 1)
        title += Concat(" (every ", step, "th epoch)");
    return HtmlDetails(title, HtmlTable(headings, rows));
}

} // namespace

std::string ReportOfTraining(const CommandRecord& command)
{
    if (LastRow(command, RowKind::Epoch) == nullptr)
        return {};
    const std::vector<NodeAverage> evaluations = EvaluationsOf(command);
    const std::string criterion = command.training ? command.training->criterion.name : "criterion";
    std::string html = HtmlHeading(3, command.name);
    html += Panel(command, {command.name + ": " + criterion, "epoch", criterion + " per sample", false},
                  [](const MetricsRow& row) { return row.criterion.value_or(c_missing); });
    for (const NodeAverage& node : evaluations)
    {
        const std::string y =
            node.type == "ErrorPrediction" ? "share of samples that are wrong" : node.name + " per sample";
        html += Panel(command, {command.name + ": " + node.name, "epoch", y, false},
                      [&](const MetricsRow& row) { return ValueOfNode(row, node.name); });
    }
    html += RatePanel(command);
    return html + NumbersTable(command, criterion, evaluations);
}

} // namespace cntk
