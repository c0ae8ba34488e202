// A text file of lines that is appended to, and replaced as a whole when lines are dropped.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class Log;

class RowStorage
{
public:
    explicit RowStorage(std::string path);
    ~RowStorage();
    RowStorage(const RowStorage&) = delete;
    RowStorage& operator=(const RowStorage&) = delete;

    const std::string& Path() const { return m_path; }
    // Returns the whole text; empty without a file. A last line without line end was cut by a crash: it is left out,
    // with a warning.
    std::string Read(Log& log) const;
    void Replace(std::string_view text);
    // Appends and flushes. Fails (Device) if the file cannot be written.
    void Append(std::string_view text);

private:
    void Close();

    std::string m_path;
    std::FILE* m_file = nullptr; // opened by the first Append
};

} // namespace cntk
