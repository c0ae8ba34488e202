// What writers share: which of a command's outputs is meant, and its columns sequence by sequence.
#pragma once

#include "Common/Text.h"
#include "Common/WriterInterface.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace cntk
{

// What belongs to the output of that name in any case: its values, its rows. Null if the command does not write it.
template <class Value>
const Value* FindOutput(const std::map<std::string, Value>& outputs, const std::string& name)
{
    for (const auto& [candidate, value] : outputs)
    {
        if (EqualsIgnoreCase(candidate, name))
            return &value;
    }
    return nullptr;
}

// Calls column(index) for each column that is no gap, one sequence after the other, and endSequence() behind each of
// them. The frames of a minibatch without sequences count as one.
template <class ElemType, class Column, class EndSequence>
void ForEachColumnOfSequences(const StreamBatch<ElemType>& batch, const Column& column, const EndSequence& endSequence)
{
    const MBLayout* layout = batch.layout.get();
    if (layout == nullptr || layout->IsFrameMode())
    {
        for (size_t i = 0; i < batch.columns; ++i)
            column(i);
        endSequence();
        return;
    }
    for (const SequenceInfo& sequence : layout->Sequences())
    {
        if (sequence.id == SequenceInfo::c_gap)
            continue;
        const ptrdiff_t end = std::min(sequence.end, ptrdiff_t(layout->TimeSteps()));
        for (ptrdiff_t time = std::max<ptrdiff_t>(sequence.begin, 0); time < end; ++time)
            column(size_t(time) * layout->ParallelSequences() + sequence.row);
        endSequence();
    }
}

} // namespace cntk
