// Training from outside of the engine's own loop: learners over parameters of a graph, one minibatch at a time
// (sheet 9.1).
#pragma once

#include "Api/DataSource.h"
#include "Api/Session.h"
#include "SGD/Update/Learner.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cntk::Api
{

struct LearnerSettings
{
    std::vector<NodePtr> parameters;
    SgdOptions options;  // the update rule, clipping, regularization
    double momentum = 0; // of a minibatch
    // Learning rates, one after another; the last one stays.
    std::vector<double> rates;
    bool isPerSample = false; // else of a minibatch, whatever its size
    size_t epochSize = 0;     // samples for which a rate holds; 0: one epoch of the trainer
};

class MinibatchTrainer
{
public:
    // metric: may be null. Fails (Usage) for a parameter that the loss does not depend on, or that is none.
    MinibatchTrainer(Context& context, NodePtr loss, NodePtr metric, std::vector<LearnerSettings> learners);
    ~MinibatchTrainer();

    // Sums over a minibatch.
    struct Result
    {
        double loss = 0;
        double metric = 0; // the loss if there is no metric
        size_t samples = 0;
    };
    // Makes one step with the session that TrainingSession returned last. Fails (Model) if the loss is not finite; then
    // nothing is updated. Call under the device's lock.
    Result Train(const Session::Arguments& arguments);
    Result Test(const Session::Arguments& arguments);
    // The session of the next step, with outputs that the forward pass computes besides.
    Session& TrainingSession(const std::vector<NodePtr>& outputs = {});
    Session& TestingSession();

    // The rate of a learner, in the units of its settings, and a new one.
    double RateOf(size_t learner) const;
    void SetRate(size_t learner, double rate);
    size_t SamplesSeen() const { return m_samplesSeen; }
    void BeginEpoch(size_t epoch) { m_epoch = epoch; }

    // Model and learners in the files path and path.ckp.
    void SaveCheckpoint(const std::string& path);
    void RestoreCheckpoint(const std::string& path);

private:
    struct Running;
    Running& Prepare(const std::vector<NodePtr>& outputs);
    void CheckParameters() const;

    Context& m_context;
    NodePtr m_loss, m_metric;
    std::vector<LearnerSettings> m_settings;
    std::vector<NodePtr> m_parameters; // of all learners
    std::unique_ptr<Running> m_running;
    std::shared_ptr<Session> m_testing;
    size_t m_samplesSeen = 0;
    size_t m_epoch = 0;
};

} // namespace cntk::Api
