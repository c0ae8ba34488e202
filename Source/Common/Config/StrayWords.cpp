#include "Common/Config/StrayWords.h"

#include "Common/Characters.h"
#include "Common/Config/ConfigTree.h"
#include "Common/Message.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Names without a value, those included whose place a value took.
std::vector<ConfigPiece> WordsOf(const ConfigParameters& block)
{
    std::vector<ConfigPiece> words = ConfigTree::Entries(block).replacedWords;
    for (const auto& entry : ConfigTree::Entries(block).entries)
        if (entry->values.empty())
            words.push_back(entry->key);
    return words;
}

// The last entry whose value ends before the stray key on the same line; pieces without a value do not count.
const ConfigEntry* OwnerOf(const ConfigParameters& block, const ConfigPiece& stray)
{
    const ConfigEntry* owner = nullptr;
    for (const auto& entry : ConfigTree::Entries(block).entries)
    {
        if (entry->values.empty() || entry->key.text != stray.text || entry->key.begin >= stray.begin)
            continue;
        if (!owner || entry->key.begin > owner->key.begin)
            owner = entry.get();
    }
    if (!owner)
        return nullptr;
    const std::string_view between = stray.text->Text().substr(
        owner->values.back().end, stray.begin - std::min(stray.begin, owner->values.back().end));
    return between.find('\n') == std::string_view::npos ? owner : nullptr;
}

// The owner and the pieces of its list behind it, as they stand in the text.
std::string_view ListFrom(const ConfigParameters& block, const ConfigEntry& owner, const ConfigPiece& stray,
                          const KnownNames& names)
{
    size_t end = stray.end;
    for (const ConfigPiece& other : WordsOf(block))
        if (other.text == stray.text && other.end > end && !names.IsKnown(other.View()) &&
            OwnerOf(block, other) == &owner)
            end = other.end;
    return stray.text->Text().substr(owner.key.begin, end - owner.key.begin);
}

// written: "layerSizes=2;50;2", or "0,01", which may be a fraction with a decimal comma.
std::string DescribeBrokenList(const ConfigParameters& block, std::string_view written, char separator, bool isNumber)
{
    std::string pieces, mended;
    size_t count = 0;
    bool areDigits = separator == ',';
    std::string rest(written);
    std::replace(rest.begin(), rest.end(), ',', ';');
    for (const std::string_view piece : Split(rest, ';'))
    {
        if (Trim(piece).empty())
            continue;
        const std::string_view digits = count == 0 ? piece.substr(piece.find('=') + 1) : piece;
        areDigits = areDigits && Trim(digits).find_first_not_of("0123456789") == std::string_view::npos;
        ++count;
        pieces += Concat(pieces.empty() ? "'" : ", '", Trim(piece), "'");
        mended += Concat(mended.empty() ? "" : ":", Trim(piece));
    }
    std::string decimal = mended;
    std::replace(decimal.begin(), decimal.end(), ':', '.');
    const std::string begin = Concat("'", written, "' ", InBlock(block), " falls into ", pieces);
    const bool mayBeFraction = areDigits && count == 2;
    if (isNumber && mayBeFraction)
        return Concat(begin, ": expected one number, write for a fraction ", decimal);
    return Concat(begin, ": the elements of a list are separated by ':', write ", mended,
                  mayBeFraction ? ", or for a fraction " + decimal : "");
}

// "0.1", "0.1*5", or several of them: "0.1:0.05*3"
bool AreNumbers(std::string_view text)
{
    const std::vector<std::string_view> elements = Split(text, ':');
    return std::all_of(elements.begin(), elements.end(),
                       [](std::string_view element)
                       {
                           const size_t star = element.find('*');
                           const std::string_view number = Trim(element.substr(0, star));
                           return ParseDouble(number) &&
                                  (star == std::string_view::npos || ParseSize(Trim(element.substr(star + 1))));
                       });
}

} // namespace

std::string InBlock(const ConfigParameters& block)
{
    if (!block.Parent())
        return "at the root of the config";
    return Concat("in block '", ConfigTree::KeyPathOf(*block.Parent(), block.Name()), "'");
}

StrayWord FindStray(const ConfigParameters& block, const ConfigEntry& entry, const KnownNames& names)
{
    if (entry.isBlock || (!entry.values.empty() && entry.hasEquals) || names.IsKnown(entry.name))
        return {};
    const ConfigEntry* const owner = OwnerOf(block, entry.key);
    if (!owner)
        return {};
    const std::string_view text = entry.key.text->Text();
    const char separator = text[text.find_last_not_of(" \t", entry.key.begin - 1)];
    if (separator == ';' || separator == ',')
    {
        const char first = entry.name[0];
        const bool isNumber = IsDigit(first) || first == '.' || first == '-';
        const bool isPiece = isNumber || separator == ',' || names.IsList(block, owner->name);
        if (!entry.values.empty() || owner->isBlock || !isPiece)
            return {};
        const bool breaksNumbers = owner->isRead && AreNumbers(entry.name) && AreNumbers(owner->values.back().View());
        return {DescribeBrokenList(block, ListFrom(block, *owner, entry.key, names), separator,
                                   names.IsKnown(owner->name) && !names.IsList(block, owner->name)),
                breaksNumbers};
    }
    if (separator == ')' || separator == ']' || separator == '}' || separator == '"')
        return {Concat("'", entry.RawTextAsWritten(), "' ", InBlock(block), " is not part of the value of '",
                       owner->name, "', which ends with the '", separator, "' before it")};
    return {};
}

} // namespace cntk
