// Counting and reading of classified samples.
#include "SGD/Evaluation/Classification.h"

#include "Common/Text.h"
#include "Math/Operations.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace cntk
{

namespace
{

// Returns the names of the classes if the labels come straight from a stream with names.
std::vector<std::string> ClassNames(const ComputationNode& label, const std::vector<StreamInfo>& streams)
{
    for (const StreamInfo& stream : streams)
        if (EqualsIgnoreCase(stream.name, label.Name()) && stream.labelNames.size() <= label.SampleElements())
            return stream.labelNames;
    return {};
}

// Returns the row of the largest element of each column.
std::vector<double> LargestRows(const ComputationNode& node)
{
    Device& device = node.GetDevice();
    if (node.HasSparseForm())
    {
        const SparseView values = node.SparseValue(FrameRange::All());
        Matrix rows(1, values.columns, values.type, device);
        Ops::ArgMax(values, rows);
        return rows.ToHost();
    }
    Matrix rows(1, node.Value().columns, node.Value().type, device);
    Ops::ArgMax(node.Value(), rows);
    return rows.ToHost();
}

// mask: as MBLayout::ColumnMask.
bool HoldsProbabilities(const std::vector<double>& scores, size_t classes, std::span<const uint8_t> mask)
{
    constexpr double c_tolerance = 1e-3; // sums of many rounded floats
    for (size_t column = 0; column * classes < scores.size(); ++column)
    {
        if (!mask.empty() && mask[column] == 0)
            continue;
        double sum = 0;
        for (const double score : std::span(scores).subspan(column * classes, classes))
        {
            if (!(score >= 0))
                return false;
            sum += score;
        }
        if (std::abs(sum - 1) > c_tolerance)
            return false;
    }
    return true;
}

} // namespace

ConfusionCounts::ConfusionCounts(std::string node, size_t classes, std::vector<std::string> names)
    : m_node(std::move(node)), m_names(std::move(names)), m_ofLabel(classes), m_ofPrediction(classes)
{
}

void ConfusionCounts::Add(size_t label, size_t predicted)
{
    ++m_counts[{label, predicted}];
    ++m_ofLabel.at(label);
    ++m_ofPrediction.at(predicted);
    ++m_samples;
    m_correct += label == predicted ? 1 : 0;
}

std::string ConfusionCounts::NameOf(size_t index) const
{
    return index < m_names.size() ? m_names[index] : std::to_string(index);
}

size_t ConfusionCounts::Count(size_t label, size_t predicted) const
{
    const auto found = m_counts.find({label, predicted});
    return found == m_counts.end() ? 0 : found->second;
}

std::optional<double> ConfusionCounts::Precision(size_t index) const
{
    if (m_ofPrediction[index] == 0)
        return {};
    return double(Count(index, index)) / double(m_ofPrediction[index]);
}

std::optional<double> ConfusionCounts::Recall(size_t index) const
{
    if (m_ofLabel[index] == 0)
        return {};
    return double(Count(index, index)) / double(m_ofLabel[index]);
}

std::optional<double> ConfusionCounts::F1(size_t index) const
{
    const size_t both = m_ofLabel[index] + m_ofPrediction[index];
    if (both == 0)
        return {};
    return 2.0 * double(Count(index, index)) / double(both);
}

std::vector<ConfusionCounts::Pair> ConfusionCounts::Pairs() const
{
    std::vector<Pair> pairs;
    for (const auto& [classes, count] : m_counts)
        pairs.push_back({classes.first, classes.second, count});
    return pairs;
}

std::vector<ConfusionCounts::Pair> ConfusionCounts::MostFrequentErrors(size_t most) const
{
    std::vector<Pair> pairs = Pairs();
    std::erase_if(pairs, [](const Pair& pair) { return pair.label == pair.predicted; });
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.count > b.count; });
    pairs.resize(std::min(pairs.size(), most));
    return pairs;
}

bool ClassificationRecorder::CanRecord(const ComputationNode& node)
{
    return node.TypeName() == "ErrorPrediction" && node.InputCount() == 2 && node.Inputs()[1]->SampleElements() > 1;
}

ClassificationRecorder::ClassificationRecorder(ComputationNodePtr node, const std::vector<StreamInfo>& streams)
    : m_node(std::move(node)),
      m_counts(m_node->Name(), m_node->Inputs()[1]->SampleElements(), ClassNames(*m_node->Inputs()[0], streams))
{
}

void ClassificationRecorder::AddMinibatch(const std::vector<std::string>& sequenceKeys)
{
    const ComputationNode& prediction = *m_node->Inputs()[1];
    const MBLayoutPtr layout = prediction.GetMBLayout();
    m_labels = LargestRows(*m_node->Inputs()[0]);
    m_predicted = LargestRows(prediction);
    if (m_visit)
    {
        Matrix scores(0, 0, prediction.Value().type, prediction.GetDevice());
        scores.CopyFrom(prediction.Value());
        m_scores = scores.ToHost();
        m_areProbabilities = HoldsProbabilities(m_scores, m_counts.Classes(),
                                                layout != nullptr ? layout->ColumnMask() : std::vector<uint8_t>());
    }
    const auto keyOf = [&](size_t id)
    { return id < sequenceKeys.size() ? std::string_view(sequenceKeys[id]) : std::string_view(); };
    if (layout == nullptr || layout->IsFrameMode())
    {
        for (size_t column = 0; column < m_predicted.size(); ++column)
            AddSample(column, keyOf(column));
        return;
    }
    for (const SequenceInfo& sequence : layout->Sequences())
    {
        if (sequence.id == SequenceInfo::c_gap)
            continue;
        const ptrdiff_t end = std::min<ptrdiff_t>(sequence.end, ptrdiff_t(layout->TimeSteps()));
        for (ptrdiff_t time = std::max<ptrdiff_t>(sequence.begin, 0); time < end; ++time)
            AddSample(size_t(time) * layout->ParallelSequences() + sequence.row, keyOf(sequence.id));
    }
}

void ClassificationRecorder::AddSample(size_t column, std::string_view sequence)
{
    const auto label = size_t(m_labels[column]), predicted = size_t(m_predicted[column]);
    m_counts.Add(label, predicted);
    if (m_visit)
        m_visit({label, predicted, ProbabilityIn(column), sequence});
}

double ClassificationRecorder::ProbabilityIn(size_t column) const
{
    const size_t classes = m_counts.Classes();
    const double* const scores = m_scores.data() + column * classes;
    const double best = scores[size_t(m_predicted[column])];
    if (m_areProbabilities)
        return best;
    double sum = 0;
    for (size_t i = 0; i < classes; ++i)
        sum += std::exp(scores[i] - best);
    return 1 / sum;
}

} // namespace cntk
