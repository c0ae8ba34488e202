// UTF-8 as far as messages need it.
#include "Common/OddCharacters.h"

#include "Common/Error.h"

#include <algorithm>
#include <cstdio>

namespace cntk
{

std::string CharacterInWords(std::string_view text)
{
    const auto first = static_cast<unsigned char>(text.empty() ? ' ' : text[0]);
    if (first < ' ' || first == 0x7f)
        return Concat("the control character ", int(first));
    if (first < 0x80)
        return Concat("'", text[0], "'");
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned code = first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++)
    {
        const unsigned next = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
        if (first < 0xc0 || next >> 6 != 2)
            return Concat("the byte ", int(first), ", which is no UTF-8");
        code = code << 6 | (next & 0x3f);
    }
    char number[16];
    std::snprintf(number, sizeof number, "U+%04X", code);
    return Concat("'", text.substr(0, length), "' (", number, ")");
}

std::string OddCharacterIn(std::string_view name)
{
    const auto odd = std::find_if(name.begin(), name.end(), [](char c) { return c <= ' ' || c > '~'; });
    return odd == name.end() ? std::string() : CharacterInWords(name.substr(static_cast<size_t>(odd - name.begin())));
}

std::string LookalikeIn(std::string_view text)
{
    // Blanks without a break and of no width, quotes, the byte-order mark.
    constexpr std::string_view lookalikes[] = {"\u00a0", "\u200b", "\u2018", "\u2019", "\u201c",
                                               "\u201d", "\u201e", "\u202f", "\ufeff"};
    size_t first = text.size();
    for (const std::string_view lookalike : lookalikes)
        first = std::min(first, text.find(lookalike));
    return first == text.size() ? std::string() : "; it holds " + CharacterInWords(text.substr(first));
}

} // namespace cntk
