// Operations whose values and gradients the front computes (sheet 10.2).
#pragma once

#include "Api/Operation.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk::Api
{

// Values of one operand or result: [columns, *shape] in C order, the samples of all sequences one after another.
struct HostColumns
{
    Shape shape;
    DataType type = DataType::Float32;
    bool hasAxis = false;
    size_t columns = 1;
    std::vector<std::byte> values;
};

class UserFunctionBody
{
public:
    virtual ~UserFunctionBody() = default;
    virtual std::string Name() const = 0;
    virtual Shape InferShape(const std::vector<Shape>& shapes) = 0;
    // Sets result.values, whose form is given.
    virtual void Forward(const std::vector<HostColumns>& operands, HostColumns& result) = 0;
    // Sets the gradients of the operands, whose forms are given; an operand without gradient gets no values.
    virtual void Backward(const HostColumns& gradient, const std::vector<HostColumns>& operands,
                          std::vector<HostColumns>& gradients) = 0;
};

// Stands for an operand in the validation of a single node: shape and layout without memory.
class StandInNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference&) override {}
    void ForwardProp(const FrameRange&) override {}
    void Set(const TensorShape& shape, MBLayoutPtr layout) { SetShape(shape, std::move(layout)); }
};

OperationPtr UserFunction(std::shared_ptr<UserFunctionBody> body);
// True for an operation that no file can hold.
bool IsUserFunction(const Operation& operation);

// The standard node types and those that only lowered graphs have.
const NodeRegistry& GraphRegistry();

} // namespace cntk::Api
