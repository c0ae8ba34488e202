// The one place that knows both element types of readers.
#include "SGD/MinibatchSource.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

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

size_t MinibatchSource::ParallelSequences() const
{
    return std::visit([](const auto& typed) { return typed.reader->ParallelSequences(); }, m_typed);
}

void MinibatchSource::BindTo(const std::vector<ComputationNodePtr>& roots)
{
    m_binder.emplace(roots, Streams());
    m_wanted = m_binder->Wanted();
}

void MinibatchSource::StartEpoch(EpochRequest request)
{
    if (!m_binder)
        Fail(ErrorKind::Internal, "StartEpoch before BindTo");
    request.wanted = m_wanted;
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
bool MinibatchSource::Read(Typed<ElemType>& typed)
{
    if (m_mixer)
        m_mixer->Unmix(typed.minibatch);
    if (!typed.reader->GetMinibatch(typed.minibatch))
        return false;
    if (m_mixer)
        m_mixer->Mix(typed.minibatch);
    return true;
}

template <class ElemType>
void MinibatchSource::BindMinibatch(Typed<ElemType>& typed)
{
    m_parts = 1;
    if (m_partSettings.Cuts())
    {
        m_columns = 0;
        size_t sequences = 0;
        for (const StreamBatch<ElemType>& stream : typed.minibatch.streams)
        {
            m_columns = std::max(m_columns, stream.columns);
            sequences = std::max(sequences, stream.layout ? stream.layout->ParallelSequences() : stream.columns);
        }
        m_parts = PartCount(m_partSettings, m_columns, sequences);
        if (m_parts > 1)
            return BindPart(0);
    }
    m_binder->Bind(typed.minibatch);
    m_columns = m_binder->Columns();
}

bool MinibatchSource::Next()
{
    return std::visit(
        [&](auto& typed)
        {
            if (!Read(typed))
                return false;
            m_secondsWaited = typed.minibatch.secondsWaited;
            BindMinibatch(typed);
            return true;
        },
        m_typed);
}

void MinibatchSource::BindPart(size_t part)
{
    std::visit(
        [&](auto& typed)
        {
            TakePart(typed.minibatch, part, m_parts, typed.part);
            m_binder->Bind(typed.part);
        },
        m_typed);
}

// A reference network sees it: its recurrent state is that of all minibatches.
bool MinibatchSource::Skip()
{
    return std::visit([&](auto& typed) { return Read(typed); }, m_typed);
}

const std::vector<std::string>& MinibatchSource::SequenceKeys() const
{
    return std::visit([](const auto& typed) -> const std::vector<std::string>& { return typed.minibatch.sequenceKeys; },
                      m_typed);
}

} // namespace cntk
