#include "SGD/Minibatches/FollowingReader.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "SGD/Minibatches/MinibatchParts.h"

#include <algorithm>

namespace cntk
{

template <class ElemType>
void FollowingReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    m_leader = {};
    m_waiting.clear();
    m_free.clear();
    for (Held& held : m_held)
        m_free.push_back(&held);
    m_isAtEnd = false;
    m_hasKeys = false;
    m_read = m_delivered = 0;
    m_reader->StartEpoch(request);
}

template <class ElemType>
std::vector<SequenceInfo> FollowingReader<ElemType>::WholeSequences(const MBLayout* layout, size_t columns,
                                                                    const std::string& name)
{
    std::vector<SequenceInfo> sequences = SequencesById(layout, columns);
    for (const SequenceInfo& sequence : sequences)
        if (layout != nullptr && (sequence.begin < 0 || size_t(sequence.end) > layout->TimeSteps()))
            Fail(ErrorKind::Config, name,
                 " cuts sequences into pieces; expected whole ones (truncated=false; LMSequenceReader cuts those "
                 "longer than minibatchSize)");
    return sequences;
}

template <class ElemType>
void FollowingReader<ElemType>::Register(Held& held)
{
    const auto& streams = held.minibatch.streams;
    const auto found = std::find_if(streams.begin(), streams.end(), [](const auto& s) { return s.columns > 0; });
    if (found == streams.end())
        Fail(ErrorKind::Internal, "a minibatch of ", m_name, " has no stream");
    const StreamBatch<ElemType>& first = *found;
    if (first.layout)
        held.layout = *first.layout;
    else
        held.layout.InitAsFrameMode(first.columns);
    for (size_t i = 0; i < streams.size(); i++)
    {
        const StreamBatch<ElemType>& stream = streams[i];
        if (stream.columns > 0 && (stream.columns != first.columns || bool(stream.layout) != bool(first.layout) ||
                                   (stream.layout && !(*stream.layout == *first.layout))))
            Fail(ErrorKind::Config, "the streams of ", m_name, " differ in the lengths of their sequences; stream '",
                 Streams()[i].name, "' needs a reader of its own");
    }
    for (const SequenceInfo& sequence : WholeSequences(&held.layout, first.columns, m_name))
    {
        const std::vector<std::string>& keys = held.minibatch.sequenceKeys;
        m_hasKeys = m_hasKeys || !keys.empty();
        const std::string key = sequence.id < keys.size() ? keys[sequence.id] : std::to_string(m_read);
        const Sequence known{&held, sequence.row, size_t(sequence.begin), size_t(sequence.end - sequence.begin)};
        if (!m_waiting.emplace(key, known).second)
            Fail(ErrorKind::Data, m_name, " delivers sequence '", key, "' twice in an epoch");
        held.open++;
        m_read++;
    }
}

template <class ElemType>
bool FollowingReader<ElemType>::ReadMore()
{
    if (m_isAtEnd)
        return false;
    if (m_free.empty())
        m_free.push_back(&m_held.emplace_back());
    Held& held = *m_free.back();
    held.open = 0;
    if (!m_reader->GetMinibatch(held.minibatch))
    {
        m_isAtEnd = true;
        return false;
    }
    m_free.pop_back();
    Register(held);
    if (held.open == 0)
        m_free.push_back(&held);
    return true;
}

template <class ElemType>
auto FollowingReader<ElemType>::Take(const std::string* key) -> Sequence
{
    if (m_read == 0)
        ReadMore();
    const bool isByKey = key != nullptr;
    if (m_read > 0 && m_hasKeys != isByKey)
        Fail(ErrorKind::Config, m_hasKeys ? m_name : m_leaderName, " names its sequences, but ",
             m_hasKeys ? m_leaderName : m_name, " does not; expected readers that both do, or neither");
    const std::string wanted = isByKey ? *key : std::to_string(m_delivered);
    auto found = m_waiting.find(wanted);
    while (found == m_waiting.end() && ReadMore())
        found = m_waiting.find(wanted);
    if (found == m_waiting.end() && m_hasKeys)
        Fail(ErrorKind::Data, "sequence '", wanted, "' of ", m_leaderName, " is missing in ", m_name, ", which has ",
             m_read, " sequences");
    if (found == m_waiting.end())
        Fail(ErrorKind::Data, "sequence ", m_delivered + 1, " of ", m_leaderName, " is missing in ", m_name,
             ", which has only ", Counted(m_read, "sequence"));
    const Sequence sequence = found->second;
    m_waiting.erase(found);
    return sequence;
}

