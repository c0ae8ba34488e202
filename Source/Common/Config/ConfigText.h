// The text that a config is parsed from: config files, included files and command-line arguments one after the other.
// Comments are replaced by blanks, and each segment has its source position.
#pragma once

#include "Common/SourceText.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class ConfigText
{
public:
    ConfigText() = default;
    // Takes a whole source without its comments.
    explicit ConfigText(const std::shared_ptr<const SourceText>& source);
    // Takes a text that no source contains, after substitution of variables. All positions in it are `where`.
    ConfigText(std::string text, SourcePos where);

    // Appends a part of the source that begins at the offset. In `clean` blanks replace its comments.
    void Append(const std::shared_ptr<const SourceText>& source, size_t offset, std::string_view clean,
                bool isIncluded = false);

    std::string_view Text() const { return m_text; }
    SourcePos At(size_t offset, size_t length) const;
    // True if the position is in an included file, which several configs may share.
    bool IsIncluded(size_t offset) const;

private:
    struct Segment
    {
        size_t begin;
        std::shared_ptr<const SourceText> source;
        size_t sourceOffset;
        bool isIncluded;
    };

    const Segment& SegmentAt(size_t offset) const;

    std::string m_text;
    std::vector<Segment> m_segments;
    SourcePos m_fixed;
};

// Fails (Config) at a carriage return without a newline: an old Macintosh file would be one line.
void CheckLineEnds(const std::shared_ptr<const SourceText>& source);
// Fails (Config) at a zero byte: the file is a model or UTF-16 text instead of a script.
void CheckIsText(const std::shared_ptr<const SourceText>& source);

} // namespace cntk
