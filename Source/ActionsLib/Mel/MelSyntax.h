// The syntax tree of the model editing language (book 4.2): commands, snippets and in-line
// NDL, each with its place in the text.
#pragma once

#include "ActionsLib/Ndl/ScriptText.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct MelArgument
{
    std::string name; // of an optional argument: copy=all; empty for a positional one
    std::string text; // without quotes
    SourcePos where;
};

struct MelStatement
{
    enum class Kind
    {
        Command, // name(arguments), or model = name(arguments)
        Snippet, // model = [ NDL ]
        Ndl      // anything else: in-line NDL for the default model
    };
    Kind kind = Kind::Command;
    std::string name;  // of the command; of NDL the function that it calls, if the value begins with one
    std::string model; // in front of '='; empty: none
    SourcePos where;   // of the command's name, of the model, or the whole NDL statement
    std::vector<MelArgument> arguments;
    // Of a snippet what is between the brackets, of NDL the whole statement.
    size_t begin = 0;
    size_t end = 0;
};

struct MelSection
{
    std::string name;
    SourcePos where;
    size_t begin = 0; // between the brackets
    size_t end = 0;
};

struct MelScript
{
    ScriptText text;
    std::vector<MelStatement> statements;
    // A file of sections says with load= and edit= which ones are read as NDL macros and which are executed; their
    // statements are those of `edit`, in order.
    std::vector<MelSection> macroSections;
};

} // namespace cntk
