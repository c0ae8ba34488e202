// Runs a network on minibatches: binds memory as the memory plan says, then walks forward and backward along the steps.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/GradientUpdates.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cntk
{

class BackwardPass;
class BoundMemory;
class InputValueNode;
class LearnableParameterNode;
class Step;

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
    const std::vector<std::shared_ptr<LearnableParameterNode>>& Parameters() const { return m_parameters; }

    const EvaluationPlan& Plan() const { return m_plan; }
    const MemoryPlan& Memory() const { return m_memory; }
    size_t BytesAllocated() const;

private:
    // Passes that a device captures and repeats.
    struct CapturedPasses;
    class CapturedForward;
    class CapturedBackward;

    void MakeSteps();
    void CollectLeaves();
    bool IsReadAsSparse(const InputValueNode& input) const;
    void PrepareCapture();
    void Bind();
    void MakeLayout(ComputationNode& maker);
    void CheckInputs() const;
    void RunForwardSteps();
    void RunBackwardSteps();
    void Backward(const ComputationNodePtr& root, bool accumulate, GradientUpdates* updates);

    ComputationNetwork& m_network;
    EvaluatorOptions m_options;
    EvaluationPlan m_plan;
    MemoryPlan m_memory;
    uint64_t m_structureVersion;
    std::vector<ComputationNodePtr> m_nodes;
    std::vector<InputValueNode*> m_inputs;
    std::vector<InputValueNode*> m_inputsReadAsSparse; // dense inputs whose dense form has no reader
    std::vector<std::shared_ptr<LearnableParameterNode>> m_parameters;
    Buffer m_panels;                            // packed weights of the current loop
    std::vector<std::unique_ptr<Step>> m_steps; // one for each step of the plan
    std::unique_ptr<BackwardPass> m_backwardPass;
    std::unique_ptr<BoundMemory> m_bound;
    bool m_isBound = false;
    std::vector<const MBLayout*> m_layoutsToMake; // layouts whose nodes have not run yet
    std::unique_ptr<CapturedPasses> m_captured;   // null: the device repeats neither pass
};

} // namespace cntk
