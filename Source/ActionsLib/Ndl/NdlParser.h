// Text of a script in the network description language (book 4.1) to its syntax tree: statements, calls, macros and
// sections, each word with its place in the text. The parser knows no node types.
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

// Reads the text of a script file; "-" is standard input. Fails (Config) at namedAt if the file cannot be read as text:
// "<what> '<path>' does not exist".
std::shared_ptr<const SourceText> ReadScript(const std::string& path, std::string_view what, const SourcePos& namedAt);

// The text of an NDL or MEL script in which $variables$ are replaced by their values. Positions are places in the
// user's file.
class ScriptText
{
public:
    // A text without replacements.
    ScriptText(std::shared_ptr<const SourceText> source) : m_source(std::move(source)) {}
    // A range of the text. Values come from the block, then from the blocks around it. Comments keep their $variables$.
    ScriptText(std::shared_ptr<const SourceText> source, size_t begin, size_t length, const ConfigParameters& block);

    std::string_view Text() const { return m_resolved ? std::string_view(*m_resolved) : m_source->Text(); }
    size_t size() const { return Text().size(); }
    // Place of Text()[begin, end) in the source. The place of a variable's value is the whole $variable$.
    SourcePos At(size_t begin, size_t end) const;

private:
    // Ranges of a value in Text() and of its $variable$ in the source.
    struct Inserted
    {
        size_t begin;
        size_t end;
        size_t sourceBegin;
        size_t sourceEnd;
    };
    size_t SourceOffsetOf(size_t offset, bool isEnd) const;

    std::shared_ptr<const SourceText> m_source;
    std::shared_ptr<const std::string> m_resolved; // null: the text is the whole source
    size_t m_sourceBegin = 0;
    std::vector<Inserted> m_inserted;
};

struct NdlArgument;

struct NdlExpression
{
    enum class Kind
    {
        None,
        Number, // text as written
        Text,   // quoted; text without the quotes
        Name,   // a variable, a dotted path, or a word such as "fromFile"
        Call,   // text(arguments)
        Array   // (a, b) or {a, b}
    };
    Kind kind = Kind::None;
    std::string text;
    SourcePos where;
    std::vector<NdlArgument> arguments; // for calls and arrays
    size_t end = 0;                     // offset after the closing parenthesis of a call or an array

    std::string AsWritten() const;          // on one line, cut after 60 characters
    std::string InWords() const;            // for errors: "the call 'Tanh(x)'", "'x'"
    std::vector<std::string> Names() const; // elements of load=a:b, or the single name of load=a
};

struct NdlArgument
{
    std::string name; // name of an optional parameter; empty for a positional argument
    SourcePos nameWhere;
    NdlExpression value;
};

struct NdlScript;

struct NdlStatement
{
    enum class Kind
    {
        Assignment, // name = value, or a call alone (then the name is empty)
        Macro,      // name(formals) body
        Section     // name = [ body ]
    };
    Kind kind = Kind::Assignment;
    std::string name;
    SourcePos where;
    NdlExpression value;                   // assignments only
    std::vector<NdlExpression> formals;    // names of a macro's parameters
    std::shared_ptr<const NdlScript> body; // macros and sections
};

struct NdlScript
{
    std::vector<NdlStatement> statements;

    void Append(const NdlScript& other)
    {
        statements.insert(statements.end(), other.statements.begin(), other.statements.end());
    }
};

// Parses a range of a text, such as the section of a config file that holds a network. Removes outer brackets, also
// several groups in a row ("[...] [...]", merged blocks). Throws errors of kind Config with position and caret.
NdlScript ParseNdl(const ScriptText& text, size_t begin, size_t end);
inline NdlScript ParseNdl(const ScriptText& text)
{
    return ParseNdl(text, 0, text.size());
}
inline NdlScript ParseNdl(std::shared_ptr<const SourceText> text)
{
    return ParseNdl(ScriptText(std::move(text)));
}

} // namespace cntk
