// A layout is set anew only if sequences differ from those of the previous minibatch, so that nothing is planned again.
#include "EvalLibrary/SampleOrder.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cntk
{

namespace
{

bool IsOrderOfColumns(const std::vector<uint32_t>& columnOfSample, size_t columns)
{
    if (columnOfSample.size() != columns)
        return false;
    for (size_t i = 0; i < columns; i++)
        if (columnOfSample[i] != i)
            return false;
    return true;
}

} // namespace

AxisSequences::AxisSequences(MBLayoutPtr layout, Form form, size_t farthest)
    : m_layout(std::move(layout)), m_form(form), m_farthest(farthest)
{
}

size_t AxisSequences::Samples() const
{
    return std::accumulate(m_lengths.begin(), m_lengths.end(), size_t(0));
}

void AxisSequences::Begin(size_t samples)
{
    m_current.clear();
    if (IsIndependent())
        m_current.assign(samples, 1);
    else
        for (const size_t length : m_lengths)
            m_current.push_back(uint32_t(length));
    if (m_stepsBefore.empty())
        m_layout->BeginPass();
    else
        m_layout->BeginMinibatch();
    m_stepsBefore.resize(m_current.size(), 0);
    if (m_form == Form::Carried && !m_current.empty())
        return LayOutRows();
    if (m_form == Form::Packed && !IsIndependent())
        return LayOutPacked();
    m_layout->InitAsFrameMode(samples);
    m_laidOut.clear();
    m_packed.clear();
    m_isInOrder = true;
}

// The longest sequences may continue. The others end in the minibatch; the state of their last step is kept, too.
SequenceInfo AxisSequences::SequenceOf(size_t row, size_t steps) const
{
    const size_t end = m_current[row] == steps ? steps + 1 : m_current[row];
    return SequenceInfo{row, row, -ptrdiff_t(m_stepsBefore[row]), ptrdiff_t(end)};
}

void AxisSequences::LayOutRows()
{
    const size_t rows = m_current.size(), steps = *std::max_element(m_current.begin(), m_current.end());
    const bool isSame = m_laidOut.size() == rows && m_layout->TimeSteps() == steps &&
                        std::all_of(m_laidOut.begin(), m_laidOut.end(),
                                    [&](const SequenceInfo& one) { return one == SequenceOf(one.row, steps); });
    if (isSame)
        return;
    m_laidOut.clear();
    m_columnOfSample.clear();
    m_layout->Init(rows, steps);
    for (size_t row = 0; row < rows; row++)
    {
        const SequenceInfo sequence = SequenceOf(row, steps);
        m_laidOut.push_back(sequence);
        if (m_current[row] > 0)
            m_layout->AddSequence(row, row, sequence.begin, sequence.end);
        m_layout->AddGap(row, ptrdiff_t(m_current[row]), ptrdiff_t(steps));
        for (size_t time = 0; time < m_current[row]; time++)
            m_columnOfSample.push_back(uint32_t(time * rows + row));
    }
    m_isInOrder = IsOrderOfColumns(m_columnOfSample, m_layout->Columns());
}

void AxisSequences::LayOutPacked()
{
    std::erase(m_current, 0u);
    if (m_packed == m_current)
        return;
    m_packed = m_current;
    m_packing.Pack(m_packed);
    m_packing.Fill(*m_layout, m_packed);
    m_isInOrder = ListColumnsOf(*m_layout, m_columnOfSample);
}

void AxisSequences::End()
{
    if (m_form != Form::Carried)
        return;
    for (size_t i = 0; i < m_current.size(); i++)
        m_stepsBefore[i] = std::min(m_farthest, m_stepsBefore[i] + m_current[i]);
}

bool ListColumnsOf(const MBLayout& layout, std::vector<uint32_t>& columns)
{
    if (layout.IsFrameMode())
        return true;
    columns.clear();
    const size_t rows = layout.ParallelSequences();
    for (const SequenceInfo& sequence : layout.Sequences())
    {
        if (sequence.id == SequenceInfo::c_gap)
            continue;
        const size_t begin = size_t(std::max<ptrdiff_t>(sequence.begin, 0));
        const size_t end = size_t(std::clamp<ptrdiff_t>(sequence.end, 0, ptrdiff_t(layout.TimeSteps())));
        for (size_t time = begin; time < end; time++)
            columns.push_back(uint32_t(time * rows + sequence.row));
    }
    return IsOrderOfColumns(columns, layout.Columns());
}

} // namespace cntk
