// Parts of a composite reader: their minibatches are joined without copying, and must have the same samples.
#include "Common/CompositeReader.h"

#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>
#include <optional>

namespace cntk
{

namespace
{

// Returns the file name of a path: utterances of several kinds of features lie in one folder per kind.
std::string_view LastPathPart(std::string_view name)
{
    return name.substr(name.rfind('/') + 1);
}

template <class ElemType>
MBLayoutPtr LayoutOf(const HostMinibatch<ElemType>& minibatch)
{
    for (const StreamBatch<ElemType>& stream : minibatch.streams)
    {
        if (stream.layout)
            return stream.layout;
    }
    return nullptr;
}

} // namespace

template <class ElemType>
CompositeReader<ElemType>::CompositeReader(std::vector<Part> parts, const SourcePos& where, Log* log)
    : m_parts(std::move(parts)), m_used(m_parts.size(), false), m_minibatches(m_parts.size()), m_where(where),
      m_log(log)
{
    for (const Part& part : m_parts)
    {
        for (const StreamInfo& stream : part.reader->Streams())
        {
            const auto same = [&](const StreamInfo& other) { return EqualsIgnoreCase(stream.name, other.name); };
            if (std::any_of(m_streams.begin(), m_streams.end(), same))
                FailAt(where, ErrorKind::Config, "readers: more than one of them has a block '", stream.name, "'");
            m_streams.push_back(stream);
        }
    }
}

template <class ElemType>
void CompositeReader<ElemType>::RequireOneWithLattices() const
{
    std::vector<std::string> names;
    for (const Part& part : m_parts)
        if (part.reader->HasLattices())
            names.push_back("'" + part.name + "'");
    if (names.size() > 1)
        FailAt(m_where, ErrorKind::Config, "readers: ", Join(names, " and "),
               " have lattices of the same sequences; expected them in one of these blocks");
}

template <class ElemType>
void CompositeReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    if (request.withLattices)
        RequireOneWithLattices();
    for (size_t i = 0; i < m_parts.size(); ++i)
    {
        EpochRequest own = request;
        own.wanted.clear();
        for (const StreamInfo& stream : m_parts[i].reader->Streams())
        {
            const auto same = [&](const std::string& name) { return EqualsIgnoreCase(name, stream.name); };
            if (std::any_of(request.wanted.begin(), request.wanted.end(), same))
                own.wanted.push_back(stream.name);
        }
        const bool givesLattices = request.withLattices && m_parts[i].reader->HasLattices();
        m_used[i] = request.wanted.empty() || !own.wanted.empty() || givesLattices;
        if (m_used[i])
            m_parts[i].reader->StartEpoch(own);
    }
    if (std::find(m_used.begin(), m_used.end(), true) == m_used.end())
    {
        std::vector<std::string> names;
        for (const StreamInfo& stream : m_streams)
            names.push_back(stream.name);
        Fail(ErrorKind::Config, "the network's inputs are ", Join(request.wanted, ", "),
             ", but the readers' blocks are ", Join(names, ", "), "; a block needs the name of the input it fills");
    }
}

template <class ElemType>
bool CompositeReader<ElemType>::GetMinibatch(HostMinibatch<ElemType>& minibatch)
{
    minibatch.streams.resize(m_streams.size());
    minibatch.secondsWaited = 0;
    minibatch.lattices.clear();
    size_t firstUsed = m_parts.size();
    bool any = false;
    MBLayoutPtr layout;
    size_t stream = 0;
    for (size_t i = 0; i < m_parts.size(); ++i)
    {
        const size_t count = m_parts[i].reader->Streams().size();
        if (m_used[i])
        {
            HostMinibatch<ElemType>& own = m_minibatches[i];
            own.streams.resize(count);
            for (size_t j = 0; j < count; ++j)
                std::swap(own.streams[j], minibatch.streams[stream + j]); // reuses the caller's buffers
            const bool more = m_parts[i].reader->GetMinibatch(own);
            if (firstUsed == m_parts.size())
            {
                firstUsed = i;
                any = more;
                layout = LayoutOf(own);
                std::swap(minibatch.sequenceKeys, own.sequenceKeys);
            }
            else if (more != any)
            {
                Fail(ErrorKind::Data, "readers: '", m_parts[any ? i : firstUsed].name, "' is at its end, '",
                     m_parts[any ? firstUsed : i].name, "' has more data", WhyTheyDiffer(firstUsed, i));
            }
            else if (more)
            {
                CheckSamples(i, firstUsed, *LayoutOf(own), *layout);
                CompareNames(i, firstUsed, minibatch.sequenceKeys);
            }
            const MBLayoutPtr ownLayout = more ? LayoutOf(own) : nullptr;
            for (size_t j = 0; j < count; ++j)
            {
                // Streams of one time axis share one layout. A stream may have another axis.
                if (ownLayout && own.streams[j].layout == ownLayout)
                    own.streams[j].layout = layout;
                std::swap(own.streams[j], minibatch.streams[stream + j]);
            }
            if (!own.lattices.empty())
                std::swap(minibatch.lattices, own.lattices);
            minibatch.secondsWaited += own.secondsWaited;
        }
        stream += count;
    }
    return any;
}

