// The base class of every node (book 2.1, 5.2). A node describes its shape, computes its value and passes gradients to
// its inputs. It never allocates and never knows the plan. The evaluator binds its value, gradient and temporaries to
// memory.
#pragma once

#include "Common/MBLayout.h"
#include "ComputationNetwork/NodeType.h"
#include "Math/Matrix.h"
#include "Math/Operations.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class GradientUpdates; // ComputationNetwork/GradientUpdates.h
struct Product;        // Math/Products.h

class ComputationNetwork;
class ComputationNode;
class DerivedLayouts;
class ModelArchive; // ModelArchive.h: the model file, one function for both directions
using ComputationNodePtr = std::shared_ptr<ComputationNode>;

// Passes information to the nodes while the network is validated, and says whether shape errors are to be reported.
class ShapeInference
{
public:
    explicit ShapeInference(bool isFinalPass, DerivedLayouts* layouts = nullptr)
        : m_isFinalPass(isFinalPass), m_layouts(layouts)
    {
    }
    // Passes repeat until nothing changes. Only the final pass may report errors.
    bool IsFinalPass() const { return m_isFinalPass; }
    // Returns the network's layout with multiply / divide times as many steps as the source (DerivedLayouts.h).
    MBLayoutPtr DerivedLayout(const MBLayoutPtr& source, size_t multiply, size_t divide);

private:
    bool m_isFinalPass;
    DerivedLayouts* m_layouts;
};

// Memory that a node needs besides its value: "rows x (minibatch columns)" or a fixed size. The evaluator binds it.
struct TemporarySpec
{
    enum class Lifetime
    {
        Forward,        // only inside one ForwardProp call
        ForwardBackward // from ForwardProp to the last BackpropTo
    };
    size_t rows = 0;         // per column
    size_t fixedColumns = 0; // 0: as many columns as the minibatch of the node's (or layoutOfInput's) layout
    int layoutOfInput = -1;  // -1: the node's own layout; else columns of that input's value
    Lifetime life = Lifetime::ForwardBackward;
    // Input whose value this temporary has the form of, or -1. Where GradientBeta() is 0, BackpropTo can replace the
    // temporary by the input's gradient in the same memory. Nothing reads the temporary after that.
    int gradientOfInput = -1;
    // Input whose value this temporary has the form of, or -1. ForwardProp can replace the value by the temporary in
    // the same memory if nobody reads the value afterwards.
    int valueOfInput = -1;
};

class ComputationNode : public std::enable_shared_from_this<ComputationNode>
{
public:
    virtual ~ComputationNode() = default;
    ComputationNode(const ComputationNode&) = delete;
    ComputationNode& operator=(const ComputationNode&) = delete;

    // ---- identity ----
    const NodeType& Type() const { return *m_type; }
    const std::string& TypeName() const { return m_type->name; } // the name in model files
    const std::string& Name() const { return m_name; }
    DataType GetDataType() const { return m_dataType; }
    Device& GetDevice() const { return *m_device; }

    // ---- graph (edited through ComputationNetwork only) ----
    const std::vector<ComputationNodePtr>& Inputs() const { return m_inputs; }
    const ComputationNodePtr& Input(size_t index) const { return m_inputs[index]; }
    size_t InputCount() const { return m_inputs.size(); }
    // Returns the input that a paired node (ComputationNetwork::Pair) has in its own network and in the model file.
    // Null: the node is not paired.
    const ComputationNodePtr& InputWhenAlone() const { return m_inputWhenAlone; }

    // ---- shape ----
    // Shape of one sample, or of the whole value for nodes without a layout (parameters, criteria [1]).
    const TensorShape& SampleLayout() const { return m_sampleLayout; }
    const MBLayoutPtr& GetMBLayout() const { return m_layout; }
    bool HasMBLayout() const { return m_layout != nullptr; }
    size_t SampleElements() const { return m_sampleLayout.Elements(); }
    // Current matrix size of the value: SampleElements() x layout columns; MatrixRows x MatrixColumns without a layout.
    size_t ValueRows() const;
    size_t ValueColumns() const;

