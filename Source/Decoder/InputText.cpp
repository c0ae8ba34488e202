// Reading, unpacking and splitting of text files.
#include "Decoder/InputText.h"

#include "Common/Gzip.h"
#include "Common/Text.h"

#include <charconv>
#include <cmath>

namespace cntk
{

InputText::InputText(const std::string& path, const char* what) : m_path(path)
{
    if (!FileExists(path))
        Fail(ErrorKind::Data, what, " '", path, "' does not exist", NearFilesHint(path));
    m_mapped.emplace(path);
    const std::string file = Concat(what, " '", path, "'");
    m_rest = m_mapped->Text();
    if (IsGzip(m_rest))
    {
        m_unpacked = Gunzip(m_rest, file);
        m_rest = m_unpacked;
    }
    const std::string_view begin = m_rest.substr(0, 4096);
    RequirePlainText(begin, file);
    RequireNoZeroBytes(begin, file);
    constexpr std::string_view c_byteOrder = "\xEF\xBB\xBF";
    if (m_rest.starts_with(c_byteOrder))
        m_rest.remove_prefix(c_byteOrder.size());
}

bool InputText::Next()
{
    while (!m_rest.empty())
    {
        const size_t end = m_rest.find('\n');
        std::string_view line = m_rest.substr(0, end);
        m_rest.remove_prefix(end == std::string_view::npos ? m_rest.size() : end + 1);
        ++m_lineNumber;
        m_fields.clear();
        for (size_t at = 0; at < line.size();)
        {
            while (at < line.size() && IsBlank(line[at]))
                ++at;
            const size_t first = at;
            while (at < line.size() && !IsBlank(line[at]))
                ++at;
            if (at > first)
                m_fields.push_back(line.substr(first, at - first));
        }
        if (!m_fields.empty())
        {
            m_line = std::string_view(m_fields.front().data(), size_t(m_fields.back().data() + m_fields.back().size() -
                                                                      m_fields.front().data()));
            return true;
        }
    }
    return false;
}

std::string InputText::Location() const
{
    return Concat(m_path, ":", m_lineNumber);
}

double InputText::Number(size_t field, const char* what) const
{
    const std::string_view text = m_fields[field];
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem == std::errc() && end == text.data() + text.size() && std::isfinite(number))
        return number;
    const std::optional<double> other = ParseDouble(text); // "+1", and numbers beyond the range
    if (!other || !std::isfinite(*other))
        FailHere("'", text, "' is no number, expected a ", what);
    return *other;
}

size_t InputText::WholeNumber(size_t field, const char* what) const
{
    const auto number = ParseSize(m_fields[field]);
    if (!number || *number > INT32_MAX)
        FailHere("'", m_fields[field], "' is no whole number from 0 to ", INT32_MAX, ", expected a ", what);
    return size_t(*number);
}

} // namespace cntk
