// Helpers of writers: finding an output by name, and visiting its columns sequence by sequence.
#pragma once

#include "Common/ReaderInterface.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace cntk
{

// Finds the entry (values or rows) of an output by its name in any case. Null if the command does not write it.
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

// Calls column(index) for each column that is no gap, sequence by sequence, and endSequence() after each sequence. The
// frames of a minibatch without sequences count as one sequence.
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
