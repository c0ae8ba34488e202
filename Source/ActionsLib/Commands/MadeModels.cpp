#include "ActionsLib/Commands/MadeModels.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

namespace cntk
{
namespace
{

bool MakesModels(const Action& action)
{
    return action.name == "edit" || action.name == "SVD" || action.name == "convertdbn";
}

// Standard input and pipes are there for those who run.
bool ReadsFiles(const ConfigParameters& block)
{
    for (const char* const key : {"editPath", "ndlMacros", "SVDConfig"})
        if (const std::optional<ConfigValue> files = block.Find(key))
            for (const std::string_view part : Split(files->Text(), '+'))
            {
                std::error_code ignored;
                const std::string path(Trim(part));
                if (!path.empty() && !std::filesystem::is_regular_file(ResolveInputPath(path), ignored))
                    return false;
            }
    return true;
}

} // namespace

std::vector<std::string> MadeByCommandsNotRun(const ConfigParameters& root, const std::vector<std::string>& commands,
                                              const ProgramContext& program)
{
    std::vector<std::string> made;
    Log quiet;
    quiet.RedirectTo("/dev/null");
    for (const std::string& name : root.BlockNames())
    {
        const auto isName = [&](const std::string& command) { return EqualsIgnoreCase(command, name); };
        if (std::any_of(commands.begin(), commands.end(), isName))
            continue;
        try
        {
            const ConfigParameters& block = root.RequireBlock(name);
            if (!block.ExistsHere("action"))
                continue;
            ProgramContext aside{quiet, program.dataType};
            for (const ConfigValue& word : block.Require("action").AsArray())
                if (const Action* const action = FindAction(word.Text());
                    action && MakesModels(*action) && ReadsFiles(block))
                    for (std::string& file : action->prepare({aside, name, block})->Produces())
                        made.push_back(std::move(file));
        }
        catch (const Error&)
        {
            // It is not run, so that nobody asked for its errors.
        }
    }
    return made;
}

} // namespace cntk
