// Positions are found by binary search over the stretches, and only for values that somebody asks for.
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

void ConfigText::Append(const std::shared_ptr<const SourceText>& source, size_t offset, std::string_view clean)
{
    m_segments.push_back({m_text.size(), source, offset});
    m_text += clean;
    if (!m_text.ends_with('\n'))
        m_text += '\n';
}

SourcePos ConfigText::At(size_t offset, size_t length) const
{
    if (m_segments.empty())
        return m_fixed;
    const auto after = std::upper_bound(m_segments.begin(), m_segments.end(), offset,
                                        [](size_t wanted, const Segment& segment) { return wanted < segment.begin; });
    const Segment& segment = *std::prev(after);
    return {segment.source, segment.sourceOffset + offset - segment.begin, std::max<size_t>(length, 1)};
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
