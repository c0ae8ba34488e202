#include "Report/RunRecord.h"

#include "Common/Text.h"
#include "Report/Markup.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

const MetricsRow* BestEpoch(const CommandRecord& command)
{
    const bool isValidated = LastRow(command, RowKind::Validation) != nullptr;
    const MetricsRow* best = nullptr;
    for (const MetricsRow& row : command.epochs)
        if (row.kind == (isValidated ? RowKind::Validation : RowKind::Epoch) && row.criterion &&
            std::isfinite(*row.criterion) && (best == nullptr || *row.criterion < *best->criterion))
            best = &row;
    return best;
}

const MetricsRow* LastRow(const CommandRecord& command, RowKind kind)
{
    const auto found = std::find_if(command.epochs.rbegin(), command.epochs.rend(),
                                    [kind](const MetricsRow& row) { return row.kind == kind; });
    return found == command.epochs.rend() ? nullptr : &*found;
}

std::optional<double> AccuracyIn(const std::vector<NodeAverage>& nodes)
{
    for (const NodeAverage& node : nodes)
        if (node.type == "ErrorPrediction")
            return 1 - node.average;
    return {};
}

std::string DurationText(double seconds)
{
    const auto whole = size_t(std::max(0.0, std::min(std::round(seconds), 3.6e8)));
    const auto twoDigits = [](size_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
    return whole < 3600 ? Concat(whole / 60, ":", twoDigits(whole % 60))
                        : Concat(whole / 3600, ":", twoDigits(whole / 60 % 60), ":", twoDigits(whole % 60));
}

std::string ElapsedText(double seconds)
{
    constexpr double c_minute = 59.5;
    return seconds < c_minute ? RoundedNumber(seconds, 2) + " s" : DurationText(seconds);
}

} // namespace cntk