    // Calls SetShape() with the shape that follows from the inputs' shapes and layouts. May infer zero dimensions of a
    // parameter input (InferInputShape). Called repeatedly. Reports errors only in the final pass (ErrorKind::Model,
    // without the node's name, which the caller adds). An input that is not known yet has a shape with a zero dimension
    // ([0]). The node then sets the dimensions that it knows, or none.
    virtual void InferShape(ShapeInference& inference) = 0;

    // ---- computation ----
    // Writes the columns of the range of Value(). The same columns of every input are valid.
    virtual void ForwardProp(const FrameRange& range) = 0;
    // Adds to InputGradient(input, range). Called only for inputs that need a gradient.
    virtual void BackpropTo(size_t input, const FrameRange& range);
    // If BackpropTo is a single matrix product over the whole minibatch, appends it to `products`, so that several
    // products run together, does the rest of BackpropTo, and returns true. Otherwise does nothing and returns false.
    virtual bool ListBackprop(size_t /*input*/, std::vector<Product>& /*products*/) { return false; }
    // Updates a parameter instead of adding to its gradient, if the whole minibatch contributes at once and nothing
    // else adds to the gradient. Returns false if it did nothing.
    virtual bool BackpropUpdating(size_t /*input*/, GradientUpdates& /*updates*/) { return false; }
    // For types with the trait makesLayout. ReserveLayout is called once per minibatch, before memory is bound, and
    // gives the layout at least as many columns as it can get. MakeLayout is called right before ForwardProp, when the
    // inputs' values are known, and sets the actual columns.
    virtual void ReserveLayout() {}
    virtual void MakeLayout() {}
    // Called once per minibatch, before its first ForwardProp.
    virtual void BeginForwardProp() {}
    // Called once per minibatch, after its last ForwardProp, while the inputs' values are still valid. Saves state for
    // the next one.
    virtual void EndForwardProp() {}

    // ---- captured device work (RepeatedWork.h) ----
    // Appends what the device's work depends on besides shapes, layouts and memory: settings and carried state. Called
    // after BeginForwardProp.
    virtual void AppendStepKey(std::vector<uint64_t>& /*key*/) const {}
    // Returns a counter that each ForwardProp advances (a seed, a count); such a node is also called when captured work
    // is repeated. Values that follow from the counter must be read anew by the device, or be part of the key.
    virtual uint64_t* StepCounter() { return nullptr; }

    // Temporaries, numbered in the order of the list. Called after InferShape.
    virtual std::vector<TemporarySpec> Temporaries() const { return {}; }

    // ---- fields in the model file (ModelArchive.h); most nodes have none ----
    virtual void SerializeFields(ModelArchive&) {}
    // Sets the parameters given in NDL or by a builder, checked against Type().parameters. The default takes none.
    virtual void SetParameters(const NodeParameters&) {}
    // Describes the fields in one line for dumps ("learningRateMultiplier=1 NeedsGradient=true ..."). May be empty.
    virtual std::string DescribeFields() const { return {}; }
    // Called when a window (convolution, pooling) reads the value as an image. Returns true if this changes the node's
    // dimensions in the next validation pass: an image of one row is stored like a vector.
    virtual bool ShowToWindow() { return false; }

    // ---- views of the bound memory ----
    MatrixView Value() const { return m_value; }
    MatrixView Value(const FrameRange& range) const;
    MatrixView Gradient() const { return m_gradient; }
    MatrixView Gradient(const FrameRange& range) const;
    bool IsSparse() const { return m_sparse != nullptr; } // the value is sparse (SparseInputValue)
    // Returns true if the value is available as a sparse matrix: IsSparse(), or a dense input whose data came in sparse
    // form. For types with the trait inputsReadSparse.
    bool HasSparseForm() const { return m_sparse != nullptr || m_sparseForm != nullptr; }
    SparseView SparseValue(const FrameRange& range) const; // requires HasSparseForm()
    // Columns that sparse contributions touched. Used only for the gradient of a parameter.
    TouchedColumns& GradientColumns() { return m_gradientColumns; }

