// The one place that knows both element types of readers.
#include "SGD/MinibatchSource.h"

#include "Common/Error.h"

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
    std::visit([&](auto& typed) { typed.reader->StartEpoch(request); }, m_typed);
}

bool MinibatchSource::Next()
{
    return std::visit(
        [&](auto& typed)
        {
            if (!typed.reader->GetMinibatch(typed.minibatch))
                return false;
            m_secondsWaited = typed.minibatch.secondsWaited;
            m_binder->Bind(typed.minibatch);
            return true;
        },
        m_typed);
}

bool MinibatchSource::Skip()
{
    return std::visit([](auto& typed) { return typed.reader->GetMinibatch(typed.minibatch); }, m_typed);
}

const std::vector<std::string>& MinibatchSource::SequenceKeys() const
{
    return std::visit([](const auto& typed) -> const std::vector<std::string>& { return typed.minibatch.sequenceKeys; },
                      m_typed);
}

} // namespace cntk
