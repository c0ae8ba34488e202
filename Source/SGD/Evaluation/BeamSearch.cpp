// All hypotheses of all sentences are parallel sequences of one minibatch. The minibatch has one step, or all steps
// from the beginning of the sentence.
#include "SGD/Evaluation/BeamSearch.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

namespace cntk
{

namespace
{

// Converts one column in place.
void ToLogProbabilities(double* scores, size_t words, bool isProbability)
{
    if (isProbability)
    {
        std::transform(scores, scores + words, scores, [](double p) { return std::log(p); });
        return;
    }
    const double largest = *std::max_element(scores, scores + words);
    double sum = 0;
    for (size_t i = 0; i < words; ++i)
        sum += std::exp(scores[i] - largest);
    const double logSum = largest + std::log(sum);
    for (size_t i = 0; i < words; ++i)
        scores[i] -= logSum;
}

} // namespace

BeamSearch::BeamSearch(ComputationNetwork& decoder, const ComputationNodePtr& output,
                       std::shared_ptr<InputValueNode> words, std::vector<std::shared_ptr<InputValueNode>> encoded,
                       size_t beamWidth)
    : m_output(output), m_words(std::move(words)), m_encoded(std::move(encoded)), m_beamWidth(beamWidth),
      m_isProbability(output->TypeName() == "Softmax"), m_evaluator(decoder, {output})
{
    if (m_words->SampleElements() != output->SampleElements())
        Fail(ErrorKind::Model, "a word of '", output->Name(), "' (", Counted(output->SampleElements(), "row"),
             ") cannot be the next input of '", m_words->Name(), "' (", Counted(m_words->SampleElements(), "row"),
             "); expected the same words in both");
    if (!output->HasMBLayout() || output == m_words)
        Fail(ErrorKind::Model, "node '", output->Name(), "' (", output->TypeName(),
             ") has no value for each word; expected the scores of words");
    CheckInputs();
    FindState();
}

// Fails if the output depends on an input that the search does not set: such an input would have no values.
void BeamSearch::CheckInputs() const
{
    bool readsWords = false;
    for (const ComputationNodePtr& node : m_evaluator.Plan().NodesInOrder())
    {
        const auto input = std::dynamic_pointer_cast<InputValueNode>(node);
        readsWords = readsWords || input == m_words;
        if (input && input != m_words && std::find(m_encoded.begin(), m_encoded.end(), input) == m_encoded.end())
            Fail(ErrorKind::Model, "the scores of words, '", m_output->Name(), "' (", m_output->TypeName(),
                 "), are computed from input '", input->Name(), "'; a sentence is decoded from its words ('",
                 m_words->Name(), "') and the encoder alone");
    }
    if (!readsWords)
        Fail(ErrorKind::Model, "node '", m_output->Name(), "' (", m_output->TypeName(),
             ") does not read the words of '", m_words->Name(), "'; expected the scores of the next word");
}

// Decides whether everything that depends on the words can be computed one step after another.
void BeamSearch::FindState()
{
    const std::vector<ComputationNodePtr> nodes = m_evaluator.Plan().NodesInOrder();
    std::unordered_set<const ComputationNode*> following{m_words.get()};
    for (size_t before = 0; before != following.size();) // repeats until no node is added, so that loops are closed
    {
        before = following.size();
        for (const ComputationNodePtr& node : nodes)
            if (std::any_of(node->Inputs().begin(), node->Inputs().end(),
                            [&](const ComputationNodePtr& input) { return following.count(input.get()) > 0; }))
                following.insert(node.get());
    }
    for (const ComputationNodePtr& node : nodes)
    {
        if (following.count(node.get()) == 0 || node == m_words)
            continue;
        const NodeTraits& traits = node->Type().traits;
        const auto state = std::dynamic_pointer_cast<RecurrentState>(node);
        const bool runsInSteps = state ? !traits.isDelay || traits.delayDirection > 0 : !traits.needsWholeMinibatch;
        m_carriesState = m_carriesState && runsInSteps && node->GetMBLayout() == m_words->GetMBLayout();
        for (size_t i = 0; i < node->InputCount(); ++i)
            if ((traits.inputsReadWhole >> i & 1) != 0 && following.count(node->Input(i).get()) > 0)
                m_carriesState = false;
        if (state)
            m_states.push_back(state);
    }
}

// Makes the hypotheses of the next step continue from the states of the hypotheses that they extend.
void BeamSearch::SelectState()
{
    std::vector<size_t> sources;
    for (size_t row = 0; row < m_beams.size() * m_beamWidth; ++row)
    {
        const size_t sentence = row / m_beamWidth;
        const std::vector<Hypothesis>& beam = m_beams[sentence];
        sources.push_back(sentence * m_beamWidth + beam[std::min(row % m_beamWidth, beam.size() - 1)].parent);
    }
    for (const auto& state : m_states)
        state->SelectState(sources);
}

void BeamSearch::BindEncoded(const std::vector<SentenceToDecode>& sentences)
{
    const size_t rows = sentences.size() * m_beamWidth;
    for (size_t i = 0; i < m_encoded.size(); ++i)
    {
        InputValueNode& input = *m_encoded[i];
        const size_t elements = input.SampleElements();
        size_t longest = 0;
        for (const SentenceToDecode& sentence : sentences)
            longest = std::max(longest, sentence.encoded[i].size() / elements);
        MBLayout& layout = *input.GetMBLayout();
        layout.Init(rows, longest);
        std::vector<double> values(elements * rows * longest);
        for (size_t row = 0; row < rows; ++row)
        {
            const std::vector<double>& source = sentences[row / m_beamWidth].encoded[i];
            const size_t steps = source.size() / elements;
            layout.AddSequence(row, row, 0, ptrdiff_t(steps));
            if (steps < longest)
                layout.AddGap(row, ptrdiff_t(steps), ptrdiff_t(longest));
            for (size_t step = 0; step < steps; ++step)
                std::copy_n(source.begin() + ptrdiff_t(step * elements), elements,
                            values.begin() + ptrdiff_t((step * rows + row) * elements));
        }
        layout.BeginPass();
        input.SetDense(values.data(), elements, rows * longest);
    }
}

void BeamSearch::BindWords(size_t steps)
{
    const size_t rows = m_beams.size() * m_beamWidth, first = m_carriesState ? steps - 1 : 0;
    MBLayout& layout = *m_words->GetMBLayout();
    layout.Init(rows, steps - first);
    for (size_t row = 0; row < rows; ++row) // with carried state, sequences cross the borders of minibatches
        layout.AddSequence(row, row, -ptrdiff_t(first), ptrdiff_t(steps - first) + (m_carriesState ? 1 : 0));
    if (first == 0)
        layout.BeginPass();
    else
        layout.BeginMinibatch();
    std::vector<int32_t> words, starts{0};
    for (size_t step = first; step < steps; ++step)
        for (size_t row = 0; row < rows; ++row)
        {
            const std::vector<Hypothesis>& beam = m_beams[row / m_beamWidth];
            const size_t place = std::min(row % m_beamWidth, beam.size() - 1);
            // Steps after the end of a hypothesis do not count; neither do rows without a hypothesis.
            const std::vector<size_t>& known = beam[place].words;
            const size_t before = std::min(step, known.size());
            words.push_back(int32_t(before == 0 ? m_firstWords[row / m_beamWidth] : known[before - 1]));
            starts.push_back(int32_t(words.size()));
        }
    const std::vector<double> ones(words.size(), 1);
    m_words->SetSparse(ones.data(), words.data(), starts.data(), m_words->SampleElements(), words.size());
}

// scores: the columns of the sentence's hypotheses, one after another.
void BeamSearch::Extend(size_t sentence, const double* scores, size_t maxLength, std::optional<size_t> endWord)
{
    std::vector<Hypothesis>& beam = m_beams[sentence];
    const size_t words = m_output->SampleElements();
    std::vector<Hypothesis> candidates;
    std::vector<size_t> best(words);
    for (size_t i = 0; i < beam.size(); ++i)
    {
        if (beam[i].isOver)
        {
            candidates.push_back(beam[i]);
            candidates.back().parent = i;
            continue;
        }
        const double* column = scores + i * words;
        const double* bad = std::find_if(column, column + words, [](double score) { return std::isnan(score); });
        if (bad != column + words) // NaN has no place in any order
            Fail(ErrorKind::Model, "the score of word ", bad - column, " is no number (nan) at step ",
                 beam[i].words.size() + 1, " of sentence ", sentence + 1, "; the values of node '", m_output->Name(),
                 "' (", m_output->TypeName(), ") are not finite");
        std::iota(best.begin(), best.end(), size_t(0));
        const size_t count = std::min(m_beamWidth, words);
        std::partial_sort(best.begin(), best.begin() + ptrdiff_t(count), best.end(),
                          [&](size_t a, size_t b) { return column[a] != column[b] ? column[a] > column[b] : a < b; });
        for (size_t k = 0; k < count; ++k)
        {
            Hypothesis longer = beam[i];
            longer.words.push_back(best[k]);
            longer.score += column[best[k]];
            longer.parent = i;
            longer.isOver = longer.words.size() >= maxLength || best[k] == endWord;
            candidates.push_back(std::move(longer));
        }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    candidates.resize(std::min(candidates.size(), m_beamWidth));
    beam = std::move(candidates);
}

std::vector<std::vector<size_t>> BeamSearch::Decode(const std::vector<SentenceToDecode>& sentences,
                                                    std::optional<size_t> endWord)
{
    m_beams.assign(sentences.size(), {Hypothesis{}});
    m_firstWords.clear();
    for (size_t i = 0; i < sentences.size(); ++i)
    {
        m_firstWords.push_back(sentences[i].firstWord);
        m_beams[i].front().isOver = sentences[i].maxLength == 0;
    }
    BindEncoded(sentences);
    const auto isOver = [](const std::vector<Hypothesis>& beam)
    { return std::all_of(beam.begin(), beam.end(), [](const Hypothesis& one) { return one.isOver; }); };
    const size_t words = m_output->SampleElements(), rows = sentences.size() * m_beamWidth;
    Matrix last(0, 0, m_output->GetDataType(), m_output->GetDevice());
    for (size_t step = 0; !std::all_of(m_beams.begin(), m_beams.end(), isOver); ++step)
    {
        BindWords(step + 1);
        m_evaluator.Forward();
        last.CopyFrom(m_output->Value().Columns(m_carriesState ? 0 : step * rows, rows));
        std::vector<double> scores = last.ToHost();
        for (size_t row = 0; row < rows; ++row)
            ToLogProbabilities(scores.data() + row * words, words, m_isProbability);
        for (size_t i = 0; i < sentences.size(); ++i)
            Extend(i, scores.data() + i * m_beamWidth * words, sentences[i].maxLength, endWord);
        if (m_carriesState)
            SelectState();
    }
    std::vector<std::vector<size_t>> decoded;
    for (const std::vector<Hypothesis>& beam : m_beams)
        decoded.push_back(beam.front().words);
    return decoded;
}

} // namespace cntk
