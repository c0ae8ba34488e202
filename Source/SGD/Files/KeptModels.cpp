// Reading and printing of keepModels.
#include "SGD/Files/KeptModels.h"

#include "Common/Text.h"

#include <vector>

namespace cntk
{

KeptModels OptionType<KeptModels>::Read(const ConfigValue& value, const Range&)
{
    constexpr const char* c_expected =
        "all, last, best, last:N or every:N with N from 1, or several of them such as last:3:best";
    KeptModels kept;
    kept.all = false;
    size_t* count = nullptr; // that a number may follow
    bool isAny = false;
    for (const ConfigValue& element : value.AsArray())
    {
        const std::string word = ToLower(element.Text());
        if (const auto number = ParseSize(word); number && *number > 0 && count != nullptr)
        {
            *count = size_t(*number);
            count = nullptr;
            continue;
        }
        if (count == &kept.every && kept.every == 0)
            value.FailExpected(c_expected);
        count = nullptr;
        isAny = true;
        if (word == "all")
            kept.all = true;
        else if (word == "best")
            kept.best = true;
        else if (word == "last")
        {
            kept.last = 1;
            count = &kept.last;
        }
        else if (word == "every")
            count = &kept.every;
        else
            value.FailExpected(c_expected + DidYouMean(word, {"all", "last", "best", "every"}));
    }
    if (!isAny || (count == &kept.every && kept.every == 0))
        value.FailExpected(c_expected);
    return kept;
}

std::string OptionType<KeptModels>::Print(const KeptModels& value)
{
    std::vector<std::string> words;
    if (value.all)
        words.emplace_back("all");
    if (value.last > 0)
        words.push_back(value.last == 1 ? std::string("last") : Concat("last:", value.last));
    if (value.every > 0)
        words.push_back(Concat("every:", value.every));
    if (value.best)
        words.emplace_back("best");
    return Join(words, ":");
}

} // namespace cntk
