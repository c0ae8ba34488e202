// Criteria over large vocabularies: NCEBasedCrossEntropyWithSoftmax (noise contrastive estimation and its two
// evaluation modes) and ClassBasedCrossEntropyWithSoftmax.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/CriterionNode.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/SampledProducts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// Copy of device values in host memory. The memory is reused by later minibatches.
class HostCopy
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
    int32_t NumberAt(const HostCopy& labels, size_t row, size_t sample, size_t limit, const char* what,
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

namespace
{

using Lifetime = TemporarySpec::Lifetime;

// Field "mode" of NCE nodes: the evaluation mode.
enum class NceMode : int32_t
{
    Softmax,
    Unnormalized,
    None // training
};

// Encodes word 0 in labels of one value, whose sign selects the evaluation mode. Word readers use this value or a
// smaller one.
constexpr double c_wordZero = 1.001e-6; // 1e-6 in either precision

// Computes ln(exp(a) + exp(b)) as CNTK v1.1 does: the smaller term is ignored if it is below 1e-4 of the larger.
double LogAdd(double a, double b)
{
    constexpr double c_minLogExp = -9.2103;
    const double larger = std::max(a, b);
    const double difference = std::min(a, b) - larger;
    return difference < c_minLogExp ? larger : larger + std::log(1 + std::exp(difference));
}

// In training, labels have K+1 pairs (word, log of its noise probability): first the true word, then K noise words with
// the logarithm negated. With s = W(:, word)' x + b, q = ln K + log probability and z = ln(exp(s) + exp(q)), v = -sum
// (s - z of the true word + q - z of each noise word). In evaluation, labels have one value, the word.
class NceNode final : public VocabularyCriterion
{
public:
    void SetParameters(const NodeParameters& parameters) override
    {
        const std::string word = parameters.Text("mode", "None");
        constexpr const char* c_words[] = {"Softmax", "Unnormalized", "None"};
        for (int32_t i = 0; i < 3; i++)
            if (EqualsIgnoreCase(word, c_words[i]))
                return void(m_mode = NceMode(i));
        Fail(ErrorKind::Config, "parameter 'mode' is '", word, "'; expected Softmax, Unnormalized or None");
    }

    void InferShape(ShapeInference& inference) override
    {
        CheckInputs(inference);
        if (inference.IsFinalPass())
        {
            const size_t rows = Input(0)->SampleElements();
            if (rows != 1 && (rows < 4 || rows % 2 != 0))
                Fail(ErrorKind::Model, "the labels of ", TypeName(), ", ", DescribeShape(*Input(0)),
                     ", must have 2 (K + 1) numbers a sample for K noise words, or 1, the word, for evaluation");
            const TensorShape& bias = Input(3)->SampleLayout();
            if (Input(3)->HasMBLayout() || Input(3)->ValueRows() != 1 || bias.Elements() != Words())
                Fail(ErrorKind::Model, "the bias of ", TypeName(), ", ", DescribeShape(*Input(3)),
                     ", must be a parameter [1 x ", Words(), "]");
        }
        SetScalarShape();
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        TemporarySpec scores = FixedColumn(Words(), Lifetime::Forward);
        scores.fixedColumns = c_columnsAtATime;
        if (IsEvaluation())
            return {scores, scores, FixedColumn(1, Lifetime::Forward)};
        return {TemporaryForSamplesOf(*this, 1, 1, Lifetime::ForwardBackward)};
    }

    void ForwardProp(const FrameRange&) override
    {
        if (m_pattern.View().device == nullptr)
        {
            m_pattern = SparseMatrix(GetDataType(), GetDevice());
            m_scores = Matrix(0, 0, GetDataType(), GetDevice());
        }
        m_labels.Read(Input(0)->Value());
        m_bias.Read(Input(3)->Value());
        if (IsEvaluation())
            Evaluate();
        else
            ComputeTrainingValue();
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (IsEvaluation())
            Fail(ErrorKind::Model, TypeName(), " '", Name(), "' with labels of one number, or a mode other than None, ",
                 "is for evaluation only; training needs labels of 2 (K + 1) numbers");
        const double scale = Ops::ScalarOf(Gradient());
        if (input == 1)
            return Ops::Multiply(Input(2)->Value(), Ops::Transpose::No, m_pattern, InputGradient(1, range), scale, 1);
        TouchedColumns& touched = Input(input)->GradientColumns();
        touched.standsForDense = true;
        if (input == 2)
            return Ops::MultiplyByTransposeOf(Input(1)->Value(), m_pattern, Input(2)->Gradient(), touched, scale);
        const MatrixView ones = Temporary(0, range);
        Ops::Fill(ones, 1);
        Ops::MultiplyByTransposeOf(ones, m_pattern, Input(3)->Gradient(), touched, scale);
    }

    void SerializeFields(ModelArchive& archive) override
    {
        // Very old files lack the field: the next bytes are then the beginning of the next record.
        if (archive.IsLoading() && (archive.PeekInt32() < 0 || archive.PeekInt32() > int32_t(NceMode::None)))
        {
            m_mode = NceMode::None;
            return;
        }
        int32_t mode = int32_t(m_mode);
        archive.Field(mode);
        m_mode = NceMode(mode);
    }

private:
    static constexpr size_t c_columnsAtATime = 32;

    bool IsEvaluation() const { return m_mode != NceMode::None || Input(0)->SampleElements() == 1; }
    bool IsData(size_t sample) const { return m_mask.empty() || m_mask[sample] != 0; }

    // Computes the scores, without bias, of the words that each sample needs, each word once per sample, into
    // m_numbers.
    template <class WordsOf>
    void ComputeScores(WordsOf&& wordsOf)
    {
        const size_t samples = Input(0)->ValueColumns();
        m_rows.clear();
        m_starts.assign(1, 0);
        for (size_t sample = 0; sample < samples; sample++)
        {
            const size_t first = m_rows.size();
            if (IsData(sample))
                wordsOf(sample, m_rows);
            std::sort(m_rows.begin() + ptrdiff_t(first), m_rows.end());
            m_rows.erase(std::unique(m_rows.begin() + ptrdiff_t(first), m_rows.end()), m_rows.end());
            m_starts.push_back(int32_t(m_rows.size()));
        }
        m_values.assign(m_rows.size() * SizeOf(GetDataType()), std::byte(0));
        m_pattern.FromHost(Words(), samples, m_values.data(), m_rows, m_starts);
        m_scores.Resize(1, m_rows.size());
        Ops::SampledInnerProducts(Input(2)->Value(), Input(1)->Value(), m_pattern, m_scores);
        m_numbers.Read(m_scores);
    }
    // Returns the position of a sample's word in the pattern.
    size_t PlaceOf(size_t sample, int32_t word) const
    {
        const auto first = m_rows.begin() + m_starts[sample];
        return size_t(std::lower_bound(first, m_rows.begin() + m_starts[sample + 1], word) - m_rows.begin());
    }
    double ScoreAt(size_t place) const { return m_numbers.At(0, place) + m_bias.At(0, size_t(m_rows[place])); }

    void ComputeTrainingValue()
    {
        m_mask = Input(1)->ColumnMask(FrameRange::All());
        const size_t entries = Input(0)->SampleElements() / 2;
        const auto wordAt = [&](size_t sample, size_t entry)
        { return NumberAt(m_labels, 2 * entry, sample, Words() - 1, "word"); };
        ComputeScores(
            [&](size_t sample, std::vector<int32_t>& words)
            {
                for (size_t entry = 0; entry < entries; entry++)
                    words.push_back(wordAt(sample, entry));
            });
        const double logNoiseWords = std::log(double(entries - 1));
        double value = 0;
        m_errors.assign(m_rows.size(), 0);
        for (size_t sample = 0; sample + 1 < m_starts.size(); sample++)
        {
            if (!IsData(sample))
                continue;
            for (size_t entry = 0; entry < entries; entry++)
            {
                const size_t place = PlaceOf(sample, wordAt(sample, entry));
                const double logProbability = m_labels.At(2 * entry + 1, sample) * (entry == 0 ? 1 : -1);
                const double score = ScoreAt(place);
                const double noise = logNoiseWords + logProbability;
                const double z = LogAdd(score, noise);
                value -= (entry == 0 ? score : noise) - z;
                m_errors[place] += std::exp(score - z) - (entry == 0 ? 1 : 0);
            }
        }
        VisitType(GetDataType(),
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      std::copy(m_errors.begin(), m_errors.end(), reinterpret_cast<T*>(m_values.data()));
                  });
        m_pattern.FromHost(Words(), m_starts.size() - 1, m_values.data(), m_rows, m_starts);
        Ops::Fill(Value(), value);
    }

    // Computes -log softmax of each word, for several samples at a time. For words with a negative number, uses the
    // score itself.
    void Evaluate()
    {
        m_mask = Input(1)->ColumnMask(FrameRange::All());
        const size_t samples = Input(0)->ValueColumns();
        const auto isUnnormalized = [&](size_t sample) {
            return m_mode == NceMode::Unnormalized || (m_mode == NceMode::None && std::signbit(m_labels.At(0, sample)));
        };
        const auto wordOf = [&](size_t sample)
        {
            const double label = m_labels.At(0, sample);
            double word = m_mode == NceMode::None ? std::abs(label) : label;
            if (word > 0 && word <= c_wordZero)
                word = 0;
            if (!(word >= 0 && word < double(Words()) && word == std::floor(word)))
                Fail(ErrorKind::Data, "the label of ", NameOfSample(*Input(0)->GetMBLayout(), sample), " has ", label,
                     " as its word; expected a whole number from 0 to ", Words() - 1, ", since '", Input(2)->Name(),
                     "' has ", Counted(Words(), "column"), ", one a word");
            return int32_t(word);
        };
        ComputeScores([&](size_t sample, std::vector<int32_t>& words) { words.push_back(wordOf(sample)); });
        double value = 0;
        m_isNormalized.assign(samples, 0);
        for (size_t sample = 0; sample < samples; sample++)
        {
            if (!IsData(sample))
                continue;
            m_isNormalized[sample] = !isUnnormalized(sample);
            if (isUnnormalized(sample))
                value -= ScoreAt(size_t(m_starts[sample]));
        }
        Ops::Fill(Value(), value);
        AddLogSoftmax(samples);
    }

    void AddLogSoftmax(size_t samples)
    {
        VisitType(GetDataType(),
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      std::fill_n(reinterpret_cast<T*>(m_values.data()), m_rows.size(), T(1));
                  });
        m_pattern.FromHost(Words(), samples, m_values.data(), m_rows, m_starts);
        const MatrixView bias = Reshaped(Input(3)->Value(), Words(), 1);
        for (size_t first = 0; first < samples; first += c_columnsAtATime)
        {
            const size_t count = std::min(c_columnsAtATime, samples - first);
            const std::span<const uint8_t> mask = std::span(m_isNormalized).subspan(first, count);
            if (std::find(mask.begin(), mask.end(), 1) == mask.end())
                continue;
            const MatrixView scores = m_temporaries[0].Columns(0, count);
            Ops::MultiplyBiasActivate(Input(2)->Value(), Ops::Transpose::Yes, Input(1)->Value().Columns(first, count),
                                      bias, ElementwiseOp::Copy, scores);
            Ops::CrossEntropyWithSoftmax(m_pattern.View().Columns(first, count), scores, mask, scores,
                                         m_temporaries[1].Columns(0, count), m_temporaries[2]);
            Ops::SumAll(m_temporaries[2], Value(), 1, 1);
        }
    }

    NceMode m_mode = NceMode::None;
    HostCopy m_labels;
    HostCopy m_bias;
    HostCopy m_numbers;
    Matrix m_scores;
    SparseMatrix m_pattern; // words x samples: the errors of the scores; in evaluation the labels of the softmax
    std::span<const uint8_t> m_mask;
    std::vector<int32_t> m_rows;
    std::vector<int32_t> m_starts;
    std::vector<std::byte> m_values;
    std::vector<double> m_errors;
    std::vector<uint8_t> m_isNormalized;
};

} // namespace

