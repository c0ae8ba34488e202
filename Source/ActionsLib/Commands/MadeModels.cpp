#include "ActionsLib/Commands/MadeModels.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

namespace cntk
{
namespace
{

bool MakesModels(const ConfigParameters& block)
{
    const std::optional<ConfigValue> words = block.FindHere("action");
    for (const ConfigValue& word : words ? words->AsArray() : ConfigArray())
        if (const Action* const action = FindAction(word.Text()))
            if (action->name == "edit" || action->name == "SVD" || action->name == "convertdbn")
                return true;
    return false;
}

// Standard input and pipes are there for those who run.
bool HasText(const std::string& path, const std::string& text)
{
    std::error_code ignored;
    const std::string file = ResolveInputPath(path);
    return std::filesystem::is_regular_file(file, ignored) && ReadTextFile(file).find(text) != std::string::npos;
}

bool Names(const ConfigParameters& block, const std::string& model)
{
    const std::string name = std::filesystem::path(model).filename().string();
    for (const ConfigValue& value : block.Values())
    {
        if (CanonicalPath(value.Text()) == model)
            return true;
        if (EqualsIgnoreCase(value.KeyPath(), block.Name() + ":editPath"))
            for (const std::string_view script : Split(value.Text(), '+'))
                if (HasText(std::string(Trim(script)), name))
                    return true;
    }
    return false;
}

} // namespace

bool IsModelMade(const CommandContext& training, const std::string& modelPath)
{
    const std::string path = CanonicalPath(modelPath) + ".";
    const std::vector<std::string>& made = training.program.made;
    return std::any_of(made.begin(), made.end(),
                       [&](const std::string& file)
                       { return file.starts_with(path) && ParseSize(file.substr(path.size())); });
}

bool WasModelMade(const CommandContext& training, const std::string& modelPath)
{
    const ConfigParameters& root = *training.block.Parent();
    const std::string first = CanonicalPath(modelPath) + ".0";
    const std::vector<std::string> names = root.BlockNames();
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name)
                       {
                           try
                           {
                               const ConfigParameters& block = root.RequireBlock(name);
                               return MakesModels(block) && Names(block, first);
                           }
                           catch (const Error&)
                           {
                               return false; // it is not run, so that nobody asked for its errors
                           }
                       });
}

} // namespace cntk
