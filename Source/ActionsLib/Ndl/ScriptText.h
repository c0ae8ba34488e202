// The text of an NDL or MEL script as it is parsed: with the values of $variables$ in their places. Positions in it are
// given as places in the user's file.
#pragma once

#include "Common/SourceText.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class ConfigParameters;

// The text of a script file; "-" is standard input. Fails (Config) at the place that names it where it is none, in the
// words "<what> '<path>' does not exist".
std::shared_ptr<const SourceText> ReadScript(const std::string& path, std::string_view what, const SourcePos& namedAt);

class ScriptText
{
public:
    // As it stands.
    ScriptText(std::shared_ptr<const SourceText> source) : m_source(std::move(source)) {}
    // A stretch of it with the variables that the block knows, its own before those around it. What stands in comments
    // is not looked up.
    ScriptText(std::shared_ptr<const SourceText> source, size_t begin, size_t length, const ConfigParameters& block);

    std::string_view Text() const { return m_resolved ? std::string_view(*m_resolved) : m_source->Text(); }
    size_t size() const { return Text().size(); }
    // Where Text()[begin, end) stands. Of a variable's value that is the reference to it, as a whole.
    SourcePos At(size_t begin, size_t end) const;

private:
    // A value, in Text() and in the source.
    struct Inserted
    {
        size_t begin;
        size_t end;
        size_t sourceBegin;
        size_t sourceEnd;
    };
    size_t SourceOffsetOf(size_t offset, bool isEnd) const;

    std::shared_ptr<const SourceText> m_source;
    std::shared_ptr<const std::string> m_resolved; // null: the source as a whole
    size_t m_sourceBegin = 0;
    std::vector<Inserted> m_inserted;
};

} // namespace cntk
