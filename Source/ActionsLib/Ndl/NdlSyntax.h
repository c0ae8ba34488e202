// The syntax tree of the network description language (book 4.1): statements, calls, macros and sections, each word
// with its place in the text. It knows no node types.
#pragma once

#include "Common/SourceText.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct NdlArgument;

struct NdlExpression
{
    enum class Kind
    {
        None,
        Number, // text as written
        Text,   // quoted, without the quotes
        Name,   // a variable, a dotted path, or a word such as "fromFile"
        Call,   // text(arguments)
        Array   // (a, b) or {a, b}
    };
    Kind kind = Kind::None;
    std::string text;
    SourcePos where;
    std::vector<NdlArgument> arguments; // of a call or an array
    size_t end = 0;                     // of a call: the offset behind its closing parenthesis

    std::string AsWritten() const; // on one line; long ones are cut
};

struct NdlArgument
{
    std::string name; // of an optional parameter; empty for a positional argument
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
    NdlExpression value;                // of an assignment
    std::vector<NdlExpression> formals; // of a macro: names
    std::shared_ptr<const NdlScript> body;
};

struct NdlScript
{
    std::vector<NdlStatement> statements;
};

} // namespace cntk
