// Training step by step, and the loop over a source without Python between minibatches.
#include "Api/Training.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <chrono>
#include <pybind11/stl.h>

namespace cntk::Python
{

namespace
{

using Api::MinibatchTrainer;
using Api::NodePtr;
using Clock = std::chrono::steady_clock;

Api::LearnerSettings SettingsFrom(const py::dict& given)
{
    Api::LearnerSettings settings;
    settings.parameters = given["parameters"].cast<std::vector<NodePtr>>();
    settings.momentum = given["momentum"].cast<double>();
    settings.rates = given["rates"].cast<std::vector<double>>();
    settings.isPerSample = given["is_per_sample"].cast<bool>();
    settings.epochSize = given["epoch_size"].cast<size_t>();
    SgdOptions& options = settings.options;
    const std::string rule = given["rule"].cast<std::string>();
    options.gradUpdateType = rule == "adagrad"     ? GradientUpdateType::AdaGrad
                             : rule == "rmsprop"   ? GradientUpdateType::RmsProp
                             : rule == "fsadagrad" ? GradientUpdateType::FSAdaGrad
                             : rule == "adam"      ? GradientUpdateType::Adam
                                                   : GradientUpdateType::None;
    options.useNAG = rule == "nesterov";
    const auto set = [&](const char* name, auto& member)
    {
        if (given.contains(name))
            member = given[name].cast<std::remove_reference_t<decltype(member)>>();
    };
    set("need_ave_multiplier", options.normWithAveMultiplier);
    set("variance_momentum", options.adamBeta2);
    set("epsilon", options.adamEpsilon);
    set("gamma", options.rmsGamma);
    set("inc", options.rmsWgtInc);
    set("dec", options.rmsWgtDec);
    set("max", options.rmsWgtMax);
    set("min", options.rmsWgtMin);
    set("l1_regularization_weight", options.l1RegWeight);
    set("l2_regularization_weight", options.l2RegWeight);
    set("gradient_clipping_threshold_per_sample", options.clippingThresholdPerSample);
    set("gradient_clipping_with_truncation", options.gradientClippingWithTruncation);
    return settings;
}

py::tuple ResultTuple(const MinibatchTrainer::Result& result)
{
    return py::make_tuple(result.loss, result.metric, result.samples);
}

// One step. Returns the sums, and the values of the outputs.
py::tuple TrainMinibatch(State& state, MinibatchTrainer& trainer, const py::object& given,
                         const std::vector<NodePtr>& outputs)
{
    Api::Session& session = trainer.TrainingSession(outputs);
    const Api::Session::Arguments arguments = ArgumentsFrom(session, given);
    MinibatchTrainer::Result result;
    std::unique_lock<std::recursive_mutex> lock;
    {
        const py::gil_scoped_release released;
        lock = state.context.Lock(*session.GetDevice());
        result = trainer.Train(arguments);
    }
    py::list values;
    for (size_t i = 0; i < outputs.size(); i++)
    {
        std::vector<void*> blocks;
        values.append(ArraysFor(session.FormOfRoot(i), blocks));
        session.CopyRoot(i, blocks);
    }
    return py::make_tuple(ResultTuple(result), values);
}

// Trains an epoch. progress(index, loss, metric, samples) gets the sums so far, at most ten times a second.
py::tuple TrainEpoch(State& state, MinibatchTrainer& trainer, Api::DataSource& source,
                     const std::map<std::string, NodePtr>& mapped, size_t minibatchSize, size_t epoch,
                     const py::object& progress)
{
    Api::Session& session = trainer.TrainingSession();
    const std::map<std::string, uint64_t> uids = session.UidsOf(source.Streams(), mapped);
    std::vector<std::string> wanted;
    for (const auto& [stream, uid] : uids)
        wanted.push_back(stream);
    MinibatchTrainer::Result sums;
    size_t index = 0;
    trainer.BeginEpoch(epoch);
    const py::gil_scoped_release released;
    source.StartEpoch(epoch, minibatchSize, wanted);
    std::vector<std::shared_ptr<const Api::InputData>> streams;
    Clock::time_point lastCheck = Clock::now(), lastReport = lastCheck;
    while (source.Next(streams))
    {
        const Api::Session::Arguments arguments = Api::ArgumentsOf(source.Streams(), uids, streams);
        {
            const auto lock = state.context.Lock(*session.GetDevice());
            const MinibatchTrainer::Result result = trainer.Train(arguments);
            sums.loss += result.loss;
            sums.metric += result.metric;
            sums.samples += result.samples;
        }
        index++;
        const Clock::time_point now = Clock::now();
        const bool reports = now - lastReport > std::chrono::milliseconds(100);
        if (!reports && now - lastCheck < std::chrono::milliseconds(20))
            continue;
        const py::gil_scoped_acquire acquired;
        lastCheck = now;
        ForwardLog(source);
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
        if (!reports)
            continue;
        lastReport = now;
        if (!progress.is_none())
            progress(index, sums.loss, sums.metric, sums.samples);
    }
    const py::gil_scoped_acquire acquired;
    ForwardLog(source);
    return py::make_tuple(sums.loss, sums.metric, sums.samples, index);
}

} // namespace

void BindTrainer(py::module_& module, const StatePtr& state)
{
    py::class_<MinibatchTrainer, std::shared_ptr<MinibatchTrainer>>(module, "Trainer")
        .def(py::init(
            [state](const NodePtr& loss, const py::object& metric, const py::list& learners)
            {
                std::vector<Api::LearnerSettings> settings;
                for (const py::handle& learner : learners)
                    settings.push_back(SettingsFrom(py::reinterpret_borrow<py::dict>(learner)));
                return std::make_shared<MinibatchTrainer>(
                    state->context, loss, metric.is_none() ? nullptr : metric.cast<NodePtr>(), std::move(settings));
            }))
        .def("train_minibatch",
             [state](MinibatchTrainer& trainer, const py::object& arguments, const std::vector<NodePtr>& outputs)
             { return TrainMinibatch(*state, trainer, arguments, outputs); })
        .def("train_epoch",
             [state](MinibatchTrainer& trainer, Api::DataSource& source, const std::map<std::string, NodePtr>& mapped,
                     size_t minibatchSize, size_t epoch, const py::object& progress)
             { return TrainEpoch(*state, trainer, source, mapped, minibatchSize, epoch, progress); })
        .def("test_minibatch",
             [state](MinibatchTrainer& trainer, const py::object& given)
             {
                 Api::Session& session = trainer.TestingSession();
                 const Api::Session::Arguments arguments = ArgumentsFrom(session, given);
                 MinibatchTrainer::Result result;
                 {
                     const py::gil_scoped_release released;
                     const auto lock = state->context.Lock(*session.GetDevice());
                     result = trainer.Test(arguments);
                 }
                 return ResultTuple(result);
             })
        .def("begin_epoch", &MinibatchTrainer::BeginEpoch)
        .def("rate_of", &MinibatchTrainer::RateOf)
        .def("set_rate", &MinibatchTrainer::SetRate)
        .def_property_readonly("samples_seen", &MinibatchTrainer::SamplesSeen)
        .def("save_checkpoint", &MinibatchTrainer::SaveCheckpoint)
        .def("restore_checkpoint", &MinibatchTrainer::RestoreCheckpoint);
}

} // namespace cntk::Python
