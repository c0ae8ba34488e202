// Evaluates outputs of a model for one caller: takes samples, lays them out as a minibatch, and returns the outputs'
// samples.
#pragma once

#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "EvalLibrary/EvaluationModel.h"
#include "EvalLibrary/SampleOrder.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// The samples of an input as the caller gave them; borrowed until the next evaluation ends.
struct GivenSamples
{
    enum class Kind
    {
        None,
        Dense,
        Words,
        Sparse
    };
    Kind kind = Kind::None;
    DataType type = DataType::Float32; // of the values
    const void* values = nullptr;
    const int32_t* rows = nullptr;
    const int32_t* starts = nullptr;
    size_t samples = 0;
};

enum class Beginning
{
    AtStart, // sequences begin
    Resume   // sequences continue
};

// Used by one thread at a time. Allocates nothing if an evaluation is not larger than all before.
class ModelEvaluator
{
public:
    ModelEvaluator(std::shared_ptr<const EvaluationModel> model, std::span<const char* const> outputs);

    size_t Inputs() const { return m_inputs.size(); }
    size_t Outputs() const { return m_outputs.size(); }
    const ComputationNode& InputNode(size_t index) const; // fails (Usage) for an index that does not exist
    const ComputationNode& OutputNode(size_t index) const;

    // An empty axis is the default one. No lengths: the samples are independent.
    void SetSequences(const std::string& axis, std::span<const size_t> lengths);
    // Fails (Usage) for missing memory, (Data) for sparse samples that are not well-formed.
    void SetSamples(size_t input, const GivenSamples& samples);
    void Evaluate(Beginning beginning);
    void Reset();

    // Both fail (Usage) before an evaluation. View: in the network's type, until the next evaluation.
    const void* View(size_t output);
    size_t Samples(size_t output) const;
    // values: room for as many elements as the output's samples have.
    void Copy(size_t output, DataType type, void* values);

private:
    struct Input
    {
        InputValueNode* node = nullptr;
        size_t axis = 0;
        GivenSamples given;
        // Kept memory for samples in the order of columns.
        std::vector<std::byte> values;
        std::vector<int32_t> rows;
        std::vector<int32_t> starts;
    };
    struct Output
    {
        ComputationNode* node = nullptr;
        std::vector<uint32_t> columns; // of the samples
        bool isInOrder = true;
        size_t samples = 0;
        Matrix dense;                  // of a sparse value
        std::vector<std::byte> staged; // samples in their order
        bool isStaged = false;
    };
    struct Axis
    {
        std::string name;
        AxisSequences sequences;
    };

    void CollectAxes();
    void RequireResumable() const;
    size_t SamplesOf(const Axis& axis) const;
    void Bind(Input& input);
    template <class T>
    void BindDense(Input& input);
    template <class T>
    void BindSparse(Input& input);
    void Forward();
    void FindOutput(Output& output, size_t samples);
    const Output& Evaluated(size_t output) const;
    void Stage(Output& output);

    std::shared_ptr<const EvaluationModel> m_model;
    std::unique_ptr<ComputationNetwork> m_network;
    std::vector<Input> m_inputs;
    std::vector<Output> m_outputs;
    std::vector<Axis> m_axes;
    const ComputationNode* m_looksAhead = nullptr; // the first node that does, if any
    std::unique_ptr<Evaluator> m_evaluator;
    bool m_isEvaluated = false;
};

} // namespace cntk
