// Candidates for a word of a command line. Reads config files that earlier words name, but changes and runs nothing.
#include "ActionsLib/Action.h"
#include "ActionsLib/Help/Help.h"
#include "ActionsLib/RootOptions.h"
#include "Common/Config/ConfigFiles.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cntk
{

namespace
{

namespace fs = std::filesystem;

OptionInfo KeyNamed(const std::string& name)
{
    OptionInfo info;
    info.name = name;
    return info;
}

class Completion
{
public:
    explicit Completion(const std::vector<std::string>& words)
        : m_words(words), m_last(words.empty() ? std::string() : words.back())
    {
    }

    std::vector<std::string> Run()
    {
        const std::string before = m_words.size() > 1 ? m_words[m_words.size() - 2] : std::string();
        if (before == "--help" || before == "-h" || before == "help")
            AddAll("", HelpTopics(), "");
        else if (before == "--write-docs" || before == "--write-man")
            AddFiles("", m_last, true);
        else if (m_last.starts_with("-"))
            AddOptions();
        else if (const size_t bracket = m_last.rfind('['); bracket != std::string::npos)
            CompleteInBlock();
        else if (const size_t equals = m_last.find('='); equals != std::string::npos)
            CompleteValue(m_last.substr(0, equals), m_last.substr(0, equals + 1), m_last.substr(equals + 1));
        else
            AddRootKeys();
        return std::move(m_candidates);
    }

private:
    // Adds prefix + name + ending if the user's text can become it.
    void Add(const std::string& prefix, const std::string& name, const std::string& ending)
    {
        const std::string typed = m_last.substr(std::min(prefix.size(), m_last.size()));
        if (name.size() >= typed.size() && EqualsIgnoreCase(std::string_view(name).substr(0, typed.size()), typed))
            m_candidates.push_back(prefix + name + ending);
    }
    void AddAll(const std::string& prefix, const std::vector<std::string>& names, const std::string& ending)
    {
        for (const std::string& name : names)
            Add(prefix, name, ending);
    }

    void AddOptions()
    {
        for (const ProgramOption& option : ProgramOptions())
            if (option.name != "--complete")
                Add("", option.name, "");
    }

    // Adds the files that begin with the path. prefix: the part of the word before the path.
    void AddFiles(const std::string& prefix, const std::string& path, bool foldersOnly, std::string_view ending = {})
    {
        const size_t slash = path.rfind('/');
        const std::string folder = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
        const std::string begin = path.substr(folder.size());
        std::error_code error;
        std::vector<std::string> found;
        for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
             entry.increment(error))
        {
            const std::string name = entry->path().filename().string();
            std::error_code ignored;
            const bool isFolder = entry->is_directory(ignored);
            if (name.starts_with(begin) && (!begin.empty() || !name.starts_with(".")) &&
                (isFolder || (!foldersOnly && name.ends_with(ending))))
                found.push_back(prefix + folder + name + (isFolder ? "/" : ""));
        }
        std::sort(found.begin(), found.end());
        m_candidates.insert(m_candidates.end(), found.begin(), found.end());
    }

    // The config of the words before the last one; null if there is none or it has mistakes.
    const ConfigParameters* Config()
    {
        if (m_hasLooked)
            return m_config.root.get();
        m_hasLooked = true;
        std::vector<std::string> arguments;
        for (size_t i = 0; i + 1 < m_words.size(); i++)
            if (const std::string lower = ToLower(m_words[i]); lower.starts_with("configfile="))
                arguments.push_back(m_words[i]);
            else if (lower.ends_with(".cntk") && lower.find('=') == std::string::npos)
                arguments.push_back("configFile=" + m_words[i]);
        try
        {
            if (!arguments.empty())
                m_config = LoadConfig(arguments);
        }
        catch (const std::exception&)
        {
        }
        return m_config.root.get();
    }

    std::vector<std::string> Commands()
    {
        std::vector<std::string> names;
        if (const ConfigParameters* const root = Config())
            for (const std::string& name : root->BlockNames())
                if (const ConfigParameters* const block = root->FindBlockHere(name); block->ExistsHere("action"))
                    names.push_back(name);
        return names;
    }

    void AddRootKeys()
    {
        Add("", "configFile", "=");
        for (const OptionInfo& option : DescribeOptions<RootOptions>())
            if (!option.hasNoEffect)
                Add("", option.name, "=");
        if (const ConfigParameters* const root = Config())
            for (const std::string& name : root->BlockNames())
                Add("", name, "=[");
        if (Config() == nullptr)
            AddFiles("", m_last, false, ".cntk");
        if (m_last.empty())
            AddOptions();
    }

    // A value of a key at the root. prefix: the word up to the '='.
    void CompleteValue(const std::string& key, const std::string& prefix, const std::string& value)
    {
        if (EqualsIgnoreCase(key, "configFile"))
        {
            const size_t plus = value.rfind('+');
            const size_t begin = plus == std::string::npos ? 0 : plus + 1;
            return AddFiles(prefix + value.substr(0, begin), value.substr(begin), false);
        }
        if (EqualsIgnoreCase(key, "command"))
        {
            const size_t colon = value.rfind(':');
            const std::string listed = colon == std::string::npos ? std::string() : value.substr(0, colon + 1);
            for (const std::string& name : Commands())
                if ((":" + listed).find(":" + name + ":") == std::string::npos)
                    Add(prefix + listed, name, "");
            return;
        }
        if (EqualsIgnoreCase(key, "currentDirectory"))
            return AddFiles(prefix, value, true);
        AddChoices(DescribeOptions<RootOptions>(), key, prefix);
        if (const ConfigParameters* const root = Config(); root != nullptr && value.empty())
            for (const std::string& name : root->BlockNames())
                if (EqualsIgnoreCase(name, key))
                    m_candidates.push_back(prefix + "[");
    }

    // Adds the words of a key that has a fixed set of them.
    void AddChoices(const std::vector<OptionInfo>& options, std::string_view key, const std::string& prefix)
    {
        constexpr std::string_view c_choice = "one of ";
        for (const OptionInfo& option : options)
        {
            if (!EqualsIgnoreCase(option.name, key))
                continue;
            if (option.type.starts_with(c_choice))
                for (const std::string_view word : Split(std::string_view(option.type).substr(c_choice.size()), '|'))
                    Add(prefix, std::string(word), "");
            else if (option.type == "bool" || option.type == "boolean")
                AddAll(prefix, {"true", "false"}, "");
        }
    }

    // The blocks that the word has opened, outermost first, and the offset of the last key or value in it.
    struct Place
    {
        std::vector<std::string> blocks;
        size_t begin = 0;
    };
    Place FindPlace() const
    {
        Place place;
        std::string key;
        for (size_t i = 0; i < m_last.size(); i++)
        {
            const char c = m_last[i];
            if (c == '[')
            {
                place.blocks.push_back(key);
                key.clear();
            }
            else if (c == ']' && !place.blocks.empty())
                place.blocks.pop_back();
            else if (c == ';' || c == ' ')
                key.clear();
            else if (c != '=')
                key += c;
            if (c == '[' || c == ']' || c == ';' || c == ' ')
                place.begin = i + 1;
        }
        return place;
    }

    // The action of a block at the root; by default a training.
    const Action* ActionOf(const std::string& command)
    {
        const ConfigParameters* const root = Config();
        const ConfigParameters* const block = root != nullptr ? root->FindBlockHere(command) : nullptr;
        const std::optional<ConfigValue> action = block != nullptr ? block->FindHere("action") : std::nullopt;
        return FindAction(action ? action->Text() : "train");
    }

    void CompleteInBlock()
    {
        const Place place = FindPlace();
        if (place.blocks.empty())
            return;
        std::vector<OptionInfo> options;
        std::vector<std::string> blocks;
        const std::string& inner = place.blocks.back();
        if (place.blocks.size() == 1)
        {
            if (const Action* const action = ActionOf(inner))
            {
                options = action->options;
                blocks = action->blocks;
            }
            options.push_back(KeyNamed("action"));
        }
        for (const BlockRecord& block : Blocks())
        {
            if (place.blocks.size() > 1 && EqualsIgnoreCase(block.name, inner))
                options.insert(options.end(), block.options.begin(), block.options.end());
            if (EqualsIgnoreCase(block.parent, inner))
                blocks.push_back(block.name);
        }
        if (place.blocks.size() > 1 && IsReaderBlock(inner))
            options.push_back(KeyNamed("readerType"));

        const std::string typed = m_last.substr(place.begin);
        if (const size_t equals = typed.find('='); equals != std::string::npos)
        {
            const std::string prefix = m_last.substr(0, place.begin + equals + 1), key = typed.substr(0, equals);
            if (EqualsIgnoreCase(key, "action"))
                for (const Action& action : Actions())
                    Add(prefix, action.name, "");
            else if (EqualsIgnoreCase(key, "readerType") || EqualsIgnoreCase(key, "writerType"))
                AddAll(prefix, PluginNames(), "");
            return AddChoices(options, key, prefix);
        }
        const std::string prefix = m_last.substr(0, place.begin);
        for (const OptionInfo& option : options)
            if (option.type != "block" && !option.hasNoEffect)
                Add(prefix, option.name, "=");
        for (const std::string& block : blocks)
            Add(prefix, block, "=[");
    }

    const std::vector<std::string>& m_words;
    std::string m_last;
    LoadedConfig m_config;
    bool m_hasLooked = false;
    std::vector<std::string> m_candidates;
};

} // namespace

std::vector<std::string> CompletionsOf(const std::vector<std::string>& words)
{
    try
    {
        std::vector<std::string> candidates = Completion(words).Run();
        std::vector<std::string> unique;
        for (std::string& candidate : candidates)
            if (std::find(unique.begin(), unique.end(), candidate) == unique.end())
                unique.push_back(std::move(candidate));
        return unique;
    }
    catch (const std::exception&)
    {
        return {};
    }
}

} // namespace cntk
