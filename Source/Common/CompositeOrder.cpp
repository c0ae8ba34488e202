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
    bool alwaysShuffles = false;

    bool IsShuffled() const { return !randomize.empty() && randomize != "none"; }
};

PartOrder OrderOf(const ConfigParameters& part)
{
    const PluginLibrary library =
        PluginLibrary::Open(ReaderTypeOf(part), PluginSearch::Default(), part.WhereOf("readerType"));
    const PluginDescription description = library.Describe().value_or(PluginDescription());
    PartOrder order{library.Name(), {}};
    if (order.reader == "LMSequenceReader")
    {
        const auto block = part.Exists("cacheBlockSize") ? part.Find("cacheBlockSize") : std::nullopt;
        order.alwaysShuffles = !block || block->Text() != "1";
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
    if (own.reader != firsts.reader && (own.alwaysShuffles || firsts.alwaysShuffles))
        log.Warn(Concat(where, "'", (own.alwaysShuffles ? part : first).Name(),
                        "', an LMSequenceReader, shuffles its sentences whatever randomize says, and '",
                        (own.alwaysShuffles ? first : part).Name(), "' has another order", consequence,
                        "; cacheBlockSize=1 keeps the order of the text, randomize=none that of the other data"));
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