template <class ElemType>
void CompositeReader<ElemType>::CheckSamples(size_t part, size_t first, const MBLayout& layout,
                                             const MBLayout& expected)
{
    if (layout == expected)
        return;
    Fail(ErrorKind::Data, "readers: in one minibatch '", m_parts[first].name, "' has ",
         Counted(expected.ActualSamples(), "sample"), " of ", expected.ParallelSequences(), " parallel sequences, '",
         m_parts[part].name, "' has ", layout.ActualSamples(), " of ", layout.ParallelSequences(), "; they must agree",
         WhyTheyDiffer(first, part));
}

// Warns once if sequences at the same place have different names.
template <class ElemType>
void CompositeReader<ElemType>::CompareNames(size_t part, size_t first, const std::vector<std::string>& expected)
{
    const std::vector<std::string>& names = m_minibatches[part].sequenceKeys;
    if (m_log == nullptr || names.size() != expected.size() || m_parts[part].kind != m_parts[first].kind)
        return;
    const auto isSame = [](const std::string& name, const std::string& other)
    { return LastPathPart(name) == LastPathPart(other); };
    const auto [own, other] = std::mismatch(names.begin(), names.end(), expected.begin(), isSame);
    if (own == names.end())
        return;
    m_log->Warn(Concat(m_where ? m_where.Location() + ": " : std::string(), "readers: sequence '", *own, "' of '",
                       m_parts[part].name, "' is paired with '", *other, "' of '", m_parts[first].name,
                       "', because readers are joined by the position of their sequences; expected the same sequences "
                       "in the same order"));
    m_log = nullptr;
}

// Explains, for messages, why two parts do not fit together.
template <class ElemType>
std::string CompositeReader<ElemType>::WhyTheyDiffer(size_t first, size_t part)
{
    const size_t firsts = m_parts[first].reader->TotalSamples();
    const size_t total = m_parts[part].reader->TotalSamples();
    if (firsts != total)
        return Concat("; in all, '", m_parts[first].name, "' has ", Counted(firsts, "sample"), " and '",
                      m_parts[part].name, "' has ", total, "; expected as many");
    return Concat("; both have ", Counted(total, "sample"),
                  " in all, but they end minibatches at different places where an epoch or the data end; expected "
                  "epochSize=0, or readers of one kind with the same parameters");
}

template <class ElemType>
std::vector<std::string> CompositeReader<ElemType>::CreateLabelMaps()
{
    std::vector<std::string> files;
    for (const Part& part : m_parts)
    {
        for (std::string& file : part.reader->CreateLabelMaps())
            files.push_back(std::move(file));
    }
    return files;
}

