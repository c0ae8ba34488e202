#include "Report/CsvMetrics.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Report/Markup.h"

#include <algorithm>
#include <array>

namespace cntk
{

namespace
{

constexpr std::array<std::string_view, 7> c_firstColumns{"kind",    "command",     "epoch",    "minibatch",
                                                         "samples", "samplesSeen", "criterion"};
constexpr std::array<std::string_view, 3> c_lastColumns{"learningRatePerSample", "minibatchSize", "seconds"};
constexpr size_t c_fixedColumns = c_firstColumns.size() + c_lastColumns.size();
constexpr const char* c_recordEnd = "\r\n";

std::string RecordText(const std::vector<std::string>& fields)
{
    std::string text;
    for (const std::string& field : fields)
        text += (&field == &fields.front() ? "" : ",") + CsvField(field);
    return text + c_recordEnd;
}

std::string CountText(const std::optional<size_t>& number)
{
    return number ? std::to_string(*number) : std::string();
}

std::string NumberText(const std::optional<double>& number)
{
    return number ? ShortestNumber(*number) : std::string();
}

bool IsHeader(const std::vector<std::string>& fields)
{
    return fields.size() >= c_fixedColumns &&
           std::equal(c_firstColumns.begin(), c_firstColumns.end(), fields.begin()) &&
           std::equal(c_lastColumns.begin(), c_lastColumns.end(), fields.end() - c_lastColumns.size());
}

} // namespace

std::vector<std::vector<std::string>> ParseCsv(std::string_view text)
{
    std::vector<std::vector<std::string>> records;
    std::vector<std::string> record;
    std::string field;
    bool isQuoted = false;
    for (size_t i = 0; i < text.size(); ++i)
    {
        const char c = text[i];
        if (isQuoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
            field += text[++i];
        else if (c == '"')
            isQuoted = !isQuoted;
        else if (isQuoted)
            field += c;
        else if (c == ',')
            record.push_back(std::exchange(field, {}));
        else if (c == '\n')
        {
            record.push_back(std::exchange(field, {}));
            records.push_back(std::exchange(record, {}));
        }
        else if (c != '\r')
            field += c;
    }
    return records;
}

CsvMetricsFile::CsvMetricsFile(const std::string& path, Log& log) : m_storage(path), m_log(log)
{
    const std::vector<std::vector<std::string>> records = ParseCsv(m_storage.Read(log));
    if (records.empty())
        return;
    const std::vector<std::string>& header = records.front();
    if (!IsHeader(header))
        Fail(ErrorKind::Data, path, ":1: expected the header of a metrics file (", Header(),
             "), but the line is another; give another file, or remove this one");
    m_evaluations.assign(header.begin() + c_firstColumns.size(), header.end() - c_lastColumns.size());
    m_hasHeader = true;
}

std::vector<std::vector<std::string>> CsvMetricsFile::Records() const
{
    std::vector<std::vector<std::string>> records = ParseCsv(m_storage.Read(m_log));
    if (!records.empty())
        records.erase(records.begin());
    return records;
}

std::string CsvMetricsFile::Header() const
{
    std::vector<std::string> names(c_firstColumns.begin(), c_firstColumns.end());
    names.insert(names.end(), m_evaluations.begin(), m_evaluations.end());
    names.insert(names.end(), c_lastColumns.begin(), c_lastColumns.end());
    return Join(names, ",");
}

void CsvMetricsFile::Replace(const std::vector<std::vector<std::string>>& records)
{
    std::vector<std::string> names(c_firstColumns.begin(), c_firstColumns.end());
    names.insert(names.end(), m_evaluations.begin(), m_evaluations.end());
    names.insert(names.end(), c_lastColumns.begin(), c_lastColumns.end());
    std::string text = RecordText(names);
    for (const std::vector<std::string>& record : records)
        text += RecordText(record);
    m_storage.Replace(text);
    m_hasHeader = true;
}

void CsvMetricsFile::Drop(const std::string& command, RowGroup group, const std::optional<ContinuationPoint>& point)
{
    if (!m_hasHeader)
        return;
    std::vector<std::vector<std::string>> records = Records();
    bool isBehind = !point;
    const auto isDropped = [&](const std::vector<std::string>& record)
    {
        const auto field = [&](size_t i) { return i < record.size() ? record[i] : std::string(); };
        const auto number = [&](size_t i)
        {
            const auto value = ParseSize(field(i));
            return value ? std::optional<size_t>(*value) : std::nullopt;
        };
        const auto kind = RowKindOf(field(0));
        if (!kind || !IsIn(group, *kind) || field(1) != command)
            return false;
        isBehind = isBehind || point->IsRepeated(*kind, number(2), number(3));
        return isBehind;
    };
    const size_t before = records.size();
    std::vector<std::vector<std::string>> kept;
    for (std::vector<std::string>& record : records)
        if (!isDropped(record))
            kept.push_back(std::move(record));
    if (kept.size() != before)
        Replace(kept);
}

void CsvMetricsFile::AddColumn(const std::string& name)
{
    std::vector<std::vector<std::string>> records = Records();
    for (std::vector<std::string>& record : records)
        if (record.size() >= c_lastColumns.size())
            record.insert(record.end() - c_lastColumns.size(), std::string());
    m_evaluations.push_back(name);
    Replace(records);
}

void CsvMetricsFile::Add(const MetricsRow& row)
{
    if (row.kind == RowKind::Model)
        return;
    std::optional<double> criterion = row.criterion;
    std::vector<const NodeAverage*> others;
    for (const NodeAverage& node : row.nodes)
    {
        if (node.isCriterion && !criterion)
            criterion = node.average;
        else
            others.push_back(&node);
    }
    for (const NodeAverage* const node : others)
        if (std::find(m_evaluations.begin(), m_evaluations.end(), node->name) == m_evaluations.end())
            AddColumn(node->name);
    if (!m_hasHeader)
        Replace({});
    std::vector<std::string> fields{NameOf(row.kind),       row.command,
                                    CountText(row.epoch),   CountText(row.minibatch),
                                    CountText(row.samples), CountText(row.samplesSeen),
                                    NumberText(criterion)};
    for (const std::string& name : m_evaluations)
    {
        const auto found =
            std::find_if(others.begin(), others.end(), [&](const NodeAverage* node) { return node->name == name; });
        fields.push_back(found == others.end() ? std::string() : ShortestNumber((*found)->average));
    }
    fields.push_back(NumberText(row.learningRatePerSample));
    fields.push_back(CountText(row.minibatchSize));
    fields.push_back(NumberText(row.seconds));
    m_storage.Append(RecordText(fields));
}

} // namespace cntk
