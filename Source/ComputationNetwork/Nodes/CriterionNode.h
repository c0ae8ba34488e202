// The base class of criteria, and short forms for their records.
#pragma once

#include "Common/Error.h"
#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// Requires labels and predictions of one size and for the same samples.
inline void RequireEqualSizes(const ComputationNode& node, const ShapeInference& inference)
{
    if (!inference.IsFinalPass())
        return;
    const ComputationNode& a = *node.Input(0);
    const ComputationNode& b = *node.Input(1);
    if (a.HasMBLayout() != b.HasMBLayout())
        Fail(ErrorKind::Model, node.TypeName(), " compares ", DescribeShape(a), " with ", DescribeShape(b),
             ", but only ", a.HasMBLayout() ? "the first" : "the second", " changes with the samples");
    if (a.ValueRows() != b.ValueRows() || a.ValueColumns() != b.ValueColumns())
        Fail(ErrorKind::Model, node.TypeName(), " compares ", DescribeShape(a), " with ", DescribeShape(b),
             ": expected as many rows in both, but there are ", a.ValueRows(), " and ", b.ValueRows());
}

// Names a column of labels for messages: "step 3 of sequence 0", or "sample 5" if each sample is its own sequence.
inline std::string NameOfSample(const MBLayout& layout, size_t sample)
{
    const size_t parallel = std::max<size_t>(1, layout.ParallelSequences());
    const size_t row = sample % parallel;
    const ptrdiff_t time = ptrdiff_t(sample / parallel);
    for (const SequenceInfo& sequence : layout.Sequences())
        if (sequence.row == row && sequence.begin <= time && time < sequence.end)
            return Concat("step ", time - sequence.begin, " of sequence ", sequence.id);
    return Concat("sample ", sample);
}

// A node with a 1x1 value, the sum over the samples without gaps.
class Criterion : public ComputationNode
{
protected:
    std::span<const uint8_t> SampleMask(size_t input) const { return Input(input)->ColumnMask(FrameRange::All()); }
    // Infers the shape from labels, which may be sparse, and a dense value of the same size for each sample. All
    // further inputs must be dense.
    void InferFromLabels(ShapeInference& inference)
    {
        for (size_t input = 1; input < InputCount(); input++)
            RequireDenseInput(*this, input, inference);
        CommonLayoutOfInputs(inference);
        RequireEqualSizes(*this, inference);
        SetScalarShape();
    }
    // Returns true if the labels have no gradient. Only that gradient reads the logarithms of a softmax after the
    // forward pass.
    bool LabelsAreData() const { return Input(0)->Type().traits.isLeaf && !Input(0)->IsTrainableLeaf(); }
    // Clears the gaps of values and sums the rest.
    void SumSamples(const MatrixView& values, size_t input, double factor) const
    {
        Ops::MaskColumns(values, SampleMask(input));
        Ops::SumAll(values, Value(), factor);
    }
};

// Describes a labels input with one-hot columns.
inline GradientSample::Input Labels(size_t rows)
{
    GradientSample::Input input = Samples::NotChecked(Samples::Data(TensorShape{rows}));
    input.oneHot = true;
    return input;
}

inline GradientSample::Input SparseLabels(size_t rows)
{
    GradientSample::Input input = Labels(rows);
    input.sparse = true;
    return input;
}

// Returns the record of a criterion with two inputs, to which the type adds its own fields.
inline NodeType CriterionType(const char* name, std::vector<std::string> aliases, const char* bookSection)
{
    NodeType type;
    type.name = name;
    type.aliases = std::move(aliases);
    type.inputs = {2, 2};
    type.inputNames = {"labels", "z"};
    type.traits = {.backpropReadsOutput = false, .needsWholeMinibatch = true, .isCriterion = true};
    type.bookSection = bookSection;
    return type;
}

} // namespace cntk
