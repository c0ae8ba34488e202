// Orders as parameters and plugins tell them.
#include "Common/CompositeOrder.h"

#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

namespace cntk
{
namespace
{

// In which order a part of a composite reader delivers its samples.
struct PartOrder
{
    std::string reader;    // the plugin
    std::string randomize; // as the part says it, or as its plugin has it; empty where it does not count
    std::string needed;    // "name=value", which would keep the order of the data; empty where nothing is

    bool IsShuffled() const { return !randomize.empty() && randomize != "none"; }
};

PartOrder OrderOf(const ConfigParameters& part)
{
    const PluginLibrary library =
        PluginLibrary::Open(ReaderTypeOf(part), PluginSearch::Default(), part.WhereOf("readerType"));
    const PluginDescription description = library.Describe().value_or(PluginDescription());
    PartOrder order{library.Name(), {}, {}};
    if (!description.keepsOrder.empty())
    {
        const std::string name = description.keepsOrder.substr(0, description.keepsOrder.find('='));
        const auto given = part.Exists(name) ? part.Find(name) : std::nullopt;
        if (!given || Concat(name, "=", given->Text()) != description.keepsOrder)
            order.needed = description.keepsOrder;
    }
    for (const PluginOption& option : description.options)
        if (option.block.empty() && option.name == "randomize" && !option.hasNoEffect)
        {
            const auto given = part.Exists("randomize") ? part.Find("randomize") : std::nullopt;
            order.randomize = ToLower(given ? given->Text() : option.defaultText);
            if (order.randomize.empty() || order.randomize == "false" || order.randomize == "0")
                order.randomize = "none";
            else if (order.randomize == "true")
                order.randomize = "auto";
        }
    return order;
}

} // namespace

void WarnOfOtherOrder(const ConfigParameters& part, const ConfigParameters& first, bool forWriting, Log& log)
{
    constexpr const char* consequence = "; in a minibatch samples stand side by side that do not belong together";
    const PartOrder own = OrderOf(part), firsts = OrderOf(first);
    const std::string where = part.Where().Location() + ": readers: ";
    if (own.reader != firsts.reader && !(own.needed.empty() && firsts.needed.empty()))
    {
        const bool isOwn = !own.needed.empty();
        const PartOrder& shuffled = isOwn ? own : firsts;
        log.Warn(Concat(where, "'", (isOwn ? part : first).Name(), "', a ", shuffled.reader,
                        ", shuffles its data whatever randomize says, and '", (isOwn ? first : part).Name(),
                        "' has another order", consequence, "; ", shuffled.needed,
                        " keeps the order of these data, randomize=none that of the other ones"));
    }
    else if (forWriting)
        return;
    else if (!own.randomize.empty() && !firsts.randomize.empty() && own.randomize != firsts.randomize)
        log.Warn(Concat(where, "'", part.Name(), "' has randomize=", own.randomize, ", but '", first.Name(),
                        "' has randomize=", firsts.randomize, consequence));
    else if (own.reader != firsts.reader && (own.IsShuffled() || firsts.IsShuffled()))
        log.Warn(Concat(where, "'", part.Name(), "', a ", own.reader, ", and '", first.Name(), "', a ", firsts.reader,
                        ", have each an order of their own", consequence,
                        "; expected randomize=none in both, or readers of one kind"));
}

} // namespace cntk