namespace
{

// The order in which a part of a composite reader delivers its samples.
struct PartOrder
{
    std::string reader;    // name of the plugin
    std::string randomize; // the configured or default value; empty if the reader ignores it
    std::string needed;    // "name=value", the setting that would keep the order of the data; empty if none is missing

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

// Warns if a part delivers its samples in another order than the first part. With forWriting nearly all readers keep
// the order of their files.
void WarnOfOtherOrder(const ConfigParameters& part, const ConfigParameters& first, bool forWriting, Log& log)
{
    constexpr const char* consequence = "; the samples of a minibatch then do not belong together";
    const PartOrder own = OrderOf(part), firsts = OrderOf(first);
    const std::string where = part.Where().Location() + ": readers: ";
    if (own.reader != firsts.reader && !(own.needed.empty() && firsts.needed.empty()))
    {
        const bool isOwn = !own.needed.empty();
        const PartOrder& shuffled = isOwn ? own : firsts;
        log.Warn(Concat(where, "'", (isOwn ? part : first).Name(), "', a ", shuffled.reader,
                        ", ignores randomize and shuffles its data, and '", (isOwn ? first : part).Name(),
                        "' has another order", consequence, "; expected ", shuffled.needed, " in '",
                        (isOwn ? part : first).Name(), "' and randomize=none in '", (isOwn ? first : part).Name(),
                        "'"));
    }
    else if (forWriting)
        return;
    else if (!own.randomize.empty() && !firsts.randomize.empty() && own.randomize != firsts.randomize)
        log.Warn(Concat(where, "'", part.Name(), "' has randomize=", own.randomize, ", but '", first.Name(),
                        "' has randomize=", firsts.randomize, consequence));
    else if (own.reader != firsts.reader && (own.IsShuffled() || firsts.IsShuffled()))
        log.Warn(Concat(where, "'", part.Name(), "', a ", own.reader, ", and '", first.Name(), "', a ", firsts.reader,
                        ", shuffle in different ways", consequence,
                        "; expected randomize=none in both, or readers of one kind"));
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> LoadParts(const ConfigValue& readers, const ReaderContext& context)
{
    constexpr const char* parallelKey = "nbruttsineachrecurrentiter";
    constexpr const char* parallelAlias = "nbruttineachrecurrentiter"; // the book's spelling
    std::string parallel; // the first part's value, which holds for parts without a value
    std::vector<typename CompositeReader<ElemType>::Part> parts;
    const ConfigParameters* first = nullptr;
    for (const ConfigValue& name : readers.AsArray())
    {
        // Enclosing blocks are not searched: one of them could be the block that holds this list.
        const ConfigParameters* block = context.config.FindBlockHere(name.Text());
        if (block == nullptr)
            FailAt(readers.Where(), ErrorKind::Config, "readers: there is no block '", name.Text(), "' in '",
                   context.config.Path(), "'", DidYouMean(name.Text(), context.config.BlockNames()));
        if (const std::optional<ConfigValue> inner = block->FindHere("readers"))
            FailAt(inner->Where(), ErrorKind::Config, "readers: '", name.Text(),
                   "' is one of several readers and has readers of its own, '", inner->Text(),
                   "'; expected a single reader with its blocks");
        if (parts.empty() && (block->ExistsHere(parallelKey) || block->ExistsHere(parallelAlias)))
            parallel = block->Require(block->ExistsHere(parallelKey) ? parallelKey : parallelAlias).Text();
        else if (!parallel.empty() && !block->Exists(parallelKey) && !block->Exists(parallelAlias))
            block->Set(parallelKey, parallel);
        first = first == nullptr ? block : first;
        WarnOfOtherOrder(*block, *first, context.forWriting, context.log);
        const std::string type = ReaderTypeOf(*block);
        parts.push_back({name.Text(), LoadReader<ElemType>(type, context.For(*block)), ToLower(type)});
    }
    if (parts.empty())
        FailAt(readers.Where(), ErrorKind::Config, "readers is empty; it needs names of blocks, such as a:b");
    return std::make_unique<CompositeReader<ElemType>>(std::move(parts), readers.Where(), &context.log);
}

} // namespace

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> LoadReader(const std::string& readerType, const ReaderContext& context)
{
    if (const std::optional<ConfigValue> readers = context.config.FindHere("readers"))
        return LoadParts<ElemType>(*readers, context);
    const SourcePos where = context.config.WhereOf("readerType");
    return PluginLibrary::Open(readerType, PluginSearch::Default(), where).MakeReader<ElemType>(context);
}

template class CompositeReader<float>;
template class CompositeReader<double>;
template std::unique_ptr<IDataReader<float>> LoadReader<float>(const std::string&, const ReaderContext&);
template std::unique_ptr<IDataReader<double>> LoadReader<double>(const std::string&, const ReaderContext&);

} // namespace cntk
