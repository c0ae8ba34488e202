// Tools for tests of readers of sequences: minibatches as text, one line a column.
#pragma once

#include "ReadersTests/ReaderTestTools.h"

#include <cstdio>
#include <string>
#include <vector>

namespace cntk
{

inline std::string NumberText(double value)
{
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", value);
    return buffer;
}

// Prints the columns of a batch: "1 0 2.5" of a dense stream, "0:1 7:2.5" of a sparse one, "gap" for a gap.
template <class ElemType>
std::vector<std::string> ColumnsOf(const StreamBatch<ElemType>& batch)
{
    std::vector<std::string> columns;
    const MBLayout& layout = *batch.layout;
    EXPECT_EQ(layout.Columns(), batch.columns);
    EXPECT_EQ(batch.sparse ? batch.columnStarts.size() : batch.columns + 1, batch.columns + 1);
    for (size_t column = 0; column < batch.columns; ++column)
    {
        std::string text;
        const size_t rows = layout.ParallelSequences();
        const bool isGap = layout.IsGap(column % rows, column / rows);
        if (batch.sparse)
        {
            for (int32_t i = batch.columnStarts[column]; i < batch.columnStarts[column + 1]; ++i)
                text += (text.empty() ? "" : " ") + std::to_string(batch.rowIndices[size_t(i)]) + ":" +
                        NumberText(double(batch.values[size_t(i)]));
            EXPECT_TRUE(!isGap || text.empty());
        }
        for (size_t row = 0; !batch.sparse && row < batch.rows; ++row)
        {
            const ElemType value = batch.values[column * batch.rows + row];
            EXPECT_TRUE(!isGap || value == ElemType(0));
            text += (row == 0 ? "" : " ") + NumberText(double(value));
        }
        columns.push_back(isGap ? "gap" : text);
    }
    return columns;
}

// Prints row and time of each sequence: "s1 [0,3) s2 [-2,1) gap 1 [2,4)"; a frame layout is "frames N".
inline std::string LayoutText(const MBLayout& layout)
{
    if (layout.IsFrameMode())
        return "frames " + std::to_string(layout.Columns());
    std::string text = std::to_string(layout.ParallelSequences()) + "x" + std::to_string(layout.TimeSteps());
    for (const SequenceInfo& sequence : layout.Sequences())
        text += (sequence.id == SequenceInfo::c_gap ? " gap" : " row") + std::to_string(sequence.row) + "[" +
                std::to_string(sequence.begin) + "," + std::to_string(sequence.end) + ")";
    return text;
}

// Returns the error of make() or of an epoch of its reader, in the form of MessageOf.
template <class Make>
std::string ErrorOfReading(Make&& make)
{
    return MessageOf(
        [&]
        {
            const auto reader = make();
            HostMinibatch<double> minibatch;
            reader->StartEpoch(MakeRequest(0, 100));
            while (reader->GetMinibatch(minibatch))
            {
            }
        });
}

// Prints all minibatches of an epoch: for each the layout and the columns of one stream, separated by "; ".
template <class ElemType>
std::vector<std::string> ReadStream(IDataReader<ElemType>& reader, const EpochRequest& request, size_t stream,
                                    bool withLayout = true)
{
    std::vector<std::string> minibatches;
    HostMinibatch<ElemType> minibatch;
    reader.StartEpoch(request);
    while (reader.GetMinibatch(minibatch))
    {
        std::string text = withLayout ? LayoutText(*minibatch.streams.at(stream).layout) : "";
        for (const std::string& column : ColumnsOf(minibatch.streams[stream]))
            text += (text.empty() ? "" : "; ") + column;
        minibatches.push_back(text);
    }
    return minibatches;
}

} // namespace cntk
