// cntk --help [topic] and the generated reference pages, from the tables of actions, blocks, node types and plugins.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// An option of the command line.
struct ProgramOption
{
    std::string name;
    std::string argument; // "" or "FOLDER"
    std::string doc;
};
std::span<const ProgramOption> ProgramOptions();
std::vector<std::string> HelpTopics(); // all names but those of parameters

// An exit code of the program and its meaning.
struct ExitCode
{
    int code;
    std::string meaning;
};
std::span<const ExitCode> ExitCodes();

// Without a topic: usage, and all topics except parameters. A topic is an action, a block, a reader or writer, a
// function of networks, a command of the edit action, or a parameter of one of them, by any of its names in any case.
// Fails (Usage) with near names for other topics.
std::string HelpText(std::string_view topic);

// Writes Options.md, Actions.md, Nodes.md and Readers.md into the folder.
void WriteReferencePages(const std::string& folder);

// Writes the manual page cntk.1 into the folder (ManualPage.cpp).
void WriteManualPage(const std::string& folder);

// Returns candidates for the last of the words that follow `cntk` on a command line (Completion.cpp): options, topics,
// files, commands of a config, blocks and parameters. Each candidate replaces the whole word. Never fails.
std::vector<std::string> CompletionsOf(const std::vector<std::string>& words);

} // namespace cntk
