// The one place that knows both element types of readers.
#include "SGD/Minibatches/MinibatchSource.h"

#include "Common/Text.h"

#include <algorithm>
#include <type_traits>

namespace cntk
{

const std::vector<StreamInfo>& MinibatchSource::Streams() const
{
    return std::visit([](const auto& typed) -> const std::vector<StreamInfo>& { return typed.reader->Streams(); },
                      m_typed);
}

size_t MinibatchSource::TotalSamples()
{
    return std::visit([](auto& typed) { return typed.reader->TotalSamples(); }, m_typed);
}

std::vector<std::string> MinibatchSource::CreateLabelMaps()
{
    return std::visit([](auto& typed) { return typed.reader->CreateLabelMaps(); }, m_typed);
}

size_t MinibatchSource::ParallelSequences(size_t epoch) const
{
    return std::visit([epoch](const auto& typed) { return typed.reader->ParallelSequences(epoch); }, m_typed);
}

size_t MinibatchSource::SequencesToWrite() const
{
    return std::visit([](const auto& typed) { return typed.reader->SequencesToWrite(); }, m_typed);
}

void MinibatchSource::VisitListedFiles(const ListedFileVisitor& visit) const
{
    std::visit([&](const auto& typed) { typed.reader->VisitListedFiles(visit); }, m_typed);
    for (const auto& companion : m_companions)
        companion->VisitListedFiles(visit);
}

void MinibatchSource::BindTo(const std::vector<ComputationNodePtr>& roots)
{
    m_binder.emplace(roots, Streams());
    if (!std::visit([](const auto& typed) { return typed.reader->HasLattices(); }, m_typed))
        m_binder->RequireNoLattices();
    m_wanted = m_binder->Wanted();
}

void MinibatchSource::Accompany(std::unique_ptr<MinibatchSource> other, const std::vector<ComputationNodePtr>& roots,
                                const std::string& name, const std::string& leaderName)
{
    std::visit(
        [&](auto& typed)
        {
            using Reader = FollowingReader<typename std::decay_t<decltype(typed)>::Element>;
            auto follower = std::make_unique<Reader>(std::move(typed.reader), name, leaderName);
            typed.follower = follower.get();
            typed.reader = std::move(follower);
        },
        other->m_typed);
    other->BindTo(roots);
    m_companions.push_back(std::move(other));
}

// Of the minibatch read last.
WantedSequences MinibatchSource::Sequences() const
{
    return std::visit(
        [](const auto& typed)
        {
            WantedSequences wanted{nullptr, 0, &typed.minibatch.sequenceKeys};
            for (const auto& stream : typed.minibatch.streams)
                if (wanted.columns == 0 && stream.columns > 0)
                {
                    wanted.layout = stream.layout.get();
                    wanted.columns = stream.columns;
                }
            return wanted;
        },
        m_typed);
}

void MinibatchSource::ReadCompanions(bool bind)
{
    const WantedSequences wanted = Sequences();
    for (const auto& companion : m_companions)
    {
        std::visit([&](auto& typed) { typed.follower->Want(wanted); }, companion->m_typed);
        bind ? companion->Next() : companion->Skip();
        m_secondsWaited += companion->m_secondsWaited;
    }
}

std::string MinibatchSource::RestOfCompanions()
{
    for (const auto& companion : m_companions)
        if (std::string rest = std::visit([](auto& typed) { return typed.follower->Rest(); }, companion->m_typed);
            !rest.empty())
            return rest;
    return {};
}

void MinibatchSource::StartEpoch(EpochRequest request)
{
    if (!m_binder)
        Fail(ErrorKind::Internal, "StartEpoch before BindTo");
    // Of a companion, whatever belongs to the sequences of the epoch.
    EpochRequest whole = request;
    whole.epochSize = c_wholeDataSet;
    for (const auto& companion : m_companions)
        companion->StartEpoch(whole);
    request.wanted = m_wanted;
    request.withLattices = m_binder->TakesLattices();
    request.trainingSeed = m_trainingSeed;
    m_binder->BeginPass();
    if (m_mixer)
    {
        m_mixer->BeginPass();
        for (const std::string& name : m_mixer->Wanted())
        {
            const auto isName = [&](const std::string& wanted) { return EqualsIgnoreCase(wanted, name); };
            if (std::none_of(m_wanted.begin(), m_wanted.end(), isName))
                request.wanted.push_back(name);
        }
    }
    std::visit([&](auto& typed) { typed.reader->StartEpoch(request); }, m_typed);
}

template <class ElemType>
bool HasColumns(const HostMinibatch<ElemType>& minibatch)
{
    return std::any_of(minibatch.streams.begin(), minibatch.streams.end(),
                       [](const StreamBatch<ElemType>& stream) { return stream.columns > 0; });
}

template <class ElemType>
bool MinibatchSource::Read(Typed<ElemType>& typed)
{
    if (m_mixer)
        m_mixer->Unmix(typed.minibatch);
    if (!typed.reader->GetMinibatch(typed.minibatch))
        return false;
    if (m_mixer)
        m_mixer->Mix(typed.minibatch);
    if (m_share.workers > 1)
        TakePart(typed.minibatch, m_share.rank, m_share.workers, AxesOfMinibatches(), typed.share);
    return true;
}

template <class ElemType>
void MinibatchSource::BindMinibatch(Typed<ElemType>& typed)
{
    const HostMinibatch<ElemType>& minibatch = Delivered(typed);
    m_parts = 1;
    if (m_partSettings.Cuts())
    {
        m_columns = 0;
        for (const StreamBatch<ElemType>& stream : minibatch.streams)
            m_columns = std::max(m_columns, stream.columns);
        m_sequences = ParallelSequencesOf(minibatch);
        m_parts = PartCount(m_partSettings, m_columns, m_sequences);
        m_goesOn = GoesOn(minibatch);
        if (m_parts > 1)
            return BindPart(0);
    }
    m_binder->Bind(minibatch);
    m_columns = m_binder->Columns();
}

bool MinibatchSource::Next()
{
    const bool isThere = std::visit(
        [&](auto& typed)
        {
            if (!Read(typed))
                return false;
            m_secondsWaited = typed.minibatch.secondsWaited;
            m_columns = 0;
            if (m_share.workers == 1 || HasColumns(Delivered(typed)))
                BindMinibatch(typed);
            return true;
        },
        m_typed);
    if (isThere && IsAccompanied())
        ReadCompanions(true);
    return isThere;
}

Axes MinibatchSource::AxesOfMinibatches() const
{
    return m_binder->HasSeveralAxes() ? Axes::Several : Axes::One;
}

void MinibatchSource::BindPart(size_t part)
{
    std::visit(
        [&](auto& typed)
        {
            TakePart(Delivered(typed), part, m_parts, AxesOfMinibatches(), typed.part);
            m_binder->Bind(typed.part);
        },
        m_typed);
}

// A reference network sees it: its recurrent state is that of all minibatches.
std::optional<size_t> MinibatchSource::Skip()
{
    const auto read = [&](auto& typed)
    {
        if (!Read(typed))
            return std::optional<size_t>();
        return std::optional(HasColumns(Delivered(typed)) ? m_binder->SamplesOf(Delivered(typed)) : 0);
    };
    const std::optional<size_t> samples = std::visit(read, m_typed);
    if (samples && IsAccompanied())
        ReadCompanions(false);
    return samples;
}

const std::vector<std::string>& MinibatchSource::SequenceKeys() const
{
    return std::visit([](const auto& typed) -> const std::vector<std::string>& { return typed.minibatch.sequenceKeys; },
                      m_typed);
}

bool MinibatchSource::GoesOnFromBefore() const
{
    const auto goesOn = [](const auto& stream)
    {
        if (!stream.layout)
            return false;
        const std::vector<SequenceInfo>& all = stream.layout->Sequences();
        return std::any_of(all.begin(), all.end(), [](const SequenceInfo& sequence) { return sequence.begin < 0; });
    };
    return std::visit([&](const auto& typed)
                      { return std::any_of(typed.minibatch.streams.begin(), typed.minibatch.streams.end(), goesOn); },
                      m_typed);
}

// "the label of step 2 of sequence 0 has 9 as its word"; where each sample is a sequence: "the label of sample 5".
void MinibatchSource::NameSequence(Error& error) const
{
    if (error.Kind() != ErrorKind::Data || m_parts > 1 || m_share.workers > 1)
        return; // parts and shares have numbers of their own
    const std::vector<std::string>& keys = SequenceKeys();
    for (const std::string_view what : {"sequence ", "sample "})
    {
        const size_t at = error.Message().find(what);
        if (at == std::string::npos)
            continue;
        const size_t begin = at + what.size();
        const size_t end = error.Message().find_first_not_of("0123456789", begin);
        const auto number = ParseSize(std::string_view(error.Message()).substr(begin, end - begin));
        if (!number || *number >= keys.size())
            continue;
        return error.AddNote(Concat(what, *number, " of the minibatch is '", keys[*number], "' in the data"));
    }
}

} // namespace cntk
