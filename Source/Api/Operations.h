// The operations of the symbolic graph (sheet 6.2, 7.3, 7.4). Each function returns a record that many nodes may share.
#pragma once

#include "Api/Operation.h"

#include <optional>
#include <string>
#include <vector>

namespace cntk::Api
{

// A node type of the registry with its own parameters and shapes (sheet 6.5).
OperationPtr EngineOperation(const std::string& type, const std::vector<std::pair<std::string, std::string>>& options);

// ---- Operations/ElementwiseOperations.cpp ----

// A node type that computes element by element from one operand (Sigmoid, Tanh, ..), or copies it (Pass).
OperationPtr Unary(const std::string& type);
// Plus, Minus or ElementTimes with numpy's broadcasting.
OperationPtr Binary(const std::string& type);
OperationPtr Divide();
OperationPtr Square();
// In training sessions sets a share `rate` of the elements to 0 and scales the others by 1 / (1 - rate).
OperationPtr Dropout(double rate);
// Stands for all its operands, which may have different axes. Its own value is that of the first one.
OperationPtr Combine();
inline constexpr const char* c_combine = "Combine"; // its type name

// ---- Operations/ProductOperations.cpp ----

// Contracts the last axes of the left operand with the first axes of the right one, as numpy's tensordot (sheet 6.3).
OperationPtr Times(size_t outputRank);

// ---- Operations/ShapeOperations.cpp ----

// Softmax, LogSoftmax or Hardmax along an axis.
OperationPtr AlongAxis(const std::string& type, long axis);
enum class Reduction
{
    Sum,
    Mean
};
// Without axes all of them. keepDimensions: a reduced axis stays with the dimension 1.
OperationPtr Reduce(Reduction reduction, std::optional<std::vector<long>> axes, bool keepDimensions);
// One dimension may be -1 and follows from the others.
OperationPtr Reshape(std::vector<long> shape);
// Without a permutation reverses the axes.
OperationPtr Transpose(std::optional<std::vector<long>> permutation);
OperationPtr SwapAxes(long axis1, long axis2);
struct AxisRange
{
    long axis = 0;
    std::optional<long> begin, end; // negative numbers count from the end
};
OperationPtr Slice(std::vector<AxisRange> ranges);
OperationPtr Splice(long axis);

// ---- Operations/SequenceOperations.cpp ----

// PastValue or FutureValue. target: the name of the node that is delayed; empty: the operand.
OperationPtr Delay(const std::string& type, double initialState, size_t timeStep, std::string target);
OperationPtr Reconcile();
// is_first, is_last, first, last, where, gather, scatter, broadcast_as, reduce_sum or reduce_mean.
OperationPtr SequenceOperation(const std::string& name);

// ---- Operations/WindowOperations.cpp ----

// Operands: kernels (outputs, channels, ..) and an image (channels, ..). Strides and paddings: one, or one for each
// axis.
OperationPtr Convolution(std::vector<size_t> strides, std::vector<bool> padding);
// kind: max or average.
OperationPtr Pooling(const std::string& kind, std::vector<size_t> window, std::vector<size_t> strides,
                     std::vector<bool> padding);
OperationPtr CosineDistance();

// ---- Operations/CriterionOperations.cpp ----

OperationPtr CrossEntropyWithSoftmax(); // operands: output, target
OperationPtr SquaredError();
OperationPtr ClassificationError(size_t topN); // operands: output, target
OperationPtr SumOfElements();

} // namespace cntk::Api
