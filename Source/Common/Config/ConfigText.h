// The text that a config is parsed from: config files, included files and command-line arguments one after the other,
// comments blanked, each stretch remembering where it came from.
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
    // A whole source with its comments removed.
    explicit ConfigText(const std::shared_ptr<const SourceText>& source);
    // Text that stands nowhere as such (after substitution of variables): all of it counts as being at that place.
    ConfigText(std::string text, SourcePos where);

    // Appends text that is the same, offset by offset, as source's from the given offset on (comments blanked).
    void Append(const std::shared_ptr<const SourceText>& source, size_t offset, std::string_view clean,
                bool isIncluded = false);

    std::string_view Text() const { return m_text; }
    SourcePos At(size_t offset, size_t length) const;
    // Whether that place stands in a file that an include line names, which other configs may share.
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

// Fails (Config) at a carriage return without a newline: old Macintosh files would read as one line.
void CheckLineEnds(const std::shared_ptr<const SourceText>& source);
// Fails (Config) at a zero byte: a model, or text of two bytes a character, in place of a script.
void CheckIsText(const std::shared_ptr<const SourceText>& source);

} // namespace cntk
