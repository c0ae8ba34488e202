// Readers side by side: their minibatches are put together without copying, and must fit.
#include "Common/CompositeReader.h"

#include "Common/Counted.h"
#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{
namespace
{

// Utterances of several kinds of features lie in a folder for each.
std::string_view LastComponent(std::string_view name)
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
                std::swap(own.streams[j], minibatch.streams[stream + j]); // the caller's buffers are used again
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
                if (ownLayout && own.streams[j].layout == ownLayout) // a stream may have an axis of its own
                    own.streams[j].layout = layout;                  // one time axis: one object
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

// Once: what stands side by side by its place alone, and not by its name.
template <class ElemType>
void CompositeReader<ElemType>::CompareNames(size_t part, size_t first, const std::vector<std::string>& expected)
{
    const std::vector<std::string>& names = m_minibatches[part].sequenceKeys;
    if (m_log == nullptr || names.size() != expected.size() || m_parts[part].kind != m_parts[first].kind)
        return;
    const auto isSame = [](const std::string& name, const std::string& other)
    { return LastComponent(name) == LastComponent(other); };
    const auto [own, other] = std::mismatch(names.begin(), names.end(), expected.begin(), isSame);
    if (own == names.end())
        return;
    m_log->Warn(Concat(m_where ? m_where.Location() + ": " : std::string(), "readers: sequence '", *own, "' of '",
                       m_parts[part].name, "' stands beside '", *other, "' of '", m_parts[first].name,
                       "'; they are put together in the order that each reader has them, which is of use only if they "
                       "belong together; expected the same sequences in the same order"));
    m_log = nullptr;
}

// For messages.
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
size_t CompositeReader<ElemType>::TotalSamples()
{
    return m_parts.front().reader->TotalSamples();
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

template class CompositeReader<float>;
template class CompositeReader<double>;

} // namespace cntk
