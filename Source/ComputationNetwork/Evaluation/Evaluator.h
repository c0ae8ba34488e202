// Runs a network on minibatches: binds memory as the plans say, then forward and backward along the list of steps.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Evaluation/GradientUpdates.h"
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
    // False: each value keeps its own memory. That never changes results, so that shareNodeValueMatrices of configs is
    // not asked about.
    bool shareMemory = true;
    // Values that must be readable after Forward besides the roots.
    std::vector<ComputationNodePtr> keepValues;
    ComputationNodePtr backwardRoot; // what Backward starts from; null: the last root
    bool fuse = true;                // false: node by node; no chains in one pass, no products of loops together
};

class Evaluator
{
public:
    // Roots are computed by Forward in the order given (evaluation nodes before the criterion, as the original).
    // The network must be validated and must not change in structure while the evaluator lives.
    Evaluator(ComputationNetwork& network, std::vector<ComputationNodePtr> roots, const EvaluatorOptions& options = {});
    ~Evaluator();

    // Call after the input nodes got their data and the layouts their shape. Allocates only when a larger minibatch
    // than ever arrives.
    void Forward();
    // From root (1x1), which must be the planned backward root: sets its gradient to 1, all parameter gradients below
    // to 0, and back-propagates. updates: who may update parameters on the way, where the device can; of these the
    // gradient is then not kept unless the update says so. Null: nobody.
    void Backward(const ComputationNodePtr& root, GradientUpdates* updates = nullptr);
    // The same, but adds to the parameter gradients of the Backward before (parts of one minibatch).
    void BackwardAccumulate(const ComputationNodePtr& root);
    // The gradients of parameters have memory, even before the first minibatch.
    void BindGradients();

    // Of an evaluator made for training: whether Forward computes as in training, which is how it begins, or as in a
    // test: statistics are used and not collected. Dropout goes on, as its rate says.
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
