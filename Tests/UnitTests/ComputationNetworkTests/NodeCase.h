// A gradient sample of a node type as a network: the node twice over the same inputs, under a criterion that weights
// each of its elements differently. Gaps of everything that is data hold NaN, or numbers, so that a sum over them
// shows.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace cntk::Testing
{

enum class Layout
{
    Frames, // four samples
    Ragged, // sequences of 4, 2, 3 and 1 steps in three rows, with gaps that hold NaN
    Dirty,  // the same, gaps hold numbers
    Empty   // no sample
};

class NodeCase
{
public:
    NodeCase(const NodeType& type, const GradientSample& sample, Layout layout, DataType dataType,
             std::shared_ptr<Device> device, const NodeRegistry& registry = NodeRegistry::Standard());

    ComputationNetwork& Network() { return *m_network; }
    const ComputationNodePtr& Node() const { return m_node; }
    const ComputationNodePtr& Criterion() const { return m_criterion; }
    // The inputs of the node: parameters, inputs, or products that pick a parameter's columns as samples.
    const std::vector<ComputationNodePtr>& Inputs() const { return m_inputs; }
    // The parameters behind the inputs whose gradients the sample wants checked.
    const std::vector<std::shared_ptr<LearnableParameterNode>>& Sources() const { return m_sources; }
    // A minibatch without gaps, or anything that is no minibatch, has an empty mask.
    const std::vector<uint8_t>& Mask() const { return m_network->Layout()->ColumnMask(); }

    EvaluatorOptions Options() const;
    double CriterionValue() const { return Ops::ScalarOf(m_criterion->Value()); }
    // The node's value; gap columns read 0.
    std::vector<double> NodeValue() const;
    std::vector<double> Gradient(size_t source) const;

private:
    ComputationNodePtr AddInput(size_t index, const GradientSample::Input& described);
    ComputationNodePtr AddData(const std::string& name, const TensorShape& shape, const std::vector<double>& values,
                               bool sparse);
    ComputationNodePtr AddWeighted(const ComputationNodePtr& node, const std::string& name);
    std::vector<double> Draw(const GradientSample::Input& described, size_t rows, size_t columns);
    double Number(double low, double high) { return std::uniform_real_distribution<double>(low, high)(m_random); }
    void SetLayout(Layout layout);
    static void FillGaps(std::vector<double>& values, const std::vector<uint8_t>& mask, size_t rows, double garbage);

    const NodeType* m_type;
    const GradientSample* m_sample;
    double m_garbage;
    std::mt19937 m_random{12345};
    std::shared_ptr<Device> m_device;
    std::unique_ptr<ComputationNetwork> m_network;
    std::vector<ComputationNodePtr> m_inputs;
    std::vector<std::shared_ptr<LearnableParameterNode>> m_sources;
    ComputationNodePtr m_node;
    ComputationNodePtr m_criterion;
};

// "Times, sample 3, Ragged": for SCOPED_TRACE.
std::string Describe(const NodeType& type, size_t sample, Layout layout);

} // namespace cntk::Testing
