// Metrics as a table (RFC 4180): rows of minibatches, epochs, validations and results.
#pragma once

#include "Report/MetricsRow.h"
#include "Report/RowStorage.h"

#include <string>
#include <vector>

namespace cntk
{

class Log;

class CsvMetricsFile final : public RowFile
{
public:
    // Reads an existing file. Fails (Data) if its first line is not the header of a metrics file.
    CsvMetricsFile(const std::string& path, Log& log);

    void Drop(const std::string& command, RowGroup group, const std::optional<ContinuationPoint>& point) override;
    // An evaluation node without a column gets one; the file is then replaced.
    void Add(const MetricsRow& row) override;

private:
    std::vector<std::vector<std::string>> Records() const;
    std::string Header() const;
    void AddColumn(const std::string& name);
    void Replace(const std::vector<std::vector<std::string>>& records);

    RowStorage m_storage;
    Log& m_log;
    std::vector<std::string> m_evaluations; // names of their columns
    bool m_hasHeader = false;               // in the file
};

// Records of a text in CSV; fields in quotes may hold line ends.
std::vector<std::vector<std::string>> ParseCsv(std::string_view text);

} // namespace cntk
