// Finds positions by binary search over the segments, only for values that need one.
#include "Common/Config/ConfigText.h"

#include "Common/Config/Tokenizer.h"
#include "Common/Error.h"

#include <algorithm>
#include <utility>

namespace cntk
{

ConfigText::ConfigText(const std::shared_ptr<const SourceText>& source)
{
    CheckLineEnds(source);
    Append(source, 0, RemoveComments(source->Text()));
}

ConfigText::ConfigText(std::string text, SourcePos where) : m_text(std::move(text)), m_fixed(std::move(where)) {}

void ConfigText::Append(const std::shared_ptr<const SourceText>& source, size_t offset, std::string_view clean,
                        bool isIncluded)
{
    m_segments.push_back({m_text.size(), source, offset, isIncluded});
    m_text += clean;
    if (!m_text.ends_with('\n'))
        m_text += '\n';
}

const ConfigText::Segment& ConfigText::SegmentAt(size_t offset) const
{
    const auto after = std::upper_bound(m_segments.begin(), m_segments.end(), offset,
                                        [](size_t wanted, const Segment& segment) { return wanted < segment.begin; });
    return *std::prev(after);
}

bool ConfigText::IsIncluded(size_t offset) const
{
    return !m_segments.empty() && SegmentAt(offset).isIncluded;
}

SourcePos ConfigText::At(size_t offset, size_t length) const
{
    if (m_segments.empty())
        return m_fixed;
    const Segment& segment = SegmentAt(offset);
    return {segment.source, segment.sourceOffset + offset - segment.begin, std::max<size_t>(length, 1)};
}

void CheckIsText(const std::shared_ptr<const SourceText>& source)
{
    const size_t zero = std::string_view(source->Text()).find('\0');
    if (zero != std::string_view::npos)
        FailAt({source, zero, 1}, ErrorKind::Config,
               "a zero byte, expected UTF-8 or ASCII text; is it UTF-16, or a binary file?");
}

void CheckLineEnds(const std::shared_ptr<const SourceText>& source)
{
    const std::string_view text = source->Text();
    for (size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1))
    {
        if (at + 1 < text.size() && text[at + 1] != '\n')
            FailAt({source, at, 1}, ErrorKind::Config,
                   "a carriage return without a newline; expected lines that end with LF or CR LF");
    }
}

} // namespace cntk
