// cntk --help [topic] and the generated reference pages, from the tables of actions, blocks, node types and plugins.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// Without a topic: usage, and all topics except parameters. A topic is an action, a block, a reader or writer, a
// function of networks, a command of the edit action, or a parameter of one of them, by any of its names in any case.
// Fails (Usage) with near names for other topics.
std::string HelpText(std::string_view topic);

// Writes Options.md, Actions.md, Nodes.md and Readers.md into the folder.
void WriteReferencePages(const std::string& folder);

} // namespace cntk
