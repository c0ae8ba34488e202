// English plurals, as far as messages need them.
#include "Common/Counted.h"

#include <string_view>

namespace cntk
{

std::string Counted(size_t number, const char* noun)
{
    std::string text = std::to_string(number) + " " + noun;
    if (number == 1)
        return text;
    const std::string_view word(noun);
    if (word.ends_with("ry")) // entry
        return text.replace(text.size() - 1, 1, "ies");
    return text + (word.ends_with("s") || word.ends_with("tch") ? "es" : "s"); // class, minibatch; epoch
}

} // namespace cntk
