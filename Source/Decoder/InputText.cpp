// Reading, unpacking and splitting of text files.
#include "Decoder/InputText.h"

#include "Common/Text.h"

#include <charconv>
#include <cmath>

#ifdef CNTK_WITH_ZLIB
#include <zlib.h>
#endif

namespace cntk
{

namespace
{

constexpr std::string_view c_gzipMagic = "\x1f\x8b";

#ifdef CNTK_WITH_ZLIB
// Unpacks all members of a gzip file.
std::string Unpack(std::string_view packed, const std::string& file)
{
    z_stream stream{};
    constexpr int c_gzipOnly = 15 + 16;
    if (inflateInit2(&stream, c_gzipOnly) != Z_OK)
        Fail(ErrorKind::Device, "out of memory for ", file);
    struct End
    {
        z_stream& stream;
        ~End() { inflateEnd(&stream); }
    } end{stream};
    std::string text;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    size_t left = packed.size();
    size_t size = 0;
    for (;;)
    {
        if (stream.avail_in == 0 && left > 0)
        {
            stream.avail_in = uInt(std::min<size_t>(left, size_t(1) << 30));
            left -= stream.avail_in;
        }
        text.resize(std::max<size_t>(text.size() * 2, size_t(1) << 16));
        stream.next_out = reinterpret_cast<Bytef*>(text.data() + size);
        const size_t room = std::min<size_t>(text.size() - size, size_t(1) << 30);
        stream.avail_out = uInt(room);
        const int state = inflate(&stream, Z_NO_FLUSH);
        size += room - stream.avail_out;
        text.resize(size);
        const bool isAtEnd = stream.avail_in == 0 && left == 0;
        if (state == Z_STREAM_END)
        {
            if (isAtEnd)
                return text;
            if (inflateReset(&stream) != Z_OK)
                Fail(ErrorKind::Data, file, " is damaged after ", size, " unpacked bytes");
        }
        else if (state != Z_OK && state != Z_BUF_ERROR)
            Fail(ErrorKind::Data, file, " is damaged after ", size,
                 " unpacked bytes: ", stream.msg != nullptr ? stream.msg : "no gzip data");
        else if (isAtEnd && stream.avail_out > 0)
            Fail(ErrorKind::Data, file, " is cut short: its compressed data ends after ", size, " unpacked bytes");
    }
}
#else
std::string Unpack(std::string_view, const std::string& file)
{
    Fail(ErrorKind::Data, file, " is gzipped, and this program was built without zlib; unpack it with gunzip");
}
#endif

} // namespace

InputText::InputText(const std::string& path, const char* what) : m_path(path)
{
    if (!FileExists(path))
        Fail(ErrorKind::Data, what, " '", path, "' does not exist", NearFilesHint(path));
    m_mapped.emplace(path);
    const std::string file = Concat(what, " '", path, "'");
    m_rest = m_mapped->Text();
    if (m_rest.starts_with(c_gzipMagic))
    {
        m_unpacked = Unpack(m_rest, file);
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
