// Writes log lines to standard error or a file, and the progress line to a terminal.
#include "Common/Log.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <set>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace cntk
{

namespace
{

size_t TerminalWidth()
{
    winsize size = {};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10)
        return size.ws_col;
    return 80;
}

// False for devices and pipes.
bool HoldsText(std::FILE* file)
{
    struct stat status = {};
    return ::fstat(::fileno(file), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

// Calls put with the formatted text.
template <class Put>
void WithFormatted(const char* format, va_list arguments, const Put& put)
{
    va_list again;
    va_copy(again, arguments);
    char small[512];
    const int length = std::vsnprintf(small, sizeof small, format, arguments);
    if (length >= 0 && size_t(length) < sizeof small)
        put(std::string_view(small, size_t(length)));
    else if (length >= 0)
    {
        std::string large(size_t(length) + 1, '\0');
        std::vsnprintf(large.data(), large.size(), format, again);
        put(std::string_view(large).substr(0, size_t(length)));
    }
    va_end(again);
}

bool DetectTerminal()
{
    const char* const terminal = std::getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
}

} // namespace

std::string TimeStamp(const char* format)
{
    const std::time_t now = std::time(nullptr);
    std::tm local = {};
    localtime_r(&now, &local);
    char text[64];
    return std::string(text, std::strftime(text, sizeof text, format, &local));
}

// The mutex allows a reader's prefetch thread to warn while the trainer prints.
struct Log::Impl
{
    std::recursive_mutex mutex;
    std::FILE* file = stderr;
    std::string path;   // of the log file; empty: standard error
    int writeError = 0; // errno of the first write to the file that failed
    bool isErrorReported = false;
    bool isTerminal = DetectTerminal();
    bool isTimestamping = false;
    LogStyle style = LogStyle::Classic;
    bool isAtLineStart = true;
    bool hasProgress = false;
    std::set<std::string, std::less<>> warned;
    std::vector<std::string> warnings; // the same, in their order

    void WipeProgress()
    {
        if (!hasProgress)
            return;
        std::fputs("\r\x1b[K", stderr);
        std::fflush(stderr);
        hasProgress = false;
    }

    // Notes write errors of a log file. Errors of standard error (a closed terminal) do not stop the run.
    void PutText(std::string_view text)
    {
        if (std::fwrite(text.data(), 1, text.size(), file) != text.size())
            NoteError();
    }

    void Flush()
    {
        if (std::fflush(file) != 0)
            NoteError();
    }

    void NoteError()
    {
        if (file != stderr && writeError == 0)
            writeError = errno != 0 ? errno : EIO;
    }

    // Reports a write error once, but not while another error is being reported.
    void ReportError()
    {
        if (writeError == 0 || isErrorReported || std::current_exception())
            return;
        isErrorReported = true;
        Fail(ErrorKind::Device, "cannot write log file '", path, "': ", std::generic_category().message(writeError));
    }

    void WriteStamped(std::string_view text)
    {
        while (!text.empty())
        {
            const size_t newline = text.find('\n');
            const std::string_view line = text.substr(0, newline == std::string_view::npos ? newline : newline + 1);
            if (isAtLineStart && line != "\n")
            {
                const std::string stamp = TimeStamp("%m/%d/%Y %H:%M:%S: ");
                PutText(stamp);
            }
            PutText(line);
            isAtLineStart = line.ends_with('\n');
            text.remove_prefix(line.size());
        }
    }
};

Log::Log() : m_impl(std::make_unique<Impl>()) {}

Log::~Log()
{
    m_impl->WipeProgress();
    if (m_impl->file != stderr)
        std::fclose(m_impl->file);
}

void Log::RedirectTo(const std::string& path)
{
    const std::lock_guard lock(m_impl->mutex);
    const std::string resolved = ResolveOutputPath(path);
    MakeFoldersFor(resolved);
    std::FILE* const file = std::fopen(resolved.c_str(), "ae");
    if (!file)
    {
        const std::string reason = std::strerror(errno);
        Fail(ErrorKind::Device, "cannot write log file '", resolved, "': ", reason);
    }
    m_impl->WipeProgress();
    if (m_impl->file != stderr)
    {
        m_impl->Flush();
        std::fclose(m_impl->file);
    }
    m_impl->file = file;
    m_impl->isAtLineStart = true;
    m_impl->ReportError(); // of the previous file
    m_impl->path = resolved;
    m_impl->isErrorReported = false;
    m_impl->writeError = 0;
    if (HoldsText(file))
        m_impl->PutText("\n======================== next run: " + TimeStamp("%Y/%m/%d %H:%M:%S") +
                        " ========================\n\n");
}

void Log::Finish()
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->WipeProgress();
    m_impl->Flush();
    m_impl->ReportError();
}

bool Log::IsRedirected() const
{
    return m_impl->file != stderr;
}

void Log::Print(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    WithFormatted(format, arguments, [this](std::string_view text) { Write(text); });
    va_end(arguments);
}

void Log::Tell(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    WithFormatted(format, arguments,
                  [this](std::string_view text)
                  {
                      Write(text);
                      WriteShort(text);
                  });
    va_end(arguments);
}

void Log::WriteShort(std::string_view text)
{
    const std::lock_guard lock(m_impl->mutex);
    if (m_impl->style != LogStyle::Short)
        return;
    m_impl->WipeProgress();
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

void Log::SetStyle(LogStyle style)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->style = style;
}

LogStyle Log::Style() const
{
    return m_impl->style;
}

void Log::Write(std::string_view text)
{
    if (text.empty())
        return;
    const std::lock_guard lock(m_impl->mutex);
    if (m_impl->style == LogStyle::Short && m_impl->file == stderr)
        return;
    m_impl->ReportError();
    m_impl->WipeProgress();
    if (m_impl->isTimestamping)
        m_impl->WriteStamped(text);
    else
    {
        m_impl->PutText(text);
        m_impl->isAtLineStart = text.back() == '\n';
    }
    if (text.find('\n') != std::string_view::npos)
        m_impl->Flush();
}

void Log::Warn(std::string_view message)
{
    const std::lock_guard lock(m_impl->mutex);
    if (!m_impl->warned.emplace(message).second)
        return;
    m_impl->warnings.emplace_back(message);
    std::string text = m_impl->isAtLineStart ? "" : "\n";
    text.append("WARNING: ").append(message).append("\n");
    Write(text);
    if (m_impl->style == LogStyle::Short)
        WriteShort(Concat(m_impl->isTerminal ? "\x1b[33m" : "", "warning: ", message,
                          m_impl->isTerminal ? "\x1b[0m\n" : "\n"));
}

std::vector<std::string> Log::Warnings() const
{
    const std::lock_guard lock(m_impl->mutex);
    return m_impl->warnings;
}

void Log::ShowProgress(const std::string& line)
{
    const std::lock_guard lock(m_impl->mutex);
    // A progress line would overwrite an unfinished log line on the same terminal.
    if (!m_impl->isTerminal || (m_impl->file == stderr && !m_impl->isAtLineStart))
        return;
    const std::string shown = "\r" + line.substr(0, TerminalWidth() - 1) + "\x1b[K";
    std::fwrite(shown.data(), 1, shown.size(), stderr);
    std::fflush(stderr);
    m_impl->hasProgress = true;
}

void Log::ClearProgress()
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->WipeProgress();
}

bool Log::HasTerminal() const
{
    return m_impl->isTerminal;
}

size_t Log::TerminalColumns() const
{
    return TerminalWidth();
}

void Log::SetTimestamping(bool on)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->isTimestamping = on;
}

} // namespace cntk
