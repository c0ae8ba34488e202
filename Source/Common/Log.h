// The log: lines go to standard error or to the file that stderr= names. Created in main and passed down.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Returns the current time in a format of strftime: "%Y/%m/%d %H:%M:%S".
std::string TimeStamp(const char* format);

// Classic: all lines go to the log. Short: standard error gets only WriteShort, Tell and warnings; the file of
// RedirectTo still gets all lines.
enum class LogStyle
{
    Classic,
    Short
};

class Log
{
public:
    // Writes to standard error.
    Log();
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    // Sends all further lines to this file and creates its folders. Appends to an existing log after a separator line.
    // Fails (Device) with path and reason.
    void RedirectTo(const std::string& path);
    bool IsRedirected() const;
    // Flushes the log at the end of the run. If the log file cannot be written (full disk), this function or the next
    // Print fails once (Device) with path and reason.
    void Finish();

    // Prints to the log without adding a newline. Flushes at each newline.
    void Print(const char* format, ...) __attribute__((format(printf, 2, 3)));
    void Write(std::string_view text);
    // Prints a line that people need in both styles.
    void Tell(const char* format, ...) __attribute__((format(printf, 2, 3)));
    // In the short style, writes to standard error. In the classic style, writes nothing.
    void WriteShort(std::string_view text);
    void SetStyle(LogStyle style);
    LogStyle Style() const;
    // Prints "WARNING: ..." on its own line, each text only once.
    void Warn(std::string_view message);
    // All warnings so far, in their order.
    std::vector<std::string> Warnings() const;

    // Draws the progress line below the log, only on a terminal. The line is redrawn in place, and removed before the
    // next Print.
    void ShowProgress(const std::string& line);
    void ClearProgress();
    bool HasTerminal() const;
    // Columns of the terminal; 80 if they are unknown.
    size_t TerminalColumns() const;

    // timestamping=true: puts "MM/DD/YYYY HH:MM:SS: " in front of lines.
    void SetTimestamping(bool on);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace cntk
