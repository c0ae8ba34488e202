// One topic of the help, and its two renderings: text for the terminal and Markdown for the reference pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// A parameter or argument.
struct HelpRow
{
    std::string name;
    std::string doc;
    std::vector<std::string> aliases = {};
    std::string type = {};
    std::string range = {};
    std::string defaultText = {};
    bool isRequired = false;
};

// "Other names: Conv, ConvBias".
struct HelpFact
{
    std::string label;
    std::vector<std::string> values;
    enum class Kind
    {
        Text,
        Link,     // to the heading of the same name, in Markdown
        Example,  // a line or a piece of code for each value
        Terminal, // for the terminal only
    } kind = Kind::Text;
};

struct HelpEntry
{
    std::string heading;
    std::vector<std::string> calls; // how it is written: "action=train", "Times(a, b)"
    std::string doc;
    std::vector<HelpFact> facts;
    std::vector<HelpRow> rows;
    std::string rowsTitle = "Parameters";
};

std::string ForTerminal(const HelpEntry& entry);
std::string ForPage(const HelpEntry& entry);

// A name with its text next to it, or below it if the name is long.
std::string TerminalRow(const std::string& name, std::string_view doc);
// The row's documentation with its type, range, default and aliases.
std::string DocOf(const HelpRow& row);
// A table with a column for each header.
std::string PageTable(const std::vector<std::string>& headers, const std::vector<std::vector<std::string>>& rows);
// A text that stands in one cell of a table; the same as code.
std::string Cell(std::string text);
std::string Code(const std::string& text);
std::string LinkTo(const std::string& name, const std::string& heading);
std::string BeginPage(const std::string& title);

// Help on functions of network descriptions and the node types that they make (FunctionHelp.cpp).
// A function or node type by any of its names; empty for other names.
std::string FunctionHelp(std::string_view name);
// One name of each function, sorted.
std::vector<std::string> FunctionNames();
// A row for each function that takes a parameter of this name; empty if none does.
std::string ParameterHelp(std::string_view parameter);
std::string NodesPage();

} // namespace cntk
