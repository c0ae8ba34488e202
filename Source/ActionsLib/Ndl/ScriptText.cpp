// A list of the values that were inserted; between two of them offsets differ by a constant.
#include "ActionsLib/Ndl/ScriptText.h"

#include "Common/Config/ConfigText.h"
#include "Common/Config/ConfigTree.h"
#include "Common/Config/Tokenizer.h"
#include "Common/Error.h"
#include "Common/File.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace cntk
{

std::shared_ptr<const SourceText> ReadScript(const std::string& path, std::string_view what, const SourcePos& namedAt)
{
    const std::string resolved = ResolveInputPath(path);
    if (path != "-" && !FileExists(resolved))
        FailAt(namedAt, ErrorKind::Config, what, " '", path, "' does not exist", NearFilesHint(path));
    if (std::error_code error; std::filesystem::is_directory(resolved, error))
        FailAt(namedAt, ErrorKind::Config, what, " '", path, "' is a folder, expected a file");
    auto text = std::make_shared<const SourceText>(path == "-" ? "standard input" : path, ReadTextFile(resolved));
    CheckIsText(text);
    return text;
}

ScriptText::ScriptText(std::shared_ptr<const SourceText> source, size_t begin, size_t length,
                       const ConfigParameters& block)
    : m_source(std::move(source)), m_sourceBegin(begin)
{
    // Comments are blanks here, so offsets are those of the source.
    const auto clean = std::make_shared<const SourceText>(m_source->Name(),
                                                          RemoveComments(m_source->Text().substr(0, begin + length)));
    const std::string_view text = clean->Text().substr(begin);
    m_resolved = std::make_shared<std::string>(ConfigTree::ResolveScript(block, text, {clean, begin, length}));
    size_t grown = 0; // modulo 2^64: values may be shorter than their names
    for (auto variable = NextVariable(text, 0); variable; variable = NextVariable(text, variable->end))
    {
        const size_t written = variable->end - variable->begin;
        const std::string value = ConfigTree::ResolveScript(block, text.substr(variable->begin, written), {});
        const size_t at = variable->begin + grown;
        m_inserted.push_back({at, at + value.size(), begin + variable->begin, begin + variable->end});
        grown += value.size() - written;
    }
}

size_t ScriptText::SourceOffsetOf(size_t offset, bool isEnd) const
{
    // The last value that begins before the offset; one that begins there counts unless something ends there.
    const auto after =
        std::partition_point(m_inserted.begin(), m_inserted.end(),
                             [&](const Inserted& each) { return isEnd ? each.begin < offset : each.begin <= offset; });
    if (after == m_inserted.begin())
        return m_sourceBegin + offset;
    const Inserted& value = *std::prev(after);
    if (isEnd ? offset <= value.end : offset < value.end)
        return isEnd ? value.sourceEnd : value.sourceBegin;
    return value.sourceEnd + (offset - value.end);
}

SourcePos ScriptText::At(size_t begin, size_t end) const
{
    const size_t sourceBegin = SourceOffsetOf(begin, false);
    const size_t sourceEnd = SourceOffsetOf(std::max(end, begin + 1), true);
    return {m_source, sourceBegin, std::max(sourceEnd, sourceBegin + 1) - sourceBegin};
}

} // namespace cntk
