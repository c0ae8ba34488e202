// The base class of every node (book 2.1, 5.2). A node describes its shape, computes its value and passes gradients to
// its inputs. It never allocates and never knows the plan: the evaluator binds its value, gradient and temporaries to
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

class GradientUpdates; // ComputationNetwork/Evaluation/GradientUpdates.h
struct Product;        // Math/Products.h

class ComputationNetwork;
class ComputationNode;
class DerivedLayouts;
class ModelArchive; // ModelArchive.h: the model file, one function for both directions
using ComputationNodePtr = std::shared_ptr<ComputationNode>;

// What a node learns while the network is validated; also how errors in shapes are reported.
class ShapeInference
{
public:
    explicit ShapeInference(bool isFinalPass, DerivedLayouts* layouts = nullptr)
        : m_isFinalPass(isFinalPass), m_layouts(layouts)
    {
    }
    // Passes are repeated until nothing changes; only the final one may complain.
    bool IsFinalPass() const { return m_isFinalPass; }
    // The network's layout of multiply / divide times as many steps as the source (DerivedLayouts.h).
    MBLayoutPtr DerivedLayout(const MBLayoutPtr& source, size_t multiply, size_t divide);

private:
    bool m_isFinalPass;
    DerivedLayouts* m_layouts;
};

// Memory that a node wants besides its value: "rows x (minibatch columns)" or fixed. Bound by the evaluator.
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
    // It has the form of this input's value, and where GradientBeta() is 0, BackpropTo can replace it by the input's
    // gradient in the same memory: nothing reads it after that. -1: of none.
    int gradientOfInput = -1;
    // It has the form of this input's value, which ForwardProp can replace in the same memory: where nobody reads the
    // value after that. -1: of none.
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
    const std::string& TypeName() const { return m_type->name; } // as in model files
    const std::string& Name() const { return m_name; }
    DataType GetDataType() const { return m_dataType; }
    Device& GetDevice() const { return *m_device; }

    // ---- graph (edited through ComputationNetwork only) ----
    const std::vector<ComputationNodePtr>& Inputs() const { return m_inputs; }
    const ComputationNodePtr& Input(size_t index) const { return m_inputs[index]; }
    size_t InputCount() const { return m_inputs.size(); }
    // Of a node that is paired with another network's (ComputationNetwork::Pair): the input that it has in its own
    // network, and in the model file. Null: it is not paired.
    const ComputationNodePtr& InputWhenAlone() const { return m_inputWhenAlone; }

    // ---- shape ----
    // Of one sample; of the whole value for nodes without a layout (parameters, criteria [1]).
    const TensorShape& SampleLayout() const { return m_sampleLayout; }
    const MBLayoutPtr& GetMBLayout() const { return m_layout; }
    bool HasMBLayout() const { return m_layout != nullptr; }
    size_t SampleElements() const { return m_sampleLayout.Elements(); }
    // Matrix size of the value now: SampleElements() x layout columns; MatrixRows x MatrixColumns without a layout.
    size_t ValueRows() const;
    size_t ValueColumns() const;

    // Inputs' shapes and layouts -> SetShape(). May infer a parameter input's zero dimensions
    // (InferInputShape). Called repeatedly; complains only in the final pass (ErrorKind::Model, without naming
    // the node: the caller adds the note). An input not known yet has a shape with a zero dimension ([0]); the node
    // then sets what it knows, or nothing.
    virtual void InferShape(ShapeInference& inference) = 0;

    // ---- computation ----
    // Columns of the range of every input are valid; writes the columns of the range of Value().
    virtual void ForwardProp(const FrameRange& range) = 0;
    // Adds to InputGradient(input, range). Called only for inputs that need a gradient.
    virtual void BackpropTo(size_t input, const FrameRange& range);
    // Of the whole minibatch, where BackpropTo is one product: lists that product, to be computed together with others,
    // and does what BackpropTo does besides. False: nothing was done.
    virtual bool ListBackprop(size_t /*input*/, std::vector<Product>& /*products*/) { return false; }
    // Of the whole minibatch, and of a parameter whose whole gradient this is: updates the parameter instead. False:
    // nothing was done.
    virtual bool BackpropUpdating(size_t /*input*/, GradientUpdates& /*updates*/) { return false; }
    // For types with the trait makesLayout: once per minibatch, before memory is bound, gives the layout at least as
    // many columns as it can get; and right before ForwardProp, when the inputs' values are there, makes it.
    virtual void ReserveLayout() {}
    virtual void MakeLayout() {}
    // Once per minibatch, before the first ForwardProp of it.
    virtual void BeginForwardProp() {}
    // Once per minibatch, after the last ForwardProp of it, while the inputs' values are still there (state to carry).
    virtual void EndForwardProp() {}

    // ---- work that a device records and repeats (RepeatedWork.h) ----
    // Appends what the device's work depends on besides shapes, layouts and memory: settings, what it goes on from.
    // After BeginForwardProp.
    virtual void AppendStepKey(std::vector<uint64_t>& /*key*/) const {}
    // A number that each ForwardProp moves on (a seed, a count): the node is then asked of repeated work, too. Numbers
    // that follow from it must be such as the device takes anew, or stand in the key.
    virtual uint64_t* StepCounter() { return nullptr; }

    // Temporaries, numbered as listed; called after InferShape.
    virtual std::vector<TemporarySpec> Temporaries() const { return {}; }

    // ---- fields in the model file (ModelArchive.h); most nodes have none ----
    virtual void SerializeFields(ModelArchive&) {}
    // Parameters given in NDL or by a builder, checked against Type().parameters. Default: there are none.
    virtual void SetParameters(const NodeParameters&) {}
    // One line for dumps: the fields in words ("learningRateMultiplier=1 NeedsGradient=true ..."). May be empty.
    virtual std::string DescribeFields() const { return {}; }
    // A window (convolution, pooling) takes the value for an image. Whether the node gets other dimensions by that, in
    // the next pass of the validation: an image of one row is stored as a vector is.
    virtual bool ShowToWindow() { return false; }

    // ---- views of the bound memory ----
    MatrixView Value() const { return m_value; }
    MatrixView Value(const FrameRange& range) const;
    MatrixView Gradient() const { return m_gradient; }
    MatrixView Gradient(const FrameRange& range) const;
    bool IsSparse() const { return m_sparse != nullptr; } // the value is sparse (SparseInputValue)
    // The value is there as a sparse matrix: IsSparse(), or a dense input whose data came so. For types with the trait
    // inputsReadSparse.
    bool HasSparseForm() const { return m_sparse != nullptr || m_sparseForm != nullptr; }
    SparseView SparseValue(const FrameRange& range) const; // with HasSparseForm()
    // Columns that sparse contributions touched; the gradient of a parameter only.
    TouchedColumns& GradientColumns() { return m_gradientColumns; }

    // Tensors of [sample dims padded to rank] x [columns]: for broadcasting element-wise operations.
    TensorView ValueTensor(size_t sampleRank, const FrameRange& range) const;
    TensorView GradientTensor(size_t sampleRank, const FrameRange& range) const;

    // ---- gradient flow ----
    // Decided by the plan: a parameter that is trained, or a node above one.
    bool NeedsGradient() const { return m_needsGradient; }
    virtual bool IsTrainableLeaf() const { return false; }

    // Layout masks: gaps inside the range. Empty when there are none.
    std::span<const uint8_t> ColumnMask(const FrameRange& range) const;

    // For gradient checks, of the minibatch at hand: which of the data that the type's formula takes for granted is
    // otherwise, so that the gradient is not that of the value. Empty: nothing.
    virtual std::string UnsuitableData() const { return {}; }

    // Leaf nodes own their value (parameters) or get it from the reader (inputs).
    virtual bool OwnsValue() const { return false; }

    // Mean, InvStdDev: computed in a pass over the data before training, then fixed (book 2.4.4).
    virtual bool IsPrecomputed() const { return false; }
    // False: the value is there and no longer depends on the inputs (a statistic that has been computed). Plans stop
    // here, so that a network whose output subtracts the labels' prior runs without labels.
    virtual bool ReadsInputs() const { return true; }

