// The report: everything from users is escaped, nothing comes from elsewhere, and it stays small.
#include "Report/ReportPage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

using testing::HasSubstr;
using testing::Not;

constexpr const char* c_attack = "<img src=x onerror=alert(1)>&\"'";
constexpr const char* c_escaped = "&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;";

RunRecord RecordOfAll(size_t epochs)
{
    RunRecord record;
    record.title = c_attack;
    record.start.config = c_attack;
    record.start.commands = {c_attack};
    record.environment = {{c_attack, c_attack}};
    record.dataFiles = {{c_attack, c_attack, 1, "today"}};
    record.message = c_attack;
    record.warnings = {c_attack};
    record.exitCode = 3;
    CommandRecord command;
    command.name = c_attack;
    command.training.emplace();
    command.training->criterion = {c_attack, "SquareError", 0, true};
    command.training->evaluations = {{c_attack, "ErrorPrediction", 0, false}};
    command.training->network = {{c_attack, c_attack, {c_attack}, c_attack, 5}};
    for (size_t i = 1; i <= epochs; ++i)
    {
        MetricsRow row;
        row.epoch = i;
        row.criterion = 1.0 / double(i);
        row.nodes = {{c_attack, "ErrorPrediction", 0.5 / double(i), false}};
        row.learningRatePerSample = i % 2 == 0 ? 0.1 : 0.001;
        command.epochs.push_back(row);
    }
    EvaluationSummary result;
    result.samples = 3;
    result.nodes = {{c_attack, "ErrorPrediction", 0.25, false}};
    result.modelPath = c_attack;
    command.results = {result};
    ConfusionCounts counts(c_attack, 2, {c_attack, "b"});
    counts.Add(0, 1);
    command.confusions = {counts};
    ClassRegions regions;
    regions.size = 2;
    regions.lastX = regions.lastY = 1;
    regions.classes = {0, 1, 1, 1};
    regions.samples = {{0.5, 0.5, 1}};
    regions.features = c_attack;
    command.regions = regions;
    command.models = {{c_attack, 10, 5}};
    command.files = {c_attack};
    record.commands = {command};
    return record;
}

} // namespace

TEST(ReportPageTest, EverythingFromUsersIsEscaped)
{
    const std::string page = ReportPage(RecordOfAll(3));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, HasSubstr(c_escaped));
}

TEST(ReportPageTest, NothingComesFromElsewhere)
{
    const std::string page = ReportPage(RecordOfAll(3));
    EXPECT_THAT(page, HasSubstr("default-src 'none'; style-src 'unsafe-inline'; img-src data:"));
    for (const char* const part : {"<script", "href=", "src=\"", "url(", "@import"})
        EXPECT_THAT(page, Not(HasSubstr(part)));
    EXPECT_THAT(page, HasSubstr("<html lang=\"en\">"));
}

TEST(ReportPageTest, LongTrainingsStaySmall)
{
    EXPECT_LT(ReportPage(RecordOfAll(100'000)).size(), 2'000'000u);
}

TEST(ReportPageTest, StatesOfARun)
{
    RunRecord record = RecordOfAll(2);
    EXPECT_THAT(ReportPage(record), HasSubstr("ended with exit code 3"));
    record.exitCode = 0;
    EXPECT_THAT(ReportPage(record), HasSubstr(">finished<"));
    record.exitCode.reset();
    EXPECT_THAT(ReportPage(record), HasSubstr(">running<"));
}

} // namespace cntk
