// ClassBasedCrossEntropyWithSoftmax: the softmax over the word classes and the softmax over the words of a sample's
// class.
#include "Common/Error.h"
#include "ComputationNetwork/GradientUpdates.h"
#include "ComputationNetwork/Nodes/VocabularyCriterion.h"
#include "Math/SampledProducts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cntk
{

namespace
{

using Lifetime = TemporarySpec::Lifetime;

// Computes v = -sum (log softmax(W(:, l..r-1)' x)[y-l] + log softmax(q)[c]) for words y of classes c, which range from
// word l to word r-1.
class ClassBasedCrossEntropyNode final : public VocabularyCriterion
{
public:
    void InferShape(ShapeInference& inference) override
    {
        CheckInputs(inference);
        if (inference.IsFinalPass())
        {
            if (Input(0)->SampleElements() != 4)
                Fail(ErrorKind::Model, "the labels of ", TypeName(), ", ", DescribeShape(*Input(0)),
                     ", must have 4 numbers a sample: word, class, first word of the class and of the next");
            if (!Input(3)->HasMBLayout())
                Fail(ErrorKind::Model, "the class scores of ", TypeName(), ", ", DescribeShape(*Input(3)),
                     ", must change with the samples");
        }
        SetScalarShape();
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        const TemporarySpec losses = TemporaryForSamplesOf(*this, 1, 1, Lifetime::Forward);
        return {TemporaryLikeInput(*this, 3, Lifetime::Forward),
                TemporaryLikeInput(*this, 3, Lifetime::ForwardBackward),
                TemporaryLikeInput(*this, 1, Lifetime::ForwardBackward), losses};
    }

    void ForwardProp(const FrameRange& range) override
    {
        ReadLabels();
        Ops::CrossEntropyWithSoftmax(m_classes, Input(3)->Value(), m_mask, Temporary(0, range), Temporary(1, range),
                                     Value());
        const ColumnSlices& slices = m_operands.slices;
        // The memory for the slices depends on the words, so that no plan can provide it. It grows to the largest size
        // needed.
        Resize(m_operands.errors, 1, slices.elements);
        Resize(m_operands.gathered, Input(2)->Value().rows, slices.Members());
        const MatrixView losses = Temporary(3, range).Columns(0, slices.Members());
        Ops::SliceSoftmax(slices, Input(2)->Value(), Input(1)->Value(), m_operands.gathered, m_operands.errors, losses,
                          NeedsGradient(), Input(1)->NeedsGradient() ? Products() : MatrixView{});
        Ops::SumAll(losses, Value(), 1, 1);
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input == 1)
            Ops::SliceSoftmaxInputGradient(m_operands.slices, Input(2)->Value(), m_operands.errors, Gradient(),
                                           Products(), InputGradient(1, range));
        else if (input == 2)
        {
            TouchedColumns& touched = Input(2)->GradientColumns();
            touched.standsForDense = true;
            Ops::SliceSoftmaxWeightGradient(m_operands.slices, m_operands.gathered, m_operands.errors, Gradient(),
                                            Input(2)->Gradient(), touched, GradientBeta(2) == 0);
        }
        else if (input == 3)
            Ops::CrossEntropyWithSoftmaxGradient(m_classes, Temporary(1, range), m_mask, Gradient(),
                                                 InputGradient(3, range));
    }

    // Updates after the input's gradient, which needs the weights before the update.
    bool BackpropUpdating(size_t input, GradientUpdates& updates) override
    {
        if (input != 2 || !m_operands.slices.areDisjoint)
            return false;
        m_operands.scale.CopyFrom(Gradient());
        return updates.UpdateBy(m_operands, *Input(2));
    }

private:
    void Resize(Matrix& matrix, size_t rows, size_t columns) const
    {
        if (!matrix.IsAllocated())
            matrix = Matrix(0, 0, GetDataType(), GetDevice());
        matrix.Resize(rows, columns);
    }

    // One column for each member, used for the input's gradient.
    MatrixView Products() const { return Temporary(2, FrameRange::All()).Columns(0, m_operands.slices.Members()); }

    // Reads which samples need which words. A sample of an empty class with word 0 has no word.
    void ReadLabels()
    {
        const ComputationNode& labels = *Input(0);
        const std::span<const uint8_t> gaps = labels.ColumnMask(FrameRange::All());
        const size_t samples = labels.ValueColumns();
        const size_t classes = Input(3)->SampleElements();
        m_labels.Read(labels.Value());
        m_operands.slices.requests.clear();
        m_rows.clear();
        m_starts.assign(1, 0);
        m_mask.assign(samples, 0);
        for (size_t sample = 0; sample < samples; sample++)
        {
            if (gaps.empty() || gaps[sample] != 0)
                ReadLabel(sample, classes);
            m_starts.push_back(int32_t(m_rows.size()));
        }
        m_operands.slices.MakeGroups();
        m_ones.assign(m_rows.size() * SizeOf(GetDataType()), std::byte(0));
        VisitType(GetDataType(),
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      std::fill_n(reinterpret_cast<T*>(m_ones.data()), m_rows.size(), T(1));
                  });
        if (m_classes.Type() != GetDataType() || m_classes.View().device == nullptr)
            m_classes = SparseMatrix(GetDataType(), GetDevice());
        m_classes.FromHost(classes, samples, m_ones.data(), m_rows, m_starts);
    }

    void ReadLabel(size_t sample, size_t classes)
    {
        const int32_t word = NumberAt(m_labels, 0, sample, Words() - 1, "word");
        const int32_t ofClass = NumberAt(m_labels, 1, sample, classes - 1, "class", 3);
        const int32_t first = NumberAt(m_labels, 2, sample, Words(), "first word of the class");
        const int32_t end = NumberAt(m_labels, 3, sample, Words(), "first word of the next class");
        if (first == end && word == 0)
            return;
        if (word < first || word >= end)
            Fail(ErrorKind::Data, "the label of ", NameOfSample(*Input(0)->GetMBLayout(), sample), " has word ", word,
                 " in class ", ofClass, ", but the words of that class are ", first, " to ", end - 1,
                 end > first ? "" : ", which are none; expected another class or word");
        m_operands.slices.requests.push_back({int32_t(sample), first, end, word});
        m_rows.push_back(ofClass);
        m_mask[sample] = 1;
    }

    HostNumbers m_labels;
    SliceOperands m_operands;
    // The classes as labels of the softmax of q.
    SparseMatrix m_classes;
    std::vector<int32_t> m_rows;
    std::vector<int32_t> m_starts;
    std::vector<std::byte> m_ones;
    std::vector<uint8_t> m_mask;
};

} // namespace

