// The lines' other parts, and what is wrong with them, are the reader's business.
#include "ActionsLib/Commands/ScriptFiles.h"

#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <filesystem>
#include <optional>
#include <string_view>

namespace cntk
{

namespace
{

namespace fs = std::filesystem;

// "a/b.htk" of "b=a/b.htk[0,11]".
std::string_view PathOf(std::string_view line)
{
    line = Trim(line);
    if (const size_t equals = line.find('='); equals != std::string_view::npos)
        line.remove_prefix(equals + 1);
    if (const size_t bracket = line.rfind('['); bracket != std::string_view::npos && line.ends_with(']'))
        line = line.substr(0, bracket);
    return Trim(line);
}

std::string WithFolder(std::string path, const std::string& script, const std::string& prefix)
{
    constexpr std::string_view c_folderOfScript = "...";
    if (!prefix.empty())
        return prefix + "/" + path;
    if (const size_t dots = path.find(c_folderOfScript); dots != std::string::npos)
    {
        const std::string folder = fs::path(script).parent_path().string();
        path.replace(dots, c_folderOfScript.size(), folder.empty() ? "." : folder);
    }
    return path;
}

bool VisitScript(const std::string& script, const std::optional<std::string>& prefix, const ScriptVisitor& visit)
{
    const std::string text = ReadTextFile(script);
    size_t number = 0;
    for (const std::string_view line : Split(text, text.find('\n') == std::string::npos ? '\r' : '\n'))
    {
        ++number;
        const std::string_view path = PathOf(line);
        if (!path.empty() && visit(prefix ? WithFolder(std::string(path), script, *prefix) : std::string(path),
                                   Concat(script, ":", number)))
            return true;
    }
    return false;
}

bool VisitBlock(const ConfigParameters& block, ScriptsOf whose, const ScriptVisitor& visit)
{
    if (const auto script = block.ExistsHere("scpFile") ? block.Find("scpFile") : std::nullopt)
    {
        const std::string path = ResolveInputPath(script->Text());
        std::optional<std::string> prefix;
        if (whose == ScriptsOf::Reader)
        {
            const auto folder = block.Find("prefixPathInSCP");
            prefix = folder ? ResolveOutputPath(folder->Text()) : "";
        }
        if (FileExists(path) && VisitScript(path, prefix, visit))
            return true;
    }
    for (const std::string& name : block.BlockNames())
        if (VisitBlock(block.RequireBlock(name), whose, visit))
            return true;
    return false;
}

} // namespace

void VisitScripts(const ConfigParameters& block, ScriptsOf whose, const ScriptVisitor& visit)
{
    VisitBlock(block, whose, visit);
}

} // namespace cntk
