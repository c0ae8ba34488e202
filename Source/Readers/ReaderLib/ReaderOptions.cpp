// Reading of shared option types.
#include "Readers/ReaderLib/ReaderOptions.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

size_t ReadRandomizeRange(const ConfigValue& value, const char* unit)
{
    const std::string& text = value.Text();
    if (EqualsIgnoreCase(text, "auto") || EqualsIgnoreCase(text, "true"))
        return RandomizeWindow::c_auto;
    if (EqualsIgnoreCase(text, "none") || EqualsIgnoreCase(text, "false"))
        return 0;
    const std::optional<long long> number = ParseInteger(text);
    if (!number || *number < 0)
        FailAt(value.Where(), ErrorKind::Config, "'", value.KeyPath(), "' is '", text,
               "', expected auto, none or a number of ", unit);
    return size_t(*number);
}

RandomizeWindow OptionType<RandomizeWindow>::Read(const ConfigValue& value, const Range&)
{
    const size_t range = ReadRandomizeRange(value, "records");
    return {range >= c_wholeDataSet ? RandomizeWindow::c_auto : range};
}

std::string OptionType<RandomizeWindow>::Print(const RandomizeWindow& value)
{
    if (value.range == RandomizeWindow::c_auto)
        return "auto";
    return value.range == 0 ? "none" : std::to_string(value.range);
}

const ConfigParameters& RequireOutputBlock(const ConfigParameters& writer, const std::string& node)
{
    if (writer.ExistsHere(node))
        return writer.RequireBlock(node);
    FailAt(writer.WhereOf("outputNodeNames"), ErrorKind::Config, "outputNodeNames lists '", node,
           "', but the writer has no block ", node, "=[...] that names the file for its values",
           DidYouMean(node, writer.BlockNames()));
}

bool IsLabelBlock(const ConfigParameters& block, std::initializer_list<const char*> keys)
{
    const std::optional<ConfigValue> section = block.FindHere("sectionType"); // marks the key as known
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return block.ExistsHere(key); }) ||
           (section && EqualsIgnoreCase(section->Text(), "labels"));
}

StreamBlocks FindStreamBlocks(const ConfigParameters& reader)
{
    std::vector<std::string> names = reader.BlockNames();
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    StreamBlocks blocks;
    for (const std::string& name : names)
    {
        const ConfigParameters& block = reader.RequireBlock(name);
        if (IsLabelBlock(block, {"labelMappingFile", "labelDim", "labelType"}))
            blocks.labels.push_back(name);
        else if (block.ExistsHere("dim"))
            blocks.features.push_back(name);
    }
    return blocks;
}

std::string DocWithLimits(const OptionInfo& option)
{
    const std::string limits = option.type.find('|') != std::string::npos ? option.type : option.range;
    return option.hasNoEffect || limits.empty() ? option.doc : Concat(option.doc, " (", limits, ")");
}

std::string SettingText(const ConfigParameters& block, const char* key, size_t number)
{
    const std::optional<ConfigValue> value = block.Find(key);
    return Concat(key, "=", number, value && value->Where() ? " at " + value->Where().Location() : "");
}

} // namespace cntk
