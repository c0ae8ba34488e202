// The syntax tree of the network description language (book 4.1): statements, calls, macros and sections, each word
// with its place in the text. It knows no node types.
#pragma once

#include "Common/SourceText.h"

#include <memory>
#include <string>
#include <string_view>
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
    size_t end = 0;                     // the offset behind it, of a call behind its closing parenthesis

    std::string AsWritten() const; // on one line; long ones are cut
    // For errors: "the call 'Tanh(x)'", "'x'". Of a value in parentheses also what to do about them.
    std::string InWords() const;
    std::vector<std::string> Names() const; // of load=a:b, or load=a
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

    void Append(const NdlScript& other)
    {
        statements.insert(statements.end(), other.statements.begin(), other.statements.end());
    }
};

} // namespace cntk
