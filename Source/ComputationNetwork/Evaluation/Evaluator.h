// Runs a network on minibatches: binds memory as the memory plan says, then walks forward and backward along the steps.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"

#include <memory>
#include <vector>

namespace cntk
{

class LearnableParameterNode;

struct EvaluatorOptions
{
    bool training = false;     // gradients and backward memory are planned
    bool checkPlan = false;    // run the independent plan checker (debug builds and tests do)
    bool frameByFrame = false; // tests: run every node step by step
    bool poisonMemory = false; // tests: fill buffers with NaN before use
    // False: each value has its own memory. Sharing never changes results, so the option shareNodeValueMatrices has no
    // effect.
    bool shareMemory = true;
    // Values that must be readable after Forward, besides the roots.
    std::vector<ComputationNodePtr> keepValues;
    ComputationNodePtr backwardRoot; // where Backward starts; null: the last root
    bool fuse = true;                // false: node by node; no fused operations and no joint products of loops
};

class Evaluator
{
public:
    // Forward computes the roots in the given order (evaluation nodes before the criterion, same as CNTK v1.1). The
    // network must be validated, and its structure must not change while the evaluator lives.
    Evaluator(ComputationNetwork& network, std::vector<ComputationNodePtr> roots, const EvaluatorOptions& options = {});
    ~Evaluator();

    // Computes the roots. Call after the input nodes got their data and the layouts their shape. Allocates memory only
    // if the minibatch is larger than all before.
    void Forward();
    // Sets the gradient of root (1x1, the planned backward root) to 1 and all parameter gradients below to 0, then
    // back-propagates. updates: the receiver that may update parameters during the pass, where the device can; null:
    // none. The gradient of an updated parameter is not kept unless the update asks for it.
    void Backward(const ComputationNodePtr& root, GradientUpdates* updates = nullptr);
    // Like Backward, but adds to the parameter gradients of the previous Backward (parts of one minibatch).
    void BackwardAccumulate(const ComputationNodePtr& root);
    // Gives the gradients of parameters memory, even before the first minibatch.
    void BindGradients();

    // Switches an evaluator built for training between training mode (the default) and test mode, which uses statistics
    // without updating them. Dropout depends on its rate alone.
    void SetTraining(bool isTraining);

    // Trainable parameters below the backward root, in case-sensitive order of names (the update and checkpoint order).
    const std::vector<std::shared_ptr<LearnableParameterNode>>& Parameters() const;

    const EvaluationPlan& Plan() const;
    const MemoryPlan& Memory() const;
    size_t BytesAllocated() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace cntk
