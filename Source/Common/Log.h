// The log: the original's lines go to standard error or to the file that stderr= names. Made in main and passed down.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace cntk
{

// Now, in the form of strftime: "%Y/%m/%d %H:%M:%S".
std::string TimeStamp(const char* format);

class Log
{
public:
    // Writes to standard error.
    Log();
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    // Sends all further lines to this file. Creates its folders. Appends to an existing log, after a line that
    // separates the runs. Fails (Device) with path and reason.
    void RedirectTo(const std::string& path);
    bool IsRedirected() const;
    // At the end of the run: writes out what is left. A log file that could not be written whole (a full disk) is an
    // Error of kind Device with path and reason, here or at the Print after the one that failed; told once.
    void Finish();

    // printf into the log; the text carries its own newlines, as the original's line shapes need. Flushes at newline.
    void Print(const char* format, ...) __attribute__((format(printf, 2, 3)));
    void Write(std::string_view text);
    // "WARNING: ..." on a line of its own; the same text only once.
    void Warn(std::string_view message);

    // The progress line under the log: only on a terminal, never in a file; redrawn in place, wiped before the next
    // Print.
    void ShowProgress(const std::string& line);
    void ClearProgress();
    bool HasTerminal() const;

    // timestamping=true: "MM/DD/YYYY HH:MM:SS: " in front of lines.
    void SetTimestamping(bool on);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace cntk