protected:
    ComputationNode() = default;

    void SetShape(const TensorShape& sampleLayout, MBLayoutPtr layout);
    // Where a dense contribution goes. Sparse ones use Input(i)->Gradient() and record the columns they touch.
    MatrixView InputGradient(size_t input, const FrameRange& range) const
    {
        m_inputs[input]->m_gradientColumns.all = true;
        return m_inputs[input]->Gradient(range);
    }
    // For types with the trait backpropOverwrites: 0 where BackpropTo must replace the input's gradient, which is
    // undefined until then; else 1. All other types always add, but for replacesTouchedColumns.
    double GradientBeta(size_t input) const { return m_inputs[input]->m_gradientIsFresh ? 0 : 1; }
    MatrixView Temporary(size_t index, const FrameRange& range) const;
    // The layout common to the inputs; in the final pass fails when inputs with different layouts meet.
    MBLayoutPtr CommonLayoutOfInputs(ShapeInference& inference) const;
    // Gives a parameter with unknown (zero) dimensions its shape; no effect on anything else.
    void InferInputShape(size_t input, const TensorShape& shape);
    // For criteria: "[1]" without layout.
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
    // Bound each time the minibatch's size changes; leaf nodes bind their own.
    MatrixView m_value;
    MatrixView m_gradient;
    std::vector<MatrixView> m_temporaries;
    std::vector<const MBLayout*> m_temporaryLayouts; // null: the temporary has fixed columns
    const SparseMatrix* m_sparse = nullptr;
    const SparseMatrix* m_sparseForm = nullptr; // of a dense value
    TouchedColumns m_gradientColumns;
    bool m_needsGradient = false;
    bool m_isTraining = false; // evaluated for training, with a backward pass to follow
    bool m_gradientIsFresh = false;
};

} // namespace cntk
