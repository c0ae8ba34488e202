// Words that people bring from other programs, and this program's words for them. Help and suggestions use the table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct Synonym
{
    std::vector<std::string> words; // "epochs", "numEpochs"
    std::vector<std::string> names; // parameters, blocks, actions or functions; a suggestion takes the first
    std::string explanation;        // for help
};

std::span<const Synonym> Synonyms();
// Ignores case, '_' and '-'. Null for other words.
const Synonym* FindSynonym(std::string_view word);

} // namespace cntk
