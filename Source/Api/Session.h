// A session computes some roots, and gradients if wanted: the lowered network with its evaluator. Sessions are cached
// in their first root and share the values of parameters (sheet 4.3).
#pragma once

#include "Api/Data.h"
#include "Api/Lowering.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cntk::Api
{

struct SessionOptions
{
    bool isTraining = false;      // dropout and statistics as in training
    std::vector<NodePtr> wanted;  // leaves whose gradients are wanted; empty: no backward pass
    bool hasRootGradient = false; // the derivative is weighted by a gradient of the last root
};

// Form and place of a value in host memory.
struct ValueForm
{
    enum class Kind
    {
        Single,   // no axis: one value
        Frames,   // one value a sequence
        Sequences // values of each step of each sequence
    };
    Kind kind = Kind::Single;
    Shape shape; // of one value
    DataType type = DataType::Float32;
    std::vector<size_t> lengths; // one for each sequence; Frames: 1 each
};

class Session
{
public:
    // Data by the unique number of their input.
    using Arguments = std::map<uint64_t, std::shared_ptr<const InputData>>;

    Session(Context& context, const std::vector<NodePtr>& roots, const SessionOptions& options);

    // Returns the cached session of these roots, or a new one. Call under the device's lock or Python's.
    static std::shared_ptr<Session> Get(Context& context, const std::vector<NodePtr>& roots,
                                        const SessionOptions& options);

    struct Argument
    {
        uint64_t uid = 0;
        std::string name;
        Shape shape;
        std::string axis;
        DataType type = DataType::Float32;
        bool isSparse = false;
        bool hasOwnData = false;
    };
    // The inputs below the roots, depth-first. The input for the gradient of the root has the number 0.
    const std::vector<Argument>& ArgumentList() const { return m_arguments; }
    const std::shared_ptr<Device>& GetDevice() const { return m_device; }

    // Sets the data of the inputs. Fails (Data) for missing inputs and for lengths that differ within an axis.
    void Feed(const Arguments& arguments, const std::shared_ptr<const InputData>& rootGradient = nullptr);
    void Forward() { m_evaluator->Forward(); }
    void Backward(GradientUpdates* updates = nullptr) { m_evaluator->Backward(m_loss, updates); }

    // Samples of the minibatch: those of the default axis, else the most of any input.
    size_t Samples() const { return m_samples; }

    ValueForm FormOfRoot(size_t root) const { return FormOf(m_roots[root]); }
    ValueForm FormOfGradient(size_t wanted) const { return FormOf(m_wanted[wanted]); }
    // Copies a value in C order: one block, or one for each sequence. Valid after Forward, gradients after Backward.
    void CopyRoot(size_t root, std::span<void* const> blocks) const;
    void CopyGradient(size_t wanted, std::span<void* const> blocks) const;

    // The sum of all elements of all samples, for losses and metrics.
    double SumOfRoot(size_t root) const { return SumOf(*m_roots[root].node); }
    double SumOfLoss() const { return SumOf(*m_loss); }

    Evaluator& GetEvaluator() { return *m_evaluator; }
    ComputationNetwork& Network() { return *m_network; }
    const ComputationNodePtr& Loss() const { return m_loss; }
    const ComputationNodePtr& Root(size_t root) const { return m_roots[root].node; }
    const ComputationNodePtr& WantedNode(size_t wanted) const { return m_wanted[wanted].node; }

private:
    struct Output
    {
        ComputationNodePtr node;
        Shape shape;
        std::string axis;
    };
    struct Axis
    {
        MBLayoutPtr layout;
        std::vector<size_t> arguments;
        SequencePacking packing;
        bool isFrames = true;
    };
    struct Key
    {
        std::vector<uint64_t> roots;
        std::vector<uint64_t> wanted;
        bool isTraining = false;
        bool hasRootGradient = false;
        bool operator==(const Key&) const = default;
    };

    static Key KeyOf(const std::vector<NodePtr>& roots, const SessionOptions& options);
    NodePtr MakeLoss(Context& context, const NodePtr& root, const SessionOptions& options);
    void CollectArguments(const LoweredNetwork& lowered);
    void SelectGradients(const LoweredNetwork& lowered, const SessionOptions& options);
    void SetDropout(Context& context, bool isTraining);
    const InputData& DataOf(size_t argument, const Arguments& arguments,
                            const std::shared_ptr<const InputData>& rootGradient) const;
    void FeedAxis(Axis& axis, std::span<const InputData* const> data);
    ValueForm FormOf(const Output& output) const;
    static double SumOf(const ComputationNode& node);
    void Copy(const Output& output, const MatrixView& values, std::span<void* const> blocks) const;

    Key m_key;
    uint64_t m_renames = 0;
    bool m_hasNamedLoops = false;
    std::shared_ptr<Device> m_device;
    std::shared_ptr<ComputationNetwork> m_network;
    std::vector<Output> m_roots;
    std::vector<Output> m_wanted;
    ComputationNodePtr m_loss;
    std::vector<Argument> m_arguments;
    std::vector<std::shared_ptr<const InputData>> m_ownData;
    std::vector<std::shared_ptr<InputValueNode>> m_inputs;
    std::vector<InputFeeder> m_feeders;
    std::vector<std::shared_ptr<const InputData>> m_fed; // keeps referred memory until the next call
    std::map<std::string, Axis> m_axes;
    size_t m_samples = 0;
    std::unique_ptr<Evaluator> m_evaluator;
};

} // namespace cntk::Api
