// cntk --help [topic] and the generated reference pages, both made from the registries: actions, blocks, node types,
// plugins. Nothing is typed twice.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// Without a topic: how to call the program, and all topics but parameters. A topic is an action, a block, a reader or
// writer, a function of networks, a command of the edit action or else a parameter of one of them, by any of its names
// in any case. Fails (Usage) with near names for anything else.
std::string HelpText(std::string_view topic);

// Writes Options.md, Actions.md, Nodes.md and Readers.md into the folder.
void WriteReferencePages(const std::string& folder);

} // namespace cntk