template <class ElemType>
void FollowingReader<ElemType>::Release(Held& held)
{
    if (--held.open == 0)
        m_free.push_back(&held);
}

template <class ElemType>
std::string FollowingReader<ElemType>::DescribeUnmatched()
{
    if (m_waiting.empty())
        ReadMore();
    if (m_waiting.empty())
        return "";
    const auto smallest = std::min_element(m_waiting.begin(), m_waiting.end(),
                                           [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::string name = m_hasKeys ? Concat("'", smallest->first, "'") : std::to_string(m_delivered + 1);
    return Concat("sequence ", name, " of ", m_name, " is missing in ", m_leaderName);
}

// Copies step t of sequence s to column t*S + s of the target. Gaps are zeros.
template <class ElemType>
void FollowingReader<ElemType>::CopySequences(size_t stream, StreamBatch<ElemType>& target,
                                              const MBLayout& layout) const
{
    const StreamBatch<ElemType>& first = m_chosen.front().held->minibatch.streams[stream];
    target.rows = first.rows;
    target.sparse = first.sparse;
    target.columns = layout.Columns();
    target.layout = m_layout;
    target.rowIndices.clear();
    target.columnStarts.clear();
    target.values.clear();
    if (!target.sparse)
        target.values.resize(target.rows * target.columns);
    const size_t rows = layout.ParallelSequences();
    for (size_t column = 0; column < target.columns; column++)
    {
        const size_t step = column / rows;
        const Sequence& sequence = m_chosen[column % rows];
        const StreamBatch<ElemType>& source = sequence.held->minibatch.streams[stream];
        const size_t from = (sequence.begin + step) * sequence.held->layout.ParallelSequences() + sequence.row;
        const bool isGap = step >= sequence.steps;
        if (target.sparse)
        {
            target.columnStarts.push_back(int32_t(target.values.size()));
            if (isGap)
                continue;
            const auto begin = source.columnStarts[from], end = source.columnStarts[from + 1];
            target.values.insert(target.values.end(), source.values.begin() + begin, source.values.begin() + end);
            target.rowIndices.insert(target.rowIndices.end(), source.rowIndices.begin() + begin,
                                     source.rowIndices.begin() + end);
        }
        else if (!isGap)
            std::copy_n(source.values.begin() + ptrdiff_t(from * source.rows), source.rows,
                        target.values.begin() + ptrdiff_t(column * target.rows));
    }
    if (target.sparse)
        target.columnStarts.push_back(int32_t(target.values.size()));
}

template <class ElemType>
bool FollowingReader<ElemType>::GetMinibatch(HostMinibatch<ElemType>& minibatch)
{
    if (m_leader.keys == nullptr)
        return m_reader->GetMinibatch(minibatch);
    m_order = WholeSequences(m_leader.layout, m_leader.columns, m_leaderName);
    if (m_order.empty())
        Fail(ErrorKind::Data, "a minibatch of ", m_leaderName, " has no sequence that ", m_name, " could follow");
    m_chosen.clear();
    size_t longest = 0;
    const std::vector<std::string>& keys = *m_leader.keys;
    for (const SequenceInfo& sequence : m_order)
    {
        m_chosen.push_back(Take(sequence.id < keys.size() ? &keys[sequence.id] : nullptr));
        longest = std::max(longest, m_chosen.back().steps);
        m_delivered++;
    }
    m_layout->Init(m_order.size(), longest);
    for (size_t row = 0; row < m_order.size(); row++)
    {
        const auto steps = ptrdiff_t(m_chosen[row].steps);
        m_layout->AddSequence(m_order[row].id, row, 0, steps);
        if (size_t(steps) < longest)
            m_layout->AddGap(row, steps, ptrdiff_t(longest));
    }
    minibatch.streams.resize(Streams().size());
    for (size_t i = 0; i < minibatch.streams.size(); i++)
        if (m_chosen.front().held->minibatch.streams[i].columns > 0)
            CopySequences(i, minibatch.streams[i], *m_layout);
    minibatch.sequenceKeys = keys;
    minibatch.secondsWaited = 0;
    for (const Sequence& sequence : m_chosen)
        Release(*sequence.held);
    return true;
}

template class FollowingReader<float>;
template class FollowingReader<double>;

} // namespace cntk
