// The plane of the two features of a small classifier: where it predicts which class, and where the samples lie.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/RunListener.h"

#include <optional>

namespace cntk
{

class FeaturePlane
{
public:
    // Returns a plane if the prediction of the classifier (an ErrorPrediction) depends on a single dense input, of two
    // elements, and keeps no state.
    static std::optional<FeaturePlane> Of(ComputationNetwork& network, const ComputationNodePtr& classifier);

    const ComputationNodePtr& Features() const { return m_features; }
    // Adds the samples of the minibatch in the network.
    void AddMinibatch();
    // Evaluates the network on a grid over the samples' range. None without samples, or if they have no extent.
    std::optional<ClassRegions> Evaluate();

private:
    FeaturePlane(ComputationNetwork& network, ComputationNodePtr classifier, ComputationNodePtr features)
        : m_network(&network), m_classifier(std::move(classifier)), m_features(std::move(features))
    {
    }
    bool SetRange();

    ComputationNetwork* m_network;
    ComputationNodePtr m_classifier;
    ComputationNodePtr m_features;
    ClassRegions m_regions;
};

} // namespace cntk
