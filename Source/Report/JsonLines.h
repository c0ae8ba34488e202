// Metrics as JSON lines: one object a line, in UTF-8.
#pragma once

#include "Report/MetricsRow.h"
#include "Report/RowStorage.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;

// False if the program was built without the JSON library.
bool HasJsonLines();

class JsonLinesFile final : public RowFile
{
public:
    // Reads an existing file. Fails (Data) for a line that is no JSON object, with its number, and (Config) without the
    // JSON library.
    JsonLinesFile(const std::string& path, Log& log);

    void BeginRun(const RunStart& start) override;
    // An empty command stands for all.
    void Drop(const std::string& command, RowGroup group, const std::optional<ContinuationPoint>& point) override;
    void Add(const MetricsRow& row) override;
    void AddMissingModel(const std::string& command, const std::string& path) override;
    void AddConfusion(const std::string& command, const ConfusionCounts& counts) override;
    void EndRun(int exitCode, const std::string& message, double seconds) override;

    // The command's rows of epochs and validations. An empty command stands for all.
    std::vector<MetricsRow> Epochs(const std::string& command) const;

private:
    RowStorage m_storage;
    Log& m_log;
};

} // namespace cntk
