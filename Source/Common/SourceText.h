// A text of the user (config file, NDL script, command line) and positions in it, so that an error can show the line
// with a caret under the exact word.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// The text and its name ("exp.cntk", "command line"). Immutable; shared by all positions in it.
class SourceText
{
public:
    SourceText(std::string name, std::string text);

    const std::string& Name() const { return m_name; }
    std::string_view Text() const { return m_text; }

    // 1-based line and column (in bytes) of an offset. An offset beyond the end counts as the end.
    size_t LineOf(size_t offset) const;
    size_t ColumnOf(size_t offset) const;

    // The line that contains the offset, without its line end.
    std::string_view LineAt(size_t offset) const;

private:
    std::string m_name;
    std::string m_text;
    std::vector<size_t> m_lineStarts; // offset of each line
};

// A range of a SourceText. A default position is "nowhere" and prints as an empty string.
struct SourcePos
{
    std::shared_ptr<const SourceText> text;
    size_t offset = 0;
    size_t length = 1;

    explicit operator bool() const { return text != nullptr; }

    // "exp.cntk:14:9"
    std::string Location() const;

    // "   14 |         minbatchSize = 256\n      |         ^~~~~~~~~~~~"
    std::string Excerpt() const;
};

} // namespace cntk
