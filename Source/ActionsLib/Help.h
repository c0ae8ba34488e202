// cntk --help [topic] and the generated reference pages, both made from the registries: actions, blocks, node types,
// plugins. Nothing is typed twice.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// Without a topic: how to call the program, the list of actions, blocks, plugins. A topic is an action, a block, a node
// type (any alias) or a reader or writer, in any case. Fails (Usage) with near names for anything else.
std::string HelpText(std::string_view topic);

// Writes Options.md, Actions.md, Nodes.md and Readers.md into the folder.
void WriteReferencePages(const std::string& folder);

} // namespace cntk
