// The manual page cntk.1, from the tables of options, actions and exit codes. It has no date, so that its bytes depend
// on the version alone.
#include "ActionsLib/Action.h"
#include "ActionsLib/Help/Help.h"
#include "ActionsLib/RootOptions.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

namespace
{

// A text in the language of groff. Lines must not begin with a control character.
std::string Roff(std::string_view text)
{
    std::string roff;
    for (const char c : text)
    {
        if ((c == '.' || c == '\'') && (roff.empty() || roff.back() == '\n'))
            roff += "\\&";
        if (c == '\\')
            roff += "\\e";
        else if (c == '-')
            roff += "\\-";
        else if (c == '~')
            roff += "\\(ti";
        else if (c == '^')
            roff += "\\(ha";
        else if (c == '`')
            roff += "\\(ga";
        else
            roff += c;
    }
    return roff;
}

std::string Section(std::string_view title)
{
    return Concat(".SH ", title, "\n");
}

// A term in bold with its text below it.
std::string Term(std::string_view name, std::string_view argument, std::string_view text)
{
    const std::string italic = argument.empty() ? std::string() : Concat(" \\fI", Roff(argument), "\\fR");
    return Concat(".TP\n\\fB", Roff(name), "\\fR", italic, "\n", Roff(text), "\n");
}

std::string Example(std::string_view command, std::string_view text)
{
    return Concat(Roff(text), "\n.PP\n.RS 4\n.nf\n", Roff(command), "\n.fi\n.RE\n.PP\n");
}

std::string DocOfRootOption(const OptionInfo& option)
{
    std::string doc = option.doc.empty() ? "accepted, without effect" : option.doc;
    if (!option.defaultText.empty())
        doc += " (default: " + option.defaultText + ")";
    return doc;
}

std::string Files()
{
    return Section("FILES") +
           Term("modelPath", "",
                "The model of a training when it has ended. A model of each epoch has the epoch's number "
                "after the name, and a checkpoint (.ckp) beside it, with which training resumes.") +
           Term("../lib/cntk/", "", "Readers, writers and the libraries for GPUs and MPI, as seen from the program.");
}

std::string Environment()
{
    return Section("ENVIRONMENT") +
           Term("LD_LIBRARY_PATH", "", "Folders that are searched for readers after the program's own.") +
           Term("CUDA_PATH", "", "Folder of the CUDA libraries, where the system does not find them.");
}

std::string ManualPage()
{
    std::string page = ".TH CNTK 1 \"\" \"CNTK Classic " CNTK_VERSION "\" \"User Commands\"\n";
    page += Section("NAME") + "cntk \\- train, test and evaluate neural networks that text configs describe\n";
    page += Section("SYNOPSIS");
    page += ".B cntk\n\\fBconfigFile=\\fR\\fIfile\\fR[+\\fIfile\\fR...] [\\fIname\\fR=\\fIvalue\\fR ...] "
            "[\\fB\\-\\-check\\fR] [\\fB\\-\\-print\\-config\\fR]\n.br\n";
    page += ".B cntk\n\\fB\\-\\-help\\fR [\\fItopic\\fR]\n.br\n.B cntk\n\\fB\\-\\-version\\fR\n";
    page += Section("DESCRIPTION");
    page +=
        "Reads the config files in order, then the values of the command line as if they stood at the end of the last\n"
        "file, and runs the commands that \\fBcommand=\\fR lists. Each command is a block of the config with an "
        "action.\n"
        "All commands are read and checked before the first one runs.\n.PP\n"
        "\\fBcntk \\-\\-help\\fR \\fItopic\\fR explains each action, block, parameter, reader, function of network\n"
        "descriptions and command of the edit action.\n";
    page += Section("OPTIONS");
    for (const ProgramOption& option : ProgramOptions())
        page += Term(option.name, option.argument, option.doc);
    page += Section("ACTIONS");
    for (const Action& action : Actions())
        page += Term(action.name, "", action.doc);
    page += Section("ROOT KEYS");
    for (const OptionInfo& option : DescribeOptions<RootOptions>())
        page += Term(option.name, "", DocOfRootOption(option));
    page += Section("EXIT STATUS");
    for (const ExitCode& code : ExitCodes())
        page += Term(std::to_string(code.code), "", code.meaning);
    page += Files() + Environment();
    page += Section("EXAMPLES");
    page += Example("cntk configFile=Simple.cntk", "Runs the commands of a config:");
    page += Example("cntk configFile=Simple.cntk command=Simple_Demo \"Simple_Demo=[SGD=[maxEpochs=50]]\" --check",
                    "Checks one command with another number of epochs, without training:");
    page += Example("cntk --help minibatchSize", "Explains a parameter:");
    page += Section("SEE ALSO") + "The reference pages and examples in the folder of the documentation, "
                                  "share/doc/cntk\\-classic.\n";
    return page;
}

} // namespace

void WriteManualPage(const std::string& folder)
{
    AtomicFile file(folder + "/cntk.1");
    file.Write(ManualPage());
    file.Commit();
}

} // namespace cntk
