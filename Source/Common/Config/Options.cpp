// Reads options, as far as it does not depend on the struct.
#include "Common/Config/Options.h"

#include "Common/Config/ConfigTree.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <charconv>
#include <cmath>

namespace cntk
{

namespace
{

template <class T>
std::string Shortest(T value)
{
    if (std::isinf(value))
        return value < 0 ? "-inf" : "inf";
    char text[64];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    return error == std::errc() ? std::string(text, end) : std::string();
}

const std::string* NameIn(const ConfigParameters& block, const OptionInfo& info)
{
    if (block.ExistsHere(info.name))
        return &info.name;
    for (const std::string& alias : info.aliases)
        if (block.ExistsHere(alias))
            return &alias;
    return nullptr;
}

} // namespace

std::string PrintNumber(double value)
{
    return Shortest(value);
}

std::string PrintNumber(float value)
{
    return Shortest(value);
}

std::string PrintSize(size_t value)
{
    return value == std::numeric_limits<size_t>::max() ? "unlimited" : std::to_string(value);
}

std::string DescribeRange(const Range& range, const char* what)
{
    std::string text;
    if (!std::isinf(range.min))
        text = (range.minOpen ? " > " : " >= ") + Shortest(range.min);
    if (!std::isinf(range.max))
        text += (text.empty() ? "" : " and") + std::string(range.maxOpen ? " < " : " <= ") + Shortest(range.max);
    return text.empty() ? text : what + text;
}

void CheckRange(const ConfigValue& value, double number, const Range& range, const char* what)
{
    // NaN is outside of every range that has a limit.
    const bool isAboveMin = std::isinf(range.min) || number > range.min || (!range.minOpen && number == range.min);
    const bool isBelowMax = std::isinf(range.max) || number < range.max || (!range.maxOpen && number == range.max);
    if (!isAboveMin || !isBelowMax)
        value.FailExpected(DescribeRange(range, what));
    if (std::isnan(number))
        value.FailExpected("a number, which nan is not");
}

size_t ReadChoice(const ConfigValue& value, const std::vector<std::string>& words)
{
    for (size_t i = 0; i < words.size(); ++i)
        if (EqualsIgnoreCase(words[i], value.Text()))
            return i;
    value.FailExpected("one of " + Join(words, ", ") + DidYouMean(value.Text(), words));
}

std::optional<ConfigValue> FindOption(const ConfigParameters& block, const OptionInfo& info, bool isLocal)
{
    for (const ConfigParameters* at = &block; at; at = isLocal ? nullptr : at->Parent())
        if (const std::string* const name = NameIn(*at, info))
            return at->FindHere(*name);
    return std::nullopt;
}

const ConfigParameters* FindOptionBlock(const ConfigParameters& block, const OptionInfo& info, bool isLocal)
{
    std::vector<std::string> names = info.aliases;
    names.insert(names.begin(), info.name);
    for (const ConfigParameters* at = &block; at; at = isLocal ? nullptr : at->Parent())
    {
        for (const std::string& name : names)
        {
            if (const ConfigParameters* const found = at->FindBlockHere(name))
                return &ConfigTree::SeenFrom(block, *found);
        }
    }
    return nullptr;
}

bool HasElements(const ConfigValue& value)
{
    return value.Text().find_first_not_of(" \t\r\n()[]{}") != std::string::npos;
}

void FailMissing(const ConfigParameters& block, const OptionInfo& info, bool isLocal)
{
    std::vector<std::string> names;
    for (const ConfigParameters* at = &block; at; at = isLocal ? nullptr : at->Parent())
    {
        if (const std::string* const given = NameIn(*at, info))
        {
            const ConfigValue value = block.Require(*given); // fails if the value is empty
            FailAt(value.Where(), ErrorKind::Config, "required parameter missing: ", block.Path(), ':', info.name,
                   ": the value of '", value.KeyPath(), "' is '", value.Text(), "', and it has no default");
        }
        for (std::string& name : at->Names())
            names.push_back(std::move(name));
    }
    std::string near = DidYouMean(info.name, names);
    for (const std::string& alias : info.aliases)
        if (near.empty())
            near = DidYouMean(alias, names);
    FailAt(block.Where(), ErrorKind::Config, "required parameter missing: ", block.Path(), ':', info.name, near);
}

} // namespace cntk
