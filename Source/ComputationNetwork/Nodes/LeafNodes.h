// The leaves: LearnableParameter, InputValue, SparseInputValue. The learner, the readers' binding and the builders may
// use these classes directly, unlike those of other families.
#pragma once

#include "ComputationNetwork/ComputationNode.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

class LearnableParameterNode final : public ComputationNode
{
public:
    static constexpr NodeKind c_kind = NodeKind::Parameter;
    void InferShape(ShapeInference& inference) override;
    void ForwardProp(const FrameRange&) override {}
    void BeginForwardProp() override { ViewValues(); }
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override; // rows, cols, init, value, initValueScale, ...
    std::string DescribeFields() const override;
    bool IsTrainableLeaf() const override { return m_learningRateMultiplier > 0; }
    void InferDimensions(const TensorShape& expected) override;

    // Sets the shape. Zero dimensions are inferred later; inferring sets the values to 0 unless an initialisation is
    // pending. Values are kept if the size of their matrix does not change ([M x N] becomes [M x 1 x 1 x N]).
    void SetParameterShape(const TensorShape& shape);
    Matrix& Values() { return *m_values; }
    const Matrix& Values() const { return *m_values; }
    // The storage of the values. Parameters of several networks can share it if their devices compute in host memory or
    // are the same: an update through one of them changes all. The storage keeps its size, and its device must outlive
    // it.
    const std::shared_ptr<Matrix>& Storage() const { return m_values; }
    // Replaces the values by a storage that other parameters may share. A change of the shape that needs another matrix
    // size, or loading, gives this parameter a storage of its own again. Fails (Internal) if the storage has another
    // element type, device or size than the shape's matrix.
    void ShareStorage(std::shared_ptr<Matrix> storage, const TensorShape& shape);
    float LearningRateMultiplier() const { return m_learningRateMultiplier; }
    void SetLearningRateMultiplier(float multiplier) { m_learningRateMultiplier = multiplier; }

    // Initialise the values: uniform +-0.05*scale; Gaussian 0.2*scale/sqrt(columns). With unknown dimensions,
    // initialisation waits until they are known.
    void InitUniform(uint64_t seed, double initValueScale);
    void InitGaussian(uint64_t seed, double initValueScale);
    void InitFixed(double value);
    void InitFromFile(const std::string& path); // text, one matrix row a line; the file sets zero dimensions

private:
    struct Initialization
    {
        enum class Kind
        {
            Uniform,
            Gaussian,
            Fixed
        };
        Kind kind;
        uint64_t seed;
        double number; // the scale, or the fixed value
    };
    void Initialize(const Initialization& initialization);
    void SetInitialization(const NodeParameters& parameters);
    void InferFromFileSize(size_t rows, size_t columns);
    void LoadOldShape(ModelArchive& archive, TensorShape& shape);
    void ViewValues(); // for operations of this node's device

    std::shared_ptr<Matrix> m_values = std::make_shared<Matrix>(); // never null
    float m_learningRateMultiplier = 1;
    std::optional<Initialization> m_pending;
};

// A name shared by inputs with the same minibatch layout. Its value, a zero for each column, is unused.
class DynamicAxisNode final : public ComputationNode
{
public:
    static constexpr NodeKind c_kind = NodeKind::DynamicAxis;
    void InferShape(ShapeInference&) override {}
    void ForwardProp(const FrameRange& range) override { Ops::Fill(Value(range), 0); }
    void SetLayout(MBLayoutPtr layout) { SetShape(TensorShape{1}, std::move(layout)); }
};

// A property of the evaluation as a number: isTraining is 1 while a network is trained, else 0.
class EnvironmentInputNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference&) override { SetScalarShape(); }
    void ForwardProp(const FrameRange&) override { Ops::Fill(Value(), m_isTraining ? 1 : 0); }
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override;

private:
    std::string m_property = "isTraining";
};

class InputValueNode final : public ComputationNode
{
public:
    static constexpr NodeKind c_kind = NodeKind::Input;
    explicit InputValueNode(bool sparse = false) : m_isSparseInput(sparse) {}
    void InferShape(ShapeInference& inference) override;
    void ForwardProp(const FrameRange&) override {}
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override; // rows, cols, dims, dynamicAxis
    std::string DescribeFields() const override;

    bool IsSparseInput() const { return m_isSparseInput; }
    // True: a backward pass computes the gradient of the data, as for a trained parameter. Default: false. Set before
    // an evaluator is made.
    void SetTakesGradient(bool takesGradient) { m_takesGradient = takesGradient; }
    bool IsTrainableLeaf() const override { return m_takesGradient; }
    void SetSampleShape(const TensorShape& shape);
    const std::string& DynamicAxis() const { return m_dynamicAxis; }
    void SetLayout(MBLayoutPtr layout); // the network's layout of this node's dynamic axis

    // Sets the reader's data: host memory, SampleElements() x columns. A dense batch for a sparse input (and the
    // reverse) is converted. Where the device computes in host memory, a sparse batch for a dense input is kept in both
    // forms.
    template <class ElemType>
    void SetDense(const ElemType* values, size_t rows, size_t columns);
    // Like SetDense, but does not copy if the device computes in host memory and the types agree. The values must then
    // stay unchanged until the next call.
    template <class ElemType>
    void ReferToDense(const ElemType* values, size_t rows, size_t columns);
    template <class ElemType>
    void SetSparse(const ElemType* values, const int32_t* rowIndices, const int32_t* columnStarts, size_t rows,
                   size_t columns);
    // If true, nobody reads the dense form of sparse batches, and it is made only on request. Default: false.
    void ReadAsSparse(bool isReadAsSparse);

private:
    void CheckRows(size_t rows) const;
    // Copies all values of a minibatch, columns * rows of them, in the node's element type.
    void TakeDense(const void* values, size_t columns);

    template <class ElemType>
    void TakeSparse(const ElemType* values, std::span<const int32_t> rowIndices, std::span<const int32_t> columnStarts);
    void MakeDense();

    bool m_isSparseInput;
    bool m_takesGradient = false;
    bool m_isReadAsSparse = false;
    bool m_denseIsMissing = false;
    std::string m_dynamicAxis;
    Matrix m_dense;
    SparseMatrix m_sparseValues;
    // Host memory for conversions, kept to avoid allocations in later minibatches.
    std::vector<std::byte> m_hostValues;
    std::vector<int32_t> m_hostRows;
    std::vector<int32_t> m_hostStarts;
};

struct TextMatrix
{
    size_t rows = 0;
    size_t columns = 0;
    std::vector<double> values; // column-major
};

// Reads numbers separated by white space, including infinite ones (inf, 1#INF). Ignores empty lines. All rows must have
// the same length. Errors (Data) name the file, the line and the text found.
TextMatrix ReadTextMatrix(const std::string& path);

} // namespace cntk