void RegisterClassBasedCrossEntropyNodes(NodeRegistry& registry)
{
    using namespace Samples;
    NodeType classes =
        VocabularyCriterionType("ClassBasedCrossEntropyWithSoftmax", {"CBCEWithSM", "ClassCrossEntropyWithSoftmax"});
    classes.inputNames = {"labels", "x", "W", "classScores"};
    classes.traits.replacesTouchedColumns = true;
    classes.traits.labelForm = LabelForm::WordsWithClasses;
    classes.doc = "v = -sum (log softmax(W(:, l..r-1)' x)[y-l] + log softmax(classScores)[c]) over all samples; labels "
                  "have 4 numbers each: word y, its class c, the first word l of the class and the first word r of the "
                  "next. Only the words of a sample's class are computed.";
    classes.bookSection = "4.1.4.24";
    // Three classes, of words 0-2, 3 and 4-6; the fourth sample has no word.
    const GradientSample::Input labels =
        WordLabels(4, {1, 0, 0, 3, 3, 1, 3, 4, 6, 2, 4, 7, 0, 0, 0, 0, 5, 2, 4, 7, 0, 0, 0, 3,
                       4, 2, 4, 7, 2, 0, 0, 3, 3, 1, 3, 4, 6, 2, 4, 7, 1, 0, 0, 3, 0, 0, 0, 3});
    GradientSample sample;
    sample.inputs = {labels, Data(TensorShape{5}, -1, 1), Parameter(TensorShape{5, 7}, -2, 2),
                     Data(TensorShape{3}, -2, 2)};
    GradientSample tensor = sample;
    tensor.inputs[1].shape = TensorShape{2, 3};
    tensor.inputs[2].shape = TensorShape{6, 7};
    tensor.inputs[0].values = {0, 0, 0, 7, 6, 0, 0, 7, 2, 0, 0, 7, 5, 0, 0, 7, 5, 0, 0, 7, 1, 0, 0, 7,
                               4, 0, 0, 7, 2, 0, 0, 7, 3, 0, 0, 7, 6, 0, 0, 7, 1, 0, 0, 7, 0, 0, 0, 7};
    tensor.inputs[3].shape = TensorShape{1};
    GradientSample overlapping = sample; // word 3 is in two classes
    overlapping.inputs[0].values = {1, 0, 0, 4, 3, 1, 3, 4, 6, 2, 4, 7, 3, 0, 0, 4, 5, 2, 4, 7, 0, 0, 0, 4,
                                    4, 2, 4, 7, 2, 0, 0, 4, 3, 1, 3, 4, 6, 2, 4, 7, 1, 0, 0, 4, 3, 1, 3, 4};
    classes.samples = {sample, tensor, overlapping};
    registry.Add<ClassBasedCrossEntropyNode>(classes);
}

} // namespace cntk
