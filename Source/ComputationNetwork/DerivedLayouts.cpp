// Minibatch layouts that join several frames of another layout into one, or the reverse.
#include "ComputationNetwork/DerivedLayouts.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNode.h"

#include <algorithm>
#include <numeric>

namespace cntk
{

namespace
{

void Fill(const MBLayout& source, size_t multiply, size_t divide, MBLayout& layout)
{
    // In frame mode, consecutive columns are regrouped.
    if (source.IsFrameMode())
    {
        if (source.Columns() * multiply % divide != 0)
            Fail(ErrorKind::Data, "Reshape makes ", Counted(multiply, "sample"), " of each ", divide,
                 ", but the minibatch has ", source.Columns(), ", which is no multiple of ", divide,
                 "; choose a minibatchSize and a number of samples that are");
        return layout.InitAsFrameMode(source.Columns() * multiply / divide);
    }
    if (multiply > 1 && divide > 1)
        Fail(ErrorKind::Data, "Reshape makes ", Counted(multiply, "frame"), " of each ", divide,
             ", which is not possible with sequences; expected several frames put together, or one taken apart");
    const ptrdiff_t factor = ptrdiff_t(multiply), group = ptrdiff_t(divide);
    const ptrdiff_t steps = ptrdiff_t(source.TimeSteps());
    layout.Init(source.ParallelSequences(), size_t((steps * factor + group - 1) / group));
    for (const SequenceInfo& sequence : source.Sequences())
    {
        const bool isGap = sequence.id == SequenceInfo::c_gap;
        // Only the part of a sequence inside the minibatch must be divisible.
        const ptrdiff_t first = std::max<ptrdiff_t>(sequence.begin, 0), last = std::min(sequence.end, steps);
        if (!isGap && (first % group != 0 || last % group != 0))
            Fail(ErrorKind::Data, "Reshape puts ", Counted(divide, "frame"), " together, but sequence ", sequence.id,
                 " has ", last - first, " frames, from step ", first, " of the minibatch; expected multiples of ",
                 divide);
        const ptrdiff_t begin = sequence.begin < 0 ? -((-sequence.begin * factor + group - 1) / group)
                                                   : (sequence.begin * factor + group - 1) / group;
        const ptrdiff_t end = (sequence.end * factor + (isGap ? 0 : group - 1)) / group;
        if (isGap)
            layout.AddGap(sequence.row, begin, end);
        else
            layout.AddSequence(sequence.id, sequence.row, begin, end);
    }
}

} // namespace

MBLayoutPtr DerivedLayouts::Get(const MBLayoutPtr& source, size_t multiply, size_t divide)
{
    MBLayoutPtr origin = source;
    for (const Entry& entry : m_entries)
        if (entry.layout == source)
        {
            origin = entry.source;
            multiply *= entry.multiply;
            divide *= entry.divide;
        }
    const size_t common = std::gcd(multiply, divide);
    multiply /= common;
    divide /= common;
    if (multiply == divide)
        return origin;
    for (const Entry& entry : m_entries)
        if (entry.source == origin && entry.multiply == multiply && entry.divide == divide)
            return entry.layout;
    m_entries.push_back({origin, multiply, divide, std::make_shared<MBLayout>(), UINT64_MAX, 0, 0});
    return m_entries.back().layout;
}

void DerivedLayouts::Update(const MBLayout& layout)
{
    for (Entry& entry : m_entries)
    {
        if (entry.layout.get() != &layout)
            continue;
        // Recurrent state is carried over whenever the source layout carries it over.
        if (entry.sourcePass != entry.source->Pass())
            entry.layout->BeginPass();
        else if (entry.sourceMinibatch != entry.source->Minibatch())
            entry.layout->BeginMinibatch();
        entry.sourcePass = entry.source->Pass();
        entry.sourceMinibatch = entry.source->Minibatch();
        if (entry.sourceVersion == entry.source->Version())
            continue;
        Fill(*entry.source, entry.multiply, entry.divide, *entry.layout);
        entry.sourceVersion = entry.source->Version();
    }
}

void DerivedLayouts::RemoveUnused()
{
    std::erase_if(m_entries, [](const Entry& entry) { return entry.layout.use_count() == 1; });
}

MBLayoutPtr ShapeInference::DerivedLayout(const MBLayoutPtr& source, size_t multiply, size_t divide)
{
    CNTK_ASSERT(m_layouts != nullptr);
    return m_layouts->Get(source, multiply, divide);
}

} // namespace cntk
