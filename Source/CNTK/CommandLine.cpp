// Options begin with "--"; "-h" and "help" are understood too. Everything else is the config's.
#include "CNTK/CommandLine.h"

#include "Common/Error.h"
#include "Common/Text.h"

namespace cntk
{

CommandLine ParseCommandLine(const std::vector<std::string>& arguments)
{
    CommandLine line;
    line.program = arguments.empty() ? "cntk" : arguments[0];
    for (size_t i = 1; i < arguments.size(); ++i)
    {
        const std::string& argument = arguments[i];
        const bool hasNext = i + 1 < arguments.size();
        if (argument == "--help" || argument == "-h" || argument == "-help" || argument == "-?" || argument == "help")
        {
            line.help = true;
            if (hasNext)
                line.helpTopic = arguments[++i];
            if (i + 1 < arguments.size())
                Fail(ErrorKind::Usage, "--help takes one topic; '", arguments[i + 1], "' is left over");
        }
        else if (argument == "--version")
            line.version = true;
        else if (argument == "--check")
            line.check = true;
        else if (argument == "--print-config")
            line.printConfig = true;
        else if (argument == "--write-docs")
        {
            if (!hasNext)
                Fail(ErrorKind::Usage, "--write-docs needs a folder");
            line.writeDocs = arguments[++i];
        }
        else if (ToLower(argument).starts_with("--configfile"))
            Fail(ErrorKind::Usage, "unknown option '", argument,
                 "'; config files are given without dashes: configFile=<file>");
        else if (argument.starts_with("--"))
            Fail(ErrorKind::Usage, "unknown option '", argument, "'", "; config parameters have no dashes: name=value",
                 DidYouMean(argument, {"--help", "--version", "--check", "--print-config", "--write-docs"}));
        else
            line.configArguments.push_back(argument);
    }
    return line;
}

} // namespace cntk