void RegisterNceNodes(NodeRegistry& registry)
{
    using namespace Samples;
    NodeType nce = VocabularyCriterionType("NCEBasedCrossEntropyWithSoftmax",
                                           {"NoiseContrastiveEstimation", "NoiseContrastiveEstimationNode"});
    nce.inputNames = {"labels", "x", "W", "b"};
    nce.doc = "Noise contrastive estimation. Training labels have K+1 pairs a sample: the word and the log of its "
              "noise probability, then K noise words with the logarithm negated. s = W(:, word)' x + b, q = ln K + log "
              "probability, z = ln(exp(s) + exp(q)); v = -sum (s - z of the true word + q - z of each noise word). "
              "With labels of one value, the word, v = -sum log softmax(W' x + b)[word], or -sum s of words given as "
              "negative values.";
    nce.parameters = {
        Option("mode", ParameterKind::Text, "None",
               "evaluation: Softmax, Unnormalized, or None (trains, or evaluates as the labels require)")};
    GradientSample noise;
    // True word and two noise words. Noise words may repeat, and may equal the true word.
    noise.inputs = {WordLabels(6, {1, -2, 0, 1, 3, 2, 4, -1, 4, 1, 2, 3, 0, -2, 3, 2, 3, 2, 2, -1, 0, 1, 1, 2,
                                   3, -2, 1, 1, 4, 2, 0, -3, 2, 1, 2, 1, 1, -2, 2, 1, 3, 2, 4, -1, 4, 1, 2, 3,
                                   0, -2, 1, 2, 2, 2, 2, -1, 0, 1, 1, 2, 3, -2, 1, 1, 4, 2, 0, -3, 2, 1, 3, 1}),
                    Data(TensorShape{3}, -1, 1), Parameter(TensorShape{3, 5}, -1, 1),
                    Parameter(TensorShape{1, 5}, -1, 1)};
    GradientSample words;
    words.inputs = {WordLabels(1, {3, 0, -2, 4, 1, -1, 2, 2, 0, -3, 4, 1}), NotChecked(Data(TensorShape{3}, -1, 1)),
                    NotChecked(Parameter(TensorShape{3, 5}, -1, 1)), NotChecked(Parameter(TensorShape{1, 5}, -1, 1))};
    GradientSample softmax = noise;
    for (GradientSample::Input& input : softmax.inputs)
        input.checkGradient = false;
    softmax.parameters = {{"mode", "Softmax"}};
    GradientSample scores = softmax;
    scores.parameters = {{"mode", "Unnormalized"}};
    nce.traits.labelForm = LabelForm::WordsWithNoise;
    nce.samples = {noise, words, softmax, scores};
    registry.Add<NceNode>(nce);
}

namespace
{

using Lifetime = TemporarySpec::Lifetime;

// Computes v = -sum (log softmax(W(:, l..r-1)' x)[y-l] + log softmax(q)[c]) for words y of classes c, which range from
// word l to word r-1.
class ClassBasedCrossEntropyNode final : public VocabularyCriterion, public BackpropByUpdates
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

    HostCopy m_labels;
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
    classes.doc = "v = -sum (log softmax(W(:, l..r-1)' x)[y-l] + log softmax(classScores)[c]) over all samples. labels "
                  "have 4 values each: word y, its class c, the first word l of the class and the first word r of the "
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
