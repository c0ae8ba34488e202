// Updates the trained parameters after a minibatch: transforms, rule and per-parameter state together.
//
// Without momentum an update does not read the state (the smoothed gradient S), it only leaves S = rate G there. So
// plain descent does not write it: S is made of the last gradient when somebody asks for it (a checkpoint, an update
// with momentum), which saves a pass over memory. The same holds for updates of some columns alone: S is then 0 in all
// others, and these are set to 0 when somebody asks. Parameter::waiting and isPartial say what is left to do, Complete
// does it.
#pragma once

#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "Math/RepeatedWork.h"
#include "SGD/Update/GradientTransforms.h"
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

    // From the gradients that Backward left in the parameter nodes. Allocates nothing after the first call. stop: as
    // UpdateCall has it.
    void Update(double ratePerSample, double momentumPerSample, size_t columns, const MatrixView& stop = {});

    // The same where the backward pass may make a part of it: before the pass, which is given the learner. Update
    // follows with the same numbers and does the rest.
    void BeginUpdate(double ratePerSample, double momentumPerSample, size_t columns);
    ProductUpdate UpdateOf(const ComputationNode& parameter) override;
    bool UpdateBy(SliceOperands& operands, const ComputationNode& parameter) override;

    // stay: the caller promises that nobody changes the gradients between an update and the backward pass before the
    // next update, so that states may be left to be made of them later. False, as at first: states that are left so are
    // made now. Must be false before the backward pass of a minibatch that has momentum, whose update reads the states.
    void LetGradientsStay(bool stay);

    // As before the first update.
    void Reset();
    // The same without the noise, whose draws continue.
    void ResetStates();
    // The states in the order of the parameters, for a checkpoint.
    std::vector<const Matrix*> States();
    // Takes a checkpoint's states. Fails (Model) when their number or sizes do not fit, naming the parameter.
    void Restore(std::vector<Matrix> states, const std::string& path);
    // Takes what States gave before; the states' memory stays where it is.
    void CopyStates(const std::vector<Matrix>& states);
    // What the rule has counted, which goes with the states.
    std::array<double, 2> Counters() const { return {m_rule->Counter(), m_rule->SecondCounter()}; }
    void SetCounters(const std::array<double, 2>& counters);
    // Of the noise that the next update draws.
    uint64_t NoiseNumber() const { return m_transforms.NoiseNumber(); }
    void SetNoiseNumber(uint64_t number) { m_transforms.SetNoiseNumber(number); }
    // The gradUpdateType whose states a checkpoint holds, if it says so and it is another one: they are no use here.
    std::string OtherRuleIn(const std::map<std::string, std::string>& extra) const;
    const char* RuleName() const { return m_rule->Name(); }
    // The parameters whose last update was AdaGrad's because their gradients are sparse, where the rule is another one.
    std::vector<std::string> LeftToAdaGrad() const;
    // FSAdaGrad's mean size of a minibatch after this training: now's, or that in the extra part of a checkpoint. Of
    // other rules the one given.
    double FsAdagradColumns(double before) const;
    static double FsAdagradColumnsIn(const std::map<std::string, std::string>& extra, double before);
    // What belongs to the learner besides the states: counters (not those of another rule) and seeds.
    void SaveExtra(std::map<std::string, std::string>& extra) const;
    void RestoreExtra(const std::map<std::string, std::string>& extra);

private:
    // What the state of the last update, one without momentum, is still to be made of.
    enum class Waiting
    {
        Nothing,
        Gradient,
        Operands // of the gradient
    };
    struct Parameter
    {
        std::shared_ptr<LearnableParameterNode> node;
        Matrix state;
        bool isPartial = false; // the last update was one of lastColumns alone; the others of the state are not yet 0
        std::vector<int32_t> lastColumns = {};
        double lastRate = 0; // of the last update
        // The last update had all columns. Of sparse gradients only the first one of an epoch counts as dense, and what
        // it leaves in the state is still there after those that follow.
        bool wasDense = false;
        bool wasSparse = false; // the last update had the touched columns of a sparse gradient
        Waiting waiting = Waiting::Nothing;
        SliceOperands operands = {};
        bool isUpdated = false; // by the backward pass: the Update that follows passes over it

        // The state is in its matrix, with nothing left to do.
        void SetComplete()
        {
            isPartial = false;
            waiting = Waiting::Nothing;
        }
    };
    class UpdateWork;
    void SetStep(double ratePerSample, double momentumPerSample, size_t columns, const MatrixView& stop);
    double RateOf(const Parameter& parameter) const;
    bool MayWait(const Parameter& parameter, const TouchedColumns* touched, const UpdateStep& step) const;
    void UpdateParameters();
    void MakeKey();
    const TouchedColumns* ColumnsOf(Parameter& parameter, const UpdateStep& step) const;
    static void Complete(Parameter& parameter);

    std::vector<Parameter> m_parameters;
    std::unordered_map<const ComputationNode*, size_t> m_places; // of the parameters
    std::unique_ptr<UpdateRule> m_rule;
    GradientTransforms m_transforms;
    bool m_isMomentum;     // the rule
    bool m_isPlainDescent; // what is not touched stays as it is where there is no momentum either
    // Momentum of the last number of columns.
    double m_momentumPerSample = -1;
    size_t m_momentumColumns = 0;
    UpdateStep m_step; // of the update at hand, for all parameters
    bool m_gradientsStay = false;
    // Updates that a device records and repeats.
    RepeatedWork m_work;
    std::vector<uint64_t> m_key;
};

} // namespace cntk
