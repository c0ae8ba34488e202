// Updates the trained parameters after a minibatch.
#pragma once

#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "Math/RepeatedWork.h"
#include "SGD/Update/UpdateRule.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cntk
{

class Learner final : public GradientUpdates
{
public:
    // parameters: in the order of checkpoints (case-sensitive names).
    Learner(std::vector<std::shared_ptr<LearnableParameterNode>> parameters, const SgdOptions& options, DataType type,
            Device& device, uint64_t trainingSeed = 0, double fsAdagradColumns = 0);

    // Updates all parameters with their nodes' gradients. Allocates nothing after the first call. stop: see UpdateCall.
    void Update(double ratePerSample, double momentumPerSample, size_t columns, const MatrixView& stop = {});

    // Lets the backward pass update parameters: called before the pass, which is given the learner. Update follows with
    // the same numbers and updates the other parameters.
    void BeginUpdate(double ratePerSample, double momentumPerSample, size_t columns);
    ProductUpdate UpdateOf(const ComputationNode& parameter) override;
    bool UpdateBy(SliceOperands& operands, const ComputationNode& parameter) override;

    // Restores the initial states and noise.
    void Reset();
    // Restores the initial states; noise draws continue.
    void ResetStates();
    // Returns the states in the order of the parameters.
    std::vector<const Matrix*> States();
    // Takes a checkpoint's states. Fails (Model) if their number or shapes do not fit.
    void Restore(std::vector<Matrix> states, const std::string& path);
    // Copies states that States returned; the states' memory remains the same.
    void CopyStates(const std::vector<Matrix>& states);
    // Running statistics of the rule, which belong to the states.
    const std::array<double, 2>& Counters() const { return m_rule.counters; }
    void SetCounters(const std::array<double, 2>& counters) { m_rule.counters = counters; }
    // Number of the next noise draw.
    uint64_t NoiseNumber() const { return m_transforms.NoiseNumber(); }
    void SetNoiseNumber(uint64_t number) { m_transforms.SetNoiseNumber(number); }
    // Returns a checkpoint's gradUpdateType if it differs from this one, so that its states cannot be used; else "".
    std::string OtherRuleIn(const std::map<std::string, std::string>& extra) const;
    const char* RuleName() const { return m_rule.Name(); }
    // Names the parameters that AdaGrad has updated instead of the rule, because their gradients are sparse.
    std::vector<std::string> LeftToAdaGrad() const;
    // Return FSAdaGrad's mean size of a minibatch, now and in the extra part of a checkpoint. For other rules, return
    // `before`.
    double FsAdagradColumns(double before) const;
    static double FsAdagradColumnsIn(const std::map<std::string, std::string>& extra, double before);
    // Save and restore counters and the noise number. Counters of another rule are not restored.
    void SaveExtra(std::map<std::string, std::string>& extra) const;
    void RestoreExtra(const std::map<std::string, std::string>& extra);

private:
    struct Parameter
    {
        std::shared_ptr<LearnableParameterNode> node;
        Matrix state;
        // The last update changed lastColumns only. The state there lacks the factor lastRate; elsewhere it should be
        // 0.
        bool isPartial = false;
        std::vector<int32_t> lastColumns = {};
        double lastRate = 0;
        // Set if the last update did not write the state: the state must be computed from the gradient's operands.
        // Otherwise a class-based language model takes 1.4 times as long to train without momentum.
        bool hasOperands = false;
        SliceOperands operands = {};
        bool wasSparse = false; // the last update had the touched columns of a sparse gradient
        bool isUpdated = false; // by the backward pass

        void SetComplete() { isPartial = hasOperands = false; }
    };
    class UpdateWork;
    void SetStep(double ratePerSample, double momentumPerSample, size_t columns, const MatrixView& stop);
    UpdateStep StepOf(const Parameter& parameter) const;
    void UpdateParameters();
    void UpdateParameter(Parameter& parameter);
    void MakeKey();
    const TouchedColumns* ColumnsOf(Parameter& parameter, const UpdateStep& step) const;
    static void Complete(Parameter& parameter);

    std::vector<Parameter> m_parameters;
    std::unordered_map<const ComputationNode*, size_t> m_indices; // in m_parameters
    UpdateRule m_rule;
    GradientTransforms m_transforms;
    bool m_isPlainDescent; // without momentum, columns with a gradient of 0 do not change
    // Cached momentum of a minibatch.
    double m_momentumPerSample = -1;
    size_t m_momentumColumns = 0;
    UpdateStep m_step; // numbers of this update for all parameters
    RepeatedWork m_work;
    std::vector<uint64_t> m_key;
};

} // namespace cntk
