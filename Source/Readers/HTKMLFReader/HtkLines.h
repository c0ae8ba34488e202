// The lines of a text file one after another: LF, CRLF and CR end a line. One piece of the file is in memory at a time.
#pragma once

#include "Common/File.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace cntk
{

class HtkLines
{
public:
    // what: what the file is, for the error when it is missing: "script file". Fails (Data) then.
    HtkLines(const std::string& path, const char* what);

    // False at the end. The line is without its end and valid until the next call.
    bool Next(std::string_view& line);

    size_t Number() const { return m_number; } // of the line given last, from 1
    const std::string& Path() const { return m_file.Path(); }
    // "train.scp:12"
    std::string Location() const;

private:
    void Fill();

    PiecewiseFile m_file;
    std::string m_buffer;
    size_t m_at = 0;     // in the buffer
    size_t m_offset = 0; // of the file, behind the buffer
    size_t m_number = 0;
};

} // namespace cntk
