// Text files of the decoder: fields between tabs or blanks, plain or gzipped. The first two bytes tell them apart.
#pragma once

#include "Common/Error.h"
#include "Common/File.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class InputText
{
public:
    // Reads the whole file. what: the kind of file, for messages: "acceptor". Fails (Data) if the file is missing, is
    // no text, or its compressed data is damaged.
    InputText(const std::string& path, const char* what);

    // Moves to the next line that has fields; false at the end of the file.
    bool Next();
    const std::vector<std::string_view>& Fields() const { return m_fields; }
    std::string_view operator[](size_t field) const { return m_fields[field]; }
    size_t Count() const { return m_fields.size(); }
    // The line without its end and without blanks around it.
    std::string_view Line() const { return m_line; }

    const std::string& Path() const { return m_path; }
    size_t LineNumber() const { return m_lineNumber; }
    std::string Location() const; // "word.arpa:12"

    template <class... Parts>
    [[noreturn]] void FailHere(const Parts&... parts) const
    {
        Fail(ErrorKind::Data, Location(), ": ", parts...);
    }

    // Returns the field as a number. Fails (Data) with the place for any other text, NaN and infinity.
    // what: "cost", "probability".
    double Number(size_t field, const char* what) const;
    size_t WholeNumber(size_t field, const char* what) const;

private:
    std::string m_path;
    std::optional<MappedFile> m_mapped;
    std::string m_unpacked;
    std::string_view m_rest;
    std::string_view m_line;
    size_t m_lineNumber = 0;
    std::vector<std::string_view> m_fields;
};

} // namespace cntk
