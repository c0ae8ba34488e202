// NCEBasedCrossEntropyWithSoftmax: noise contrastive estimation, and its two evaluation modes.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelArchive.h"
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
    HostNumbers m_labels;
    HostNumbers m_bias;
    HostNumbers m_numbers;
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
    nce.traits.labelForm = LabelForm::WordsWithNoise;
    nce.doc =
        "noise contrastive estimation. Training labels have K+1 pairs a sample: the word and the log of its noise "
        "probability, then K noise words with the logarithm negated. s = W(:, word)' x + b, q = ln K + log "
        "probability, z = ln(exp(s) + exp(q)); v = -sum (s - z of the true word + q - z of each noise word). With "
        "labels of one number, the word, v = -sum log softmax(W' x + b)[word], or -sum s of words given as negative "
        "numbers.";
    nce.parameters = {
        Option("mode", ParameterKind::Text, "None",
               "how it evaluates: Softmax, Unnormalized, or None, which is to train, or to evaluate as the "
               "labels say")};
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
    nce.samples = {noise, words, softmax, scores};
    registry.Add<NceNode>(nce);
}

} // namespace cntk
