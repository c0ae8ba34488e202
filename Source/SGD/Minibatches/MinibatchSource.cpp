#include "SGD/Minibatches/MinibatchSource.h"

#include "Common/Text.h"
#include "Math/Operations.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace cntk
{

bool AdaptsByKL(const SgdOptions& options)
{
    return options.adaptationRegType == AdaptationRegularization::KL && options.adaptationRegWeight > 0;
}

ComputationNodePtr RequireReferenceNode(const ComputationNetwork& reference, const std::string& name)
{
    if (name.empty())
        Fail(ErrorKind::Config, "refNodeName is missing; adaptationRegType=KL needs the name of the original model's "
                                "output node (its posteriors)");
    ComputationNodePtr node = reference.Find(name);
    if (node)
        return node;
    std::vector<std::string> names;
    for (const ComputationNodePtr& candidate : reference.Nodes())
        names.push_back(candidate->Name());
    Fail(ErrorKind::Config, "refNodeName names '", name, "', but there is no such node in the original model",
         DidYouMean(name, names));
}

namespace
{

size_t LabelStreamOf(const ComputationNetwork& trained, const ComputationNode& node,
                     const std::vector<StreamInfo>& streams)
{
    const std::vector<ComputationNodePtr> labels = trained.Group(NodeGroup::Label);
    if (labels.empty())
        Fail(ErrorKind::Config, "the network has no label node to mix with '", node.Name(),
             "'; tag one with tag=\"label\"");
    const ComputationNode& label = *labels.front();
    if (label.SampleElements() != node.SampleElements())
        Fail(ErrorKind::Config, "refNodeName '", node.Name(), "' has dimension ", node.SampleElements(),
             ", but label '", label.Name(), "' has ", label.SampleElements(),
             "; expected the same, since they are mixed");
    const auto found =
        std::find_if(streams.begin(), streams.end(),
                     [&](const StreamInfo& stream) { return EqualsIgnoreCase(stream.name, label.Name()); });
    if (found == streams.end())
        Fail(ErrorKind::Config, "no stream of the reader feeds label node '", label.Name(), "' of the network");
    return size_t(found - streams.begin());
}

} // namespace

LabelMixer::LabelMixer(std::unique_ptr<ComputationNetwork> reference, const std::string& node,
                       const ComputationNetwork& trained, const std::vector<StreamInfo>& streams, double weight)
    : m_reference(std::move(reference)), m_node(RequireReferenceNode(*m_reference, node)),
      m_labelStream(LabelStreamOf(trained, *m_node, streams)), m_weight(weight), m_evaluator(*m_reference, {m_node}),
      m_binder({m_node}, streams), m_outputs(0, 0, m_reference->GetDataType(), m_reference->GetDevice())
{
}

template <class ElemType>
void LabelMixer::FillLabels(const StreamBatch<ElemType>& labels, StreamBatch<ElemType>& mixed) const
{
    mixed.rows = m_node->SampleElements();
    mixed.columns = labels.columns;
    mixed.layout = labels.layout;
    mixed.values.resize(mixed.rows * labels.columns);
    VisitType(m_outputs.Type(),
              [&](auto tag)
              {
                  const auto* outputs = reinterpret_cast<const decltype(tag)*>(m_hostOutputs.data());
                  for (size_t i = 0; i < mixed.values.size(); ++i)
                      mixed.values[i] = ElemType(m_weight * double(outputs[i]));
              });
    if (!labels.sparse)
    {
        for (size_t i = 0; i < mixed.values.size(); ++i)
            mixed.values[i] = ElemType(double(mixed.values[i]) + (1 - m_weight) * double(labels.values[i]));
        return;
    }
    for (size_t column = 0; column < labels.columns; ++column)
    {
        for (auto k = size_t(labels.columnStarts[column]); k < size_t(labels.columnStarts[column + 1]); ++k)
            mixed.values[column * mixed.rows + size_t(labels.rowIndices[k])] +=
                ElemType((1 - m_weight) * double(labels.values[k]));
    }
}

template <class ElemType>
void LabelMixer::Mix(HostMinibatch<ElemType>& minibatch)
{
    m_binder.Bind(minibatch);
    m_evaluator.Forward();
    StreamBatch<ElemType>& labels = minibatch.streams[m_labelStream];
    const MatrixView outputs = m_node->Value();
    if (outputs.columns != labels.columns)
        Fail(ErrorKind::Data, "refNodeName '", m_node->Name(), "' gave ", Counted(outputs.columns, "column"), " for ",
             labels.columns, " labels; expected one for each");
    m_outputs.Resize(outputs.rows, outputs.columns);
    Ops::Copy(outputs, m_outputs);
    m_hostOutputs.resize(m_outputs.Elements() * SizeOf(m_outputs.Type()));
    m_outputs.CopyToHost(m_hostOutputs.data());
    auto& mixed = std::get<StreamBatch<ElemType>>(m_other);
    FillLabels(labels, mixed);
    std::swap(labels, mixed);
    m_isMixed = true;
}

template <class ElemType>
void LabelMixer::Unmix(HostMinibatch<ElemType>& minibatch)
{
    if (m_isMixed)
        std::swap(minibatch.streams[m_labelStream], std::get<StreamBatch<ElemType>>(m_other));
    m_isMixed = false;
}

template void LabelMixer::Mix(HostMinibatch<float>&);
template void LabelMixer::Mix(HostMinibatch<double>&);
template void LabelMixer::Unmix(HostMinibatch<float>&);
template void LabelMixer::Unmix(HostMinibatch<double>&);

void MinibatchSource::VisitListedFiles(const ListedFileVisitor& visit) const
{
    WithReader([&](const auto& reader) { reader.VisitListedFiles(visit); });
    for (const auto& companion : m_companions)
        companion->VisitListedFiles(visit);
}

void MinibatchSource::BindTo(const std::vector<ComputationNodePtr>& roots)
{
    m_binder.emplace(roots, Streams());
    if (!WithReader([](const auto& reader) { return reader.HasLattices(); }))
        m_binder->RequireNoLattices();
    m_wanted = m_binder->Wanted();
}

void MinibatchSource::AddCompanion(std::unique_ptr<MinibatchSource> other, const std::vector<ComputationNodePtr>& roots,
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

void MinibatchSource::ReadCompanions(bool bind)
{
    const LeadingSequences leader = std::visit(
        [](const auto& typed)
        {
            LeadingSequences leading{nullptr, 0, &typed.minibatch.sequenceKeys};
            for (const auto& stream : typed.minibatch.streams)
                if (leading.columns == 0 && stream.columns > 0)
                {
                    leading.layout = stream.layout.get();
                    leading.columns = stream.columns;
                }
            return leading;
        },
        m_typed);
    for (const auto& companion : m_companions)
    {
        std::visit([&](auto& typed) { typed.follower->Follow(leader); }, companion->m_typed);
        bind ? companion->Next() : companion->Skip();
        m_secondsWaited += companion->m_secondsWaited;
    }
}

std::string MinibatchSource::DescribeUnmatched()
{
    std::string unmatched;
    for (size_t i = 0; i < m_companions.size() && unmatched.empty(); ++i)
        unmatched =
            std::visit([](auto& typed) { return typed.follower->DescribeUnmatched(); }, m_companions[i]->m_typed);
    return unmatched;
}

void MinibatchSource::StartEpoch(EpochRequest request)
{
    if (!m_binder)
        Fail(ErrorKind::Internal, "StartEpoch before BindTo");
    // Companions deliver whatever sequences this source's epoch has.
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
    WithReader([&](auto& reader) { reader.StartEpoch(request); });
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
        m_hasCutSequences = HasCutSequences(minibatch);
        if (m_parts > 1)
            return BindPart(0);
    }
    m_binder->Bind(minibatch);
    m_columns = m_binder->Columns();
}

bool MinibatchSource::Next()
{
    const bool hasMinibatch = std::visit(
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
    if (hasMinibatch && HasCompanions())
        ReadCompanions(true);
    return hasMinibatch;
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

// Read evaluates the reference network for skipped minibatches, too: its recurrent state continues through them.
std::optional<size_t> MinibatchSource::Skip()
{
    const auto read = [&](auto& typed)
    {
        if (!Read(typed))
            return std::optional<size_t>();
        return std::optional(HasColumns(Delivered(typed)) ? m_binder->SamplesOf(Delivered(typed)) : 0);
    };
    const std::optional<size_t> samples = std::visit(read, m_typed);
    if (samples && HasCompanions())
        ReadCompanions(false);
    return samples;
}

bool MinibatchSource::ContinuesSequences() const
{
    return std::visit(
        [](const auto& typed)
        {
            for (const auto& stream : typed.minibatch.streams)
                if (stream.layout)
                    for (const SequenceInfo& sequence : stream.layout->Sequences())
                        if (sequence.begin < 0)
                            return true;
            return false;
        },
        m_typed);
}

// Messages have the form "the label of step 2 of sequence 0 has 9 as its word" or, if each sample is a sequence, "the
// label of sample 5".
void MinibatchSource::NameSequence(Error& error) const
{
    if (error.Kind() != ErrorKind::Data || m_parts > 1 || m_share.workers > 1)
        return; // in parts and shares, sequences have other numbers
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
