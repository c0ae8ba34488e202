// Labels and predicted classes of evaluated samples, and the counts of a confusion matrix.
#pragma once

#include "Common/ReaderInterface.h"
#include "ComputationNetwork/ComputationNode.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cntk
{

// Numbers of samples by label and predicted class.
class ConfusionCounts
{
public:
    struct Pair
    {
        size_t label = 0;
        size_t predicted = 0;
        size_t count = 0;

        bool operator==(const Pair&) const = default;
    };

    // node: the ErrorPrediction that counts the errors. names: of the classes; without a name a class is its number.
    ConfusionCounts(std::string node, size_t classes, std::vector<std::string> names);

    void Add(size_t label, size_t predicted);

    const std::string& Node() const { return m_node; }
    size_t Classes() const { return m_ofLabel.size(); }
    std::string NameOf(size_t index) const;
    size_t Count(size_t label, size_t predicted) const;
    size_t OfLabel(size_t label) const { return m_ofLabel[label]; }
    size_t OfPrediction(size_t predicted) const { return m_ofPrediction[predicted]; }
    size_t Samples() const { return m_samples; }
    size_t Correct() const { return m_correct; }
    double Accuracy() const { return m_samples == 0 ? 0 : double(m_correct) / double(m_samples); }
    // Share of the samples predicted as this class that have its label; none if the class is never predicted.
    std::optional<double> Precision(size_t index) const;
    // Share of the samples with this label that are predicted as the class; none if no sample has the label.
    std::optional<double> Recall(size_t index) const;
    // Harmonic mean of precision and recall: 2 correct / (labels + predictions). None if both are 0.
    std::optional<double> F1(size_t index) const;
    // All pairs with samples, in ascending order of labels and predictions.
    std::vector<Pair> Pairs() const;
    // The most frequent pairs of different classes; equally frequent ones in ascending order.
    std::vector<Pair> MostFrequentErrors(size_t most) const;

private:
    std::string m_node;
    std::vector<std::string> m_names;
    std::map<std::pair<size_t, size_t>, size_t> m_counts;
    std::vector<size_t> m_ofLabel;
    std::vector<size_t> m_ofPrediction;
    size_t m_samples = 0;
    size_t m_correct = 0;
};

struct ClassifiedSample
{
    size_t label = 0;
    size_t predicted = 0;
    double probability = 0;      // of the predicted class
    std::string_view sequence{}; // the reader's key; empty if the reader has none
};

// Reads labels and predictions of an ErrorPrediction node from the network after each forward pass.
class ClassificationRecorder
{
public:
    // True for an ErrorPrediction of two classes or more without topK.
    static bool CanRecord(const ComputationNode& node);

    // streams: of the reader, for the names of the classes.
    ClassificationRecorder(ComputationNodePtr node, const std::vector<StreamInfo>& streams);

    // Values that the evaluator must keep.
    std::vector<ComputationNodePtr> NodesToKeep() const { return {m_node->Inputs()[0], m_node->Inputs()[1]}; }
    // Calls visit for each sample from now on: samples of a sequence one after another, gaps left out. The probability
    // is the softmax of the prediction. A minibatch of predictions that are not negative and have the sum 1 already
    // holds probabilities.
    void Visit(std::function<void(const ClassifiedSample&)> visit) { m_visit = std::move(visit); }
    // Adds the minibatch in the network.
    void AddMinibatch(const std::vector<std::string>& sequenceKeys);

    const ConfusionCounts& Counts() const { return m_counts; }

private:
    void AddSample(size_t column, std::string_view sequence);
    double ProbabilityIn(size_t column) const;

    ComputationNodePtr m_node;
    ConfusionCounts m_counts;
    std::function<void(const ClassifiedSample&)> m_visit;
    // Values of the current minibatch.
    std::vector<double> m_labels;
    std::vector<double> m_predicted;
    std::vector<double> m_scores; // classes x samples; only if m_visit is set
    bool m_areProbabilities = false;
};

} // namespace cntk
