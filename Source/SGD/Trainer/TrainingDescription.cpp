#include "SGD/Trainer/TrainingDescription.h"

#include "ComputationNetwork/Files/NetworkReport.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

namespace cntk
{

namespace
{

size_t TrainedElements(const ComputationNode& node)
{
    const auto* const parameter = As<LearnableParameterNode>(&node);
    return parameter != nullptr && node.IsTrainableLeaf() ? parameter->Values().Elements() : 0;
}

NodeAverage Described(const ComputationNode& node, bool isCriterion)
{
    return {node.Name(), node.TypeName(), 0, isCriterion};
}

} // namespace

size_t ParametersOf(const ComputationNetwork& network)
{
    size_t parameters = 0;
    for (const ComputationNodePtr& node : network.Nodes())
        parameters += TrainedElements(*node);
    return parameters;
}

TrainingBegin DescribeTraining(const TrainingSetup& setup, const ResumePoint& start, bool isResumed)
{
    TrainingBegin training;
    training.modelPath = setup.files.FinalModel();
    training.maxEpochs = setup.options.maxEpochs;
    training.epochsDone = start.epochsDone;
    training.minibatchesDone = start.within ? start.within->minibatches : 0;
    training.isResumed = isResumed;
    if (isResumed && !start.within)
        training.resumedModel = setup.files.Model(start.epochsDone);
    training.isValidated = setup.cvSource != nullptr;
    training.samplesSeen = start.checkpoint ? size_t(start.checkpoint->info.samplesSeen) : 0;
    training.device = setup.Network().GetDevice().Describe();
    training.criterion = Described(*setup.nodes.criterion, true);
    for (const ComputationNodePtr& node : setup.nodes.evaluations)
        training.evaluations.push_back(Described(*node, false));
    for (const ComputationNetwork* const network : setup.networks)
        for (const ComputationNodePtr& node : network->Nodes())
        {
            NodeLine line{node->Name(), node->TypeName(), {}, ShapeInWords(*node), TrainedElements(*node)};
            for (const ComputationNodePtr& input : node->Inputs())
                line.inputs.push_back(input->Name());
            training.network.push_back(std::move(line));
        }
    return training;
}

} // namespace cntk
