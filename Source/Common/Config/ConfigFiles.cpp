// Joins all files and arguments to one text whose segments have their source positions, then parses that text.
#include "Common/Config/ConfigFiles.h"

#include "Common/Config/ConfigTree.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace cntk
{

namespace
{

constexpr std::string_view c_include = "include=";
constexpr const char* c_expectedForm = "expected configFile=<file>[+<file>...], without blanks around '='";

// True for an argument that names an existing file with an extension: "exp.cntk" and "a.cntk+b.cntk" are config files.
// Other names without a value mean name=true.
bool NamesConfigFiles(const std::string& argument)
{
    if (argument.find('=') != std::string::npos || argument.find('.') == std::string::npos)
        return false;
    const std::string first = argument.substr(0, argument.find('+'));
    return FileExists(ResolveInputPath(argument)) || (first != argument && FileExists(ResolveInputPath(first)));
}

std::string BaseName(const std::string& path)
{
    const std::string slashed = ResolveOutputPath(path);
    return slashed.substr(slashed.rfind('/') + 1);
}

std::string WorkingDirectory()
{
    std::error_code error;
    const std::filesystem::path path = std::filesystem::current_path(error);
    return error ? "?" : path.string();
}

std::string Unquoted(std::string_view text)
{
    text = Trim(text);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
    return std::string(text);
}

// "; looked for '/home/me/exp.cntk' in working directory '/home/me'; did you mean ..."
std::string DescribeSearch(const std::string& path)
{
    const std::string slashed = ResolveOutputPath(path);
    const std::string folder = WorkingDirectory();
    std::string text = "; looked for '" + (slashed.starts_with('/') ? slashed : folder + '/' + slashed) +
                       "', working directory is '" + folder + '\'';
    return text + NearFilesHint(path);
}

class Loader
{
public:
    explicit Loader(const std::vector<std::string>& arguments) : m_arguments(arguments)
    {
        std::string line;
        for (const std::string& argument : arguments)
        {
            m_offsets.push_back(line.size());
            line += argument + ' ';
        }
        if (!line.empty())
            line.pop_back();
        m_commandLine = std::make_shared<const SourceText>("command line", std::move(line));
    }

    LoadedConfig Load()
    {
        if (m_arguments.empty())
            Fail(ErrorKind::Usage, "no command-line argument given; ", c_expectedForm);
        for (size_t i = 0; i < m_arguments.size(); ++i)
            AddArgument(i);
        if (m_result.files.empty())
            CheckForMisspeltConfigFile();
        const std::string name = m_result.files.empty() ? "command line" : BaseName(m_result.files.back());
        m_result.root = ConfigTree::Build(std::move(m_text), name);
        return std::move(m_result);
    }

private:
    SourcePos PositionOfArgument(size_t index) const
    {
        return {m_commandLine, m_offsets[index], m_arguments[index].size()};
    }

    void AddArgument(size_t index)
    {
        const std::string& argument = m_arguments[index];
        const size_t equals = argument.find('=');
        const std::string_view name = Trim(std::string_view(argument).substr(0, equals));
        if (argument.starts_with("--"))
            FailAt(PositionOfArgument(index), ErrorKind::Usage, "unknown option '", argument,
                   "'; expected name=value, or one of the options that cntk --help lists");
        if (EqualsIgnoreCase(name, "configFile"))
            AddConfigFiles(index, equals == std::string::npos ? "" : argument.substr(equals + 1));
        else if (NamesConfigFiles(argument))
            AddConfigFiles(index, argument);
        else
        {
            if (EqualsIgnoreCase(name, "currentDirectory") && equals != std::string::npos)
                ChangeDirectory(index, Unquoted(argument.substr(equals + 1)));
            if (argument.starts_with(c_include))
                AddIncludes(m_commandLine, m_offsets[index], argument);
            else
                m_text->Append(m_commandLine, m_offsets[index], WithoutStrayBrackets(index));
        }
    }

    // Returns the argument without unmatched closing brackets at its end, which CNTK v1.1 ignores. Brackets may be
    // opened in an earlier argument.
    std::string_view WithoutStrayBrackets(size_t index)
    {
        const std::string_view argument = m_arguments[index];
        size_t at = 0;
        for (; at < argument.size(); ++at)
        {
            const char c = argument[at];
            if (c == '"')
                at = std::min(argument.find('"', at + 1), argument.size());
            else if (c == '[' || c == '(' || c == '{')
                ++m_openBrackets;
            else if ((c == ']' || c == ')' || c == '}') && m_openBrackets-- == 0)
                break;
        }
        if (at >= argument.size())
            return argument;
        m_openBrackets = 0;
        if (argument.find_first_not_of("])} \t", at) != std::string_view::npos)
            return argument;
        const SourcePos where{m_commandLine, m_offsets[index] + at, argument.size() - at};
        m_result.notices.push_back(Concat(where.Excerpt(), "\nWARNING: ", where.Location(), ": '", argument.substr(at),
                                          "' at the end of the argument closes no bracket and is ignored"));
        return argument.substr(0, at);
    }

    // Fails if an argument is nearly named configFile. No parameter has such a name.
    void CheckForMisspeltConfigFile() const
    {
        for (size_t i = 0; i < m_arguments.size(); ++i)
        {
            const std::string& argument = m_arguments[i];
            const size_t equals = argument.find('=');
            if (const std::string name(Trim(std::string_view(argument).substr(0, equals)));
                equals != std::string::npos && !NearestNames(name, {"configFile"}).empty())
                FailAt(PositionOfArgument(i), ErrorKind::Usage, "unknown argument '", name,
                       "'; did you mean configFile", argument.substr(equals), "?");
            if (equals == std::string::npos && argument.find('.') != std::string::npos)
                FailAt(PositionOfArgument(i), ErrorKind::Usage, "argument ", i + 1, " '", argument,
                       "' is no name=value, and no file of that name exists; a config file is given by its name or as "
                       "configFile=<file>",
                       NearFilesHint(argument));
        }
    }

    void AddConfigFiles(size_t index, const std::string& list)
    {
        const std::string files = Unquoted(list);
        if (files.empty())
        {
            const std::string next = index + 1 < m_arguments.size() ? m_arguments[index + 1] : "";
            const std::string hint = next.empty() || (next.find('=') != std::string::npos && next != "=")
                                         ? ""
                                         : "; a blank before '" + next + "' makes it an argument of its own";
            FailAt(PositionOfArgument(index), ErrorKind::Usage, "argument ", index + 1, " '", m_arguments[index],
                   "' names no file; ", c_expectedForm, hint);
        }
        for (const std::string_view part : Split(files, '+'))
        {
            const std::string path = Unquoted(part);
            if (path.empty())
                FailAt(PositionOfArgument(index), ErrorKind::Usage, "argument ", index + 1, " '", m_arguments[index],
                       "' has an empty file name in its list; ", c_expectedForm);
            if (std::find(m_result.files.begin(), m_result.files.end(), path) != m_result.files.end())
                FailAt(PositionOfArgument(index), ErrorKind::Usage, "config file '", path,
                       "' is given more than once on the command line");
            m_result.files.push_back(path);
            AddFile(path, PositionOfArgument(index), false);
        }
    }

    void AddFile(const std::string& path, const SourcePos& where, bool isIncluded)
    {
        const char* const what = isIncluded ? "included file" : "config file";
        if (path != "-" && !FileExists(ResolveInputPath(path)))
            FailAt(where, ErrorKind::Config, what, " '", path, "' does not exist", DescribeSearch(path));
        std::string text;
        try
        {
            text = ReadTextFile(path);
        }
        catch (const Error& error)
        {
            FailAt(where, ErrorKind::Config, what, ": ", error.Message());
        }
        const auto source = std::make_shared<const SourceText>(path == "-" ? "standard input" : path, std::move(text));
        CheckIsText(source);
        CheckLineEnds(source);
        const std::string clean = RemoveComments(source->Text());

        // Replaces lines that begin with "include=" in the first column by the files that they name.
        size_t done = 0;
        for (size_t at = clean.starts_with(c_include) ? 0 : NextInclude(clean, 0); at != std::string::npos;
             at = NextInclude(clean, at))
        {
            const size_t end = std::min(clean.find_first_of("\r\n", at), clean.size());
            if (at > done)
                m_text->Append(source, done, std::string_view(clean).substr(done, at - done), isIncluded);
            AddIncludes(source, at, std::string_view(clean).substr(at, end - at));
            done = end;
        }
        m_text->Append(source, done, std::string_view(clean).substr(done), isIncluded);
    }

    static size_t NextInclude(const std::string& clean, size_t from)
    {
        const size_t newline = clean.find("\ninclude=", from);
        return newline == std::string::npos ? newline : newline + 1;
    }

    void AddIncludes(const std::shared_ptr<const SourceText>& source, size_t offset, std::string_view line)
    {
        const SourcePos where{source, offset, Trim(line).size()};
        const std::string list(Trim(line.substr(c_include.size())));
        if (list.find('$') != std::string::npos)
            FailAt(where, ErrorKind::Config, "variables cannot be used in an include line, found '", list, "'");
        for (const std::string_view part : Split(list, '+'))
        {
            const std::string written(Trim(part));
            if (written.empty())
                FailAt(where, ErrorKind::Config, "the include line names no file; expected include=<file>[+<file>...]");
            const std::string path = FindIncluded(written, source->Name());
            if (!m_included.insert(path).second)
            {
                m_result.notices.push_back("Warning: Config file included multiple times.  Not including config file "
                                           "again: " +
                                           path);
                continue;
            }
            AddFile(path, where, true);
        }
    }

    // Paths are relative to the working directory. A file that does not exist there is looked for in the folder of the
    // including file.
    static std::string FindIncluded(const std::string& path, const std::string& includer)
    {
        const std::string slashed = ResolveOutputPath(includer);
        const size_t slash = slashed.rfind('/');
        if (slash == std::string::npos || path.starts_with('/') || FileExists(ResolveInputPath(path)))
            return path;
        const std::string beside = slashed.substr(0, slash + 1) + path;
        return FileExists(ResolveInputPath(beside)) ? beside : path;
    }

    void ChangeDirectory(size_t index, const std::string& folder)
    {
        if (::chdir(ResolveInputPath(folder).c_str()) != 0)
        {
            const std::string reason = std::strerror(errno);
            FailAt(PositionOfArgument(index), ErrorKind::Usage, "cannot change the current directory to '", folder,
                   "': ", reason);
        }
        m_result.notices.push_back("Changed current directory to " + folder);
    }

    const std::vector<std::string>& m_arguments;
    std::shared_ptr<const SourceText> m_commandLine;
    std::vector<size_t> m_offsets; // of each argument in the command line
    size_t m_openBrackets = 0;     // still open at the end of the last argument
    std::unique_ptr<ConfigText> m_text = std::make_unique<ConfigText>();
    std::set<std::string> m_included;
    LoadedConfig m_result;
};

} // namespace

LoadedConfig LoadConfig(const std::vector<std::string>& arguments)
{
    return Loader(arguments).Load();
}

} // namespace cntk
