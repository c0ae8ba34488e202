// The base class of criteria for large vocabularies. They take word numbers as labels and read only the few columns of
// the output matrix that each sample needs. No matrix of vocabulary x minibatch is created.
#pragma once

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/CriterionNode.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// A host copy of device values; keeps its memory from minibatch to minibatch.
class HostNumbers
{
public:
    void Read(const MatrixView& view)
    {
        m_rows = view.rows;
        m_isFloat = view.type == DataType::Float32;
        const auto read = [&](auto& values)
        {
            values.resize(view.Elements());
            if (!values.empty())
                view.device->CopyToHost(values.data(), view.data, values.size() * sizeof(values[0]));
        };
        m_isFloat ? read(m_floats) : read(m_doubles);
    }
    double At(size_t row, size_t column) const
    {
        const size_t at = column * m_rows + row;
        return m_isFloat ? double(m_floats[at]) : m_doubles[at];
    }

private:
    size_t m_rows = 0;
    bool m_isFloat = false;
    std::vector<float> m_floats;
    std::vector<double> m_doubles;
};

// Base class: labels of word numbers, inputs x [H], output matrix W [H x V].
class VocabularyCriterion : public ComputationNode
{
protected:
    // Requires x to be data and W a parameter with as many rows.
    void CheckInputs(ShapeInference& inference)
    {
        RequireDenseInputs(*this, inference);
        CommonLayoutOfInputs(inference);
        const ComputationNode& x = *Input(1);
        const TensorShape& weights = Input(2)->SampleLayout();
        if (weights.HasUnknown() && weights.Rank() == 2 && x.SampleElements() > 0)
            InferInputShape(2, TensorShape{x.SampleElements(), weights[1]});
        if (!inference.IsFinalPass())
            return;
        if (!Input(0)->HasMBLayout() || !x.HasMBLayout())
            Fail(ErrorKind::Model, "the first two inputs of ", TypeName(), ", ", DescribeShape(*Input(0)), " and ",
                 DescribeShape(x), ", must change with the samples");
        if (Input(2)->HasMBLayout() || Input(2)->ValueRows() != x.SampleElements())
            Fail(ErrorKind::Model, TypeName(), " multiplies ", DescribeShape(x), " with the columns of ",
                 DescribeShape(*Input(2)), ": expected a parameter of ", Counted(x.SampleElements(), "row"),
                 ", a column for each word");
    }

    size_t Words() const { return Input(2)->ValueColumns(); }

    // Returns the whole number from 0 to limit in the label of a sample. what: "word". limited: the input that sets the
    // limit.
    int32_t NumberAt(const HostNumbers& labels, size_t row, size_t sample, size_t limit, const char* what,
                     size_t limited = 2) const
    {
        const double number = labels.At(row, sample);
        if (!(number >= 0 && number <= double(limit) && number == std::floor(number)))
            Fail(ErrorKind::Data, "the label of ", NameOfSample(*Input(0)->GetMBLayout(), sample), " has ", number,
                 " as its ", what, "; expected a whole number from 0 to ", limit, ", since '", Input(limited)->Name(),
                 "' has ",
                 limited == 2 ? Counted(Words(), "column") + ", one a word"
                              : Counted(Input(limited)->ValueRows(), "row") + ", one a class");
        return int32_t(number);
    }
};

// Describes labels of twelve samples, one after another.
inline GradientSample::Input WordLabels(size_t rows, std::vector<double> values)
{
    GradientSample::Input input = Samples::NotChecked(Samples::Data(TensorShape{rows}, 0, 0));
    input.values = std::move(values);
    return input;
}

// Returns the record of a criterion with labels, x, W and one more input.
inline NodeType VocabularyCriterionType(const char* name, std::vector<std::string> aliases)
{
    NodeType type;
    type.name = name;
    type.aliases = std::move(aliases);
    type.inputs = {4, 4};
    type.traits = {.backpropReadsOutput = false, .needsWholeMinibatch = true, .isCriterion = true};
    type.traits.recordsTouchedColumns = true;
    return type;
}

} // namespace cntk
