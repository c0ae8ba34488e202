// Characters that a user does not see, or takes for others: what messages say about them.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// The first character of a text: "'a'", "'–' (U+2013)", "the control character 1".
std::string CharacterInWords(std::string_view text);
// The first character of a name that is no printable ASCII, in words; empty if there is none.
std::string OddCharacterIn(std::string_view name);
// "; it holds '“' (U+201C)": of a text with a character that editors and web pages put in the place of a blank or of a
// quote. Letters of whatever language are none. Empty if there is none.
std::string LookalikeIn(std::string_view text);

} // namespace cntk
