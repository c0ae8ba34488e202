// A network in double on the CPU with node types of the tests' own: delays, which make loops, and a criterion whose
// gradient differs from element to element, so that symmetric mistakes show.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cntk::Testing
{

// The standard types, and: TestDelay and TestDelayFromFuture by one step with initial value 0.1; TestCriterion, the sum
// of c_ij x_ij^2 / 2 over columns with data, all c_ij different; TestOpaque, a copy without gradient; TestWhole, a copy
// that wants the whole minibatch at once.
const NodeRegistry& TestRegistry();

struct TestNetwork
{
    explicit TestNetwork(DataType type = DataType::Float64, std::shared_ptr<Device> device = nullptr);

    ComputationNodePtr Parameter(const std::string& name, const TensorShape& shape); // reproducible values in +-1
    ComputationNodePtr Input(const std::string& name, const TensorShape& shape);
    ComputationNodePtr Add(const std::string& type, const std::string& name, std::vector<ComputationNodePtr> inputs)
    {
        return network.Add(type, name, std::move(inputs));
    }

    // The default layout: frame mode, or sequences of these lengths side by side with gaps behind the short ones.
    void SetFrames(size_t samples);
    void SetSequences(const std::vector<size_t>& lengths);
    // Reproducible values in +-1 for all inputs, of the layout's size; gaps hold NaN.
    void FillInputs(unsigned seed = 1);

    ComputationNetwork network;
};

// With the checks of the plan, and memory that is not a number where nothing was written.
EvaluatorOptions Checked(bool training);
EvaluatorOptions Training(bool fuse); // the same for training, with or without steps that merge nodes
void SetInput(const ComputationNodePtr& node, const std::vector<double>& values);
std::vector<double> SomeData(size_t count); // reproducible values in +-1
// Element by element, in parts of 1 + what is expected.
void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance = 1e-12);
// Those of all parameters with central differences.
void ExpectGradientsAgree(Evaluator& evaluator, const ComputationNodePtr& criterion);

std::vector<double> ValueOf(const ComputationNodePtr& node);
std::vector<double> GradientOf(const ComputationNodePtr& node);
std::vector<double> HostCopy(const MatrixView& view);

// The message of the Error that body throws; "" if it throws none.
std::string MessageOf(const std::function<void()>& body);
std::string ValidationMessage(TestNetwork& net);
// The whole report: notes and message.
std::string ReportOf(const std::function<void()>& body);

} // namespace cntk::Testing
