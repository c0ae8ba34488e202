// The one splitter behind config blocks, arrays, NDL and MEL: separators of a level, braces, quotes, custom separators.
// All views point into the text that was given, so that offsets (and with them source positions) can be had from them.
#pragma once

#include "Common/SourceText.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Newline, carriage return and comma separate everywhere; a level adds one character of its own, or 0 for none.
enum class SplitLevel
{
    Block,        // ';'  config blocks, NDL and MEL scripts
    Array,        // ':'  arrays
    NdlArguments, // ':'  no custom separators
    MelArguments  // none; no custom separators
};

// Where an error in text[offset, offset + length) is, seen by the user.
using PositionOf = std::function<SourcePos(size_t offset, size_t length)>;

// The same text with all comments replaced by blanks, so that offsets stay: from a '#' that begins a line or follows
// white space and is outside of quotes to the end of its line.
std::string RemoveComments(std::string_view text);

// Offset of the brace that closes the one at text[open]. Quotes hide braces. Fails (Config) on a brace of another kind
// or none.
size_t FindClosingBrace(std::string_view text, size_t open, const PositionOf& positionOf);

// "name", "name=value", "name[...]" of a block.
struct ConfigRecord
{
    std::string_view name;
    std::string_view value; // trimmed, also between quotes; braces kept, quotes removed
    bool hasValue = false;  // false: the name alone, which means "true"
    bool isQuoted = false;
    bool hasEquals = false; // false: a brace right after the name
};

// The records of a block's text, "[...]" or bare. A braced group without a name spills its records into this level.
void ForEachRecord(std::string_view text, const PositionOf& positionOf,
                   const std::function<void(const ConfigRecord&)>& visit);

// The elements of a list, trimmed, empty ones dropped, braces and quotes kept: "(a, f(b,c) : "x:y")" gives
// a | f(b,c) | "x:y". Outer braces are optional.
std::vector<std::string_view> SplitElements(std::string_view text, SplitLevel level, const PositionOf& positionOf);

// "v*n" of arrays and NDL arguments. No count: 1. Fails (Config) when the count is missing or no number; a braced or
// quoted part before the star counts as a whole. isQuoted: the list stood in quotes, and a star without a number is
// part of a name.
struct RepeatedElement
{
    std::string_view text; // quotes removed when the element is nothing but a quoted text
    size_t count = 1;
};
RepeatedElement SplitRepeat(std::string_view element, size_t offset, const PositionOf& positionOf,
                            bool isQuoted = false);

// "$name$": name begins with a letter or '_' and has no blanks, brackets, quotes or punctuation in it. A '$' that
// begins no such reference is an ordinary character.
struct VariableReference
{
    size_t begin = 0; // of the first '$'
    size_t end = 0;   // behind the second '$'
    std::string_view name;
};
std::optional<VariableReference> NextVariable(std::string_view text, size_t from);

} // namespace cntk
