// From options with dashes to config arguments.
#include "CNTK/ArgonCommand.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Decoder/DecodeOptions.h"

#include <algorithm>

namespace cntk
{

namespace
{

constexpr const char* c_programName = "argon";
// Options of the program itself.
constexpr const char* c_helpOptions[] = {"--help", "-h", "-help", "-?"};
constexpr const char* c_otherOwnOptions[] = {"--check", "--version", "--print-config"};

template <size_t count>
bool IsOneOf(const std::string& argument, const char* const (&options)[count])
{
    return std::find(std::begin(options), std::end(options), argument) != std::end(options);
}

std::string FileNameOf(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

const OptionInfo* FindArgonOption(const std::string& plain)
{
    for (const Option<DecodeOptions>& option : DecodeOptions::Options())
    {
        if (PlainOptionName(option.info.name) == plain)
            return &option.info;
        for (const std::string& alias : option.info.aliases)
            if (PlainOptionName(alias) == plain)
                return &option.info;
    }
    return nullptr;
}

[[noreturn]] void FailUnknown(const std::string& argument)
{
    std::vector<std::string> names;
    for (const Option<DecodeOptions>& option : DecodeOptions::Options())
        names.push_back("-" + option.info.name);
    const std::string name = "-" + argument.substr(argument.find_first_not_of('-'));
    Fail(ErrorKind::Usage, "unknown option '", argument, "' of argon", DidYouMean(name, names),
         "; cntk --help argon lists all options");
}

// A value as the config language reads it: in quotes, so that no character of a path has a meaning.
std::string QuotedValue(const OptionInfo& info, const std::string& value)
{
    if (value.find('"') != std::string::npos)
        Fail(ErrorKind::Usage, "the value '", value, "' of option -", info.name, " has a quote, expected none");
    return info.name + "=\"" + value + "\"";
}

} // namespace

bool IsArgonCommand(const std::vector<std::string>& arguments)
{
    if (arguments.empty())
        return false;
    return FileNameOf(arguments[0]) == c_programName ||
           (arguments.size() > 1 && EqualsIgnoreCase(arguments[1], c_programName));
}

std::vector<std::string> ConfigArgumentsOf(const std::vector<std::string>& arguments)
{
    const bool isProgram = FileNameOf(arguments[0]) == c_programName;
    std::vector<std::string> result{arguments[0]};
    std::vector<std::string> keys;
    std::string threads = "1";
    for (size_t i = isProgram ? 1 : 2; i < arguments.size(); ++i)
    {
        const std::string& argument = arguments[i];
        if (IsOneOf(argument, c_helpOptions))
            return {arguments[0], "--help", i + 1 < arguments.size() ? arguments[i + 1] : "decode"};
        if (IsOneOf(argument, c_otherOwnOptions))
        {
            result.push_back(argument);
            continue;
        }
        if (argument.size() < 2 || argument[0] != '-')
            Fail(ErrorKind::Usage, "argument '", argument,
                 "' of argon belongs to no option; expected -<option> <value>");
        const size_t equals = argument.find('=');
        const OptionInfo* const info = FindArgonOption(PlainOptionName(argument.substr(0, equals)));
        if (info == nullptr)
            FailUnknown(argument.substr(0, equals));
        if (equals != std::string::npos)
            keys.push_back(QuotedValue(*info, argument.substr(equals + 1)));
        else if (info->type == "bool" && (i + 1 == arguments.size() || arguments[i + 1].starts_with('-')))
            keys.push_back(info->name + "=true");
        else if (i + 1 == arguments.size())
            Fail(ErrorKind::Usage, "option '", argument, "' of argon needs a value");
        else
            keys.push_back(QuotedValue(*info, arguments[++i]));
        if (info->name == "threads")
            threads = equals != std::string::npos ? argument.substr(equals + 1) : arguments[i];
    }
    if (keys.empty() && result.size() > 1)
        return result;
    if (keys.empty())
        Fail(ErrorKind::Usage,
             "argon needs options, such as -graph, -lm, -am, -cntkmap, -infiles and -outmlf; cntk --help "
             "argon lists all of them");
    if (ParseSize(threads)) // the network takes as many threads as the search
        result.push_back("numCPUThreads=" + threads);
    result.emplace_back("command=Argon");
    result.emplace_back("Argon=[");
    result.emplace_back("action=decode");
    result.insert(result.end(), keys.begin(), keys.end());
    result.emplace_back("]");
    return result;
}

} // namespace cntk
