// Text of a script in the model editing language (book 4.2) to its syntax tree: commands, snippets and in-line NDL,
// each with its place in the text.
#pragma once

#include "ActionsLib/Ndl/NdlParser.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct MelArgument
{
    std::string name; // the name of an optional argument, such as copy=all; empty for a positional argument
    std::string text; // without quotes
    SourcePos where;
};

struct MelStatement
{
    enum class Kind
    {
        Command, // name(arguments), or model = name(arguments)
        Snippet, // model = [ NDL ]
        Ndl      // in-line NDL for the default model: any other statement
    };
    Kind kind = Kind::Command;
    std::string name;  // command; for NDL the function that the value calls, if any
    std::string model; // model before '='; empty if none is given
    SourcePos where;   // command name, model, or the whole NDL statement
    std::vector<MelArgument> arguments;
    // Range of the NDL text: a snippet without its brackets, or the whole NDL statement.
    size_t begin = 0;
    size_t end = 0;
};

struct MelSection
{
    std::string name;
    SourcePos where;
    size_t begin = 0; // range without the brackets
    size_t end = 0;
};

struct MelScript
{
    ScriptText text;
    // If the file has sections: the statements of the sections that edit= names.
    std::vector<MelStatement> statements;
    std::vector<MelSection> macroSections; // sections that load= names; they hold NDL macros
};

// Throws errors of kind Config with position and caret. isModelCommand returns true for the names (and abbreviations)
// of commands that can follow "model =".
MelScript ParseMel(ScriptText text, const std::function<bool(std::string_view)>& isModelCommand);

} // namespace cntk