    // Tensors of [sample dims padded to rank] x [columns], for broadcasting element-wise operations.
    TensorView ValueTensor(size_t sampleRank, const FrameRange& range) const;
    TensorView GradientTensor(size_t sampleRank, const FrameRange& range) const;

    // ---- gradient flow ----
    // Decided by the plan: true for a trained parameter and for nodes above one.
    bool NeedsGradient() const { return m_needsGradient; }
    virtual bool IsTrainableLeaf() const { return false; }

    // Layout masks: gaps inside the range. Empty if the range has no gaps.
    std::span<const uint8_t> ColumnMask(const FrameRange& range) const;

    // Describes input data that violates the node's assumptions (for example labels that do not sum to 1), for gradient
    // checks of the current minibatch. Empty if there is none.
    virtual std::string UnsuitableData() const { return {}; }

    // Leaf nodes own their value (parameters) or get it from the reader (inputs).
    virtual bool OwnsValue() const { return false; }

    // Mean and InvStdDev are computed in a pass over the data before training, then fixed (book 2.4.4).
    virtual bool IsPrecomputed() const { return false; }
    // Returns false if the value no longer depends on the inputs (a statistic that has been computed). Plans stop here,
    // so that a network whose output subtracts the labels' prior runs without labels.
    virtual bool ReadsInputs() const { return true; }

protected:
    ComputationNode() = default;

    void SetShape(const TensorShape& sampleLayout, MBLayoutPtr layout);
    // Memory of a dense contribution. Sparse contributions use Input(i)->Gradient() and record the columns they touch.
    MatrixView InputGradient(size_t input, const FrameRange& range) const
    {
        m_inputs[input]->m_gradientColumns.all = true;
        return m_inputs[input]->Gradient(range);
    }
    // For types with the trait backpropOverwrites: 0 where BackpropTo must replace the input's gradient, which is
    // undefined until then; else 1. All other types always add, except those with replacesTouchedColumns.
    double GradientBeta(size_t input) const { return m_inputs[input]->m_gradientIsFresh ? 0 : 1; }
    MatrixView Temporary(size_t index, const FrameRange& range) const;
    // Returns the layout common to the inputs. The final pass fails if two inputs have different layouts.
    MBLayoutPtr CommonLayoutOfInputs(ShapeInference& inference) const;
    // Gives a parameter with unknown (zero) dimensions its shape; no effect on anything else.
    void InferInputShape(size_t input, const TensorShape& shape);
    // Gives a criterion the shape "[1]" without a layout.
    void SetScalarShape() { SetShape(TensorShape{1}, nullptr); }

private:
    friend class ComputationNetwork; // name, inputs, owner
    friend class NodeRegistry;       // type, device, element type
    friend class NodeBinder;         // memory

    const NodeType* m_type = nullptr;
    std::string m_name;
    DataType m_dataType = DataType::Float32;
    Device* m_device = nullptr;
    std::vector<ComputationNodePtr> m_inputs;
    ComputationNodePtr m_inputWhenAlone;
    const ComputationNetwork* m_owner = nullptr;

    TensorShape m_sampleLayout;
    MBLayoutPtr m_layout;

protected:
    // Bound each time the minibatch size changes. Leaf nodes bind their own value.
    MatrixView m_value;
    MatrixView m_gradient;
    std::vector<MatrixView> m_temporaries;
    std::vector<const MBLayout*> m_temporaryLayouts; // null: the temporary has fixed columns
    const SparseMatrix* m_sparse = nullptr;
    const SparseMatrix* m_sparseForm = nullptr; // of a dense value
    TouchedColumns m_gradientColumns;
    bool m_needsGradient = false;
    bool m_isTraining = false; // evaluated for training, followed by a backward pass
    bool m_gradientIsFresh = false;
};

} // namespace cntk
