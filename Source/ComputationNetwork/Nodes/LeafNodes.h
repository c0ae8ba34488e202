// The leaves: LearnableParameter, InputValue, SparseInputValue (spec nodes.md 3). The one family with a header, since
// the learner, the readers' binding and the builders must reach them.
#pragma once

#include "ComputationNetwork/ComputationNode.h"

#include <cstdint>
#include <string>

namespace cntk
{

class LearnableParameterNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference&) override;
    void ForwardProp(const FrameRange&) override {}
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override; // rows, cols, init, value, initValueScale, ...
    std::string DescribeFields() const override;
    bool IsTrainableLeaf() const override { return m_learningRateMultiplier > 0; }
    bool OwnsValue() const override { return true; }

    // Zero dimensions are inferred later; inferring sets the values to 0 unless an initialisation is pending.
    void SetParameterShape(const TensorShape& shape);
    Matrix& Values() { return m_values; }
    const Matrix& Values() const { return m_values; }
    float LearningRateMultiplier() const { return m_learningRateMultiplier; }
    void SetLearningRateMultiplier(float multiplier) { m_learningRateMultiplier = multiplier; }

    // Initialisation (spec engine-and-sgd.md 14): +-0.05*scale uniform; 0.2*scale/sqrt(columns) Gaussian.
    void InitUniform(uint64_t seed, double initValueScale);
    void InitGaussian(uint64_t seed, double initValueScale);
    void InitFixed(double value);
    void InitFromFile(const std::string& path); // text, one matrix row a line

private:
    Matrix m_values;
    float m_learningRateMultiplier = 1;
};

class InputValueNode final : public ComputationNode
{
public:
    explicit InputValueNode(bool sparse = false) : m_isSparseInput(sparse) {}
    void InferShape(ShapeInference&) override;
    void ForwardProp(const FrameRange&) override {}
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override; // rows, cols
    bool OwnsValue() const override { return true; }

    bool IsSparseInput() const { return m_isSparseInput; }
    void SetSampleShape(const TensorShape& shape);
    const std::string& DynamicAxis() const { return m_dynamicAxis; }
    void SetLayout(MBLayoutPtr layout); // the network's layout of this node's dynamic axis

    // The reader's data, host memory, SampleElements() x columns. A dense batch for a sparse input (and the reverse) is
    // converted.
    template <class ElemType>
    void SetDense(const ElemType* values, size_t rows, size_t columns);
    template <class ElemType>
    void SetSparse(const ElemType* values, const int32_t* rowIndices, const int32_t* columnStarts, size_t rows,
                   size_t columns);

private:
    bool m_isSparseInput;
    std::string m_dynamicAxis;
    Matrix m_dense;
    SparseMatrix m_sparseValues;
};

} // namespace cntk
