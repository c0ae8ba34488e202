// Splits config blocks, arrays, NDL and MEL: separators of a level, braces, quotes, custom separators. All views point
// into the given text, so that callers can compute offsets and source positions from them.
#pragma once

#include "Common/SourceText.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Newline, carriage return and comma separate everywhere. A level may add one character.
enum class SplitLevel
{
    Block,        // ';'  config blocks, NDL and MEL scripts
    Array,        // ':'  arrays
    NdlArguments, // ':'  no custom separators
    MelArguments  // none; no custom separators
};

// Returns the source position of text[offset, offset + length), for messages.
using PositionOf = std::function<SourcePos(size_t offset, size_t length)>;

// Replaces comments by blanks, so that offsets stay the same. A comment begins at a '#' outside of quotes, at the
// beginning of a line or after white space, and ends with its line.
std::string RemoveComments(std::string_view text);

// Returns the offset of the brace that closes text[open]. Braces in quotes do not count. Fails (Config) at a closing
// brace of another kind or at the end of the text.
size_t FindClosingBrace(std::string_view text, size_t open, const PositionOf& positionOf);

// One record of a block: "name", "name=value" or "name[...]".
struct ConfigRecord
{
    std::string_view name;
    std::string_view value; // trimmed, also between quotes; braces kept, quotes removed
    bool hasValue = false;  // false: the name alone, which means "true"
    bool isQuoted = false;
    bool hasEquals = false; // false: a brace right after the name
};

// Visits the records of a block's text, with or without "[...]". The records of a braced group without a name belong to
// this level.
void ForEachRecord(std::string_view text, const PositionOf& positionOf,
                   const std::function<void(const ConfigRecord&)>& visit);

// Returns the elements of a list, trimmed, without empty elements and with braces and quotes: "(a, f(b,c) : "x:y")"
// gives a | f(b,c) | "x:y". Outer braces are optional.
std::vector<std::string_view> SplitElements(std::string_view text, SplitLevel level, const PositionOf& positionOf);

// Parses an element "v*n" of an array or of NDL arguments. Without a star the count is 1. Fails (Config) if the count
// is not a number. A star inside braces or quotes does not count. isQuoted: the list stood in quotes, so that a star
// without a number is part of a name.
struct RepeatedElement
{
    std::string_view text; // without quotes if the element is one quoted text
    size_t count = 1;
};
RepeatedElement SplitRepeat(std::string_view element, size_t offset, const PositionOf& positionOf,
                            bool isQuoted = false);

// A reference "$name$". The name begins with a letter or '_' and contains no blanks, brackets, quotes or punctuation.
// Any other '$' is an ordinary character.
struct VariableReference
{
    size_t begin = 0; // of the first '$'
    size_t end = 0;   // after the second '$'
    std::string_view name;
};
std::optional<VariableReference> NextVariable(std::string_view text, size_t from);

} // namespace cntk
