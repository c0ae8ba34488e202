// The program's whole training, and sums of criteria over a source.
#include "Api/Model.h"
#include "Api/Session.h"
#include "Api/WholeTraining.h"
#include "Common/Error.h"
#include "Common/Interruption.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <chrono>
#include <numeric>
#include <pybind11/stl.h>

namespace cntk::Python
{

namespace
{

using Api::NodePtr;
using Sources = std::map<std::string, NodePtr>;

// True if a signal of Python waits: Ctrl-C. The error stays set.
class SignalCheck
{
public:
    bool operator()()
    {
        const auto now = std::chrono::steady_clock::now();
        if (now - m_last < std::chrono::milliseconds(20))
            return false;
        m_last = now;
        const py::gil_scoped_acquire acquired;
        return PyErr_CheckSignals() != 0;
    }

private:
    std::chrono::steady_clock::time_point m_last = std::chrono::steady_clock::now();
};

void Train(State& state, const std::vector<NodePtr>& roots, const std::string& sgd, const std::string& modelPath,
           const std::string& logPath, const py::object& open, const Sources& streams)
{
    Api::WholeTraining training{roots, sgd, modelPath, logPath, {}, streams, SignalCheck()};
    training.open = [&]
    {
        const py::gil_scoped_acquire acquired;
        return open().cast<std::shared_ptr<Api::DataSource>>();
    };
    try
    {
        const py::gil_scoped_release released;
        Api::Train(state.context, training);
    }
    catch (const Interrupted&)
    {
        if (PyErr_Occurred() == nullptr)
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw py::error_already_set();
    }
}

// Sums nodes over an epoch. Returns the sums and the number of samples.
py::tuple SumOver(State& state, const std::vector<NodePtr>& nodes, Api::DataSource& source, const Sources& mapped,
                  size_t minibatchSize)
{
    const std::shared_ptr<Api::Session> session = Api::Session::Get(state.context, nodes, {});
    const std::map<std::string, uint64_t> uids = session->UidsOf(source.Streams(), mapped);
    std::vector<std::string> wanted;
    for (const auto& [stream, uid] : uids)
        wanted.push_back(stream);
    std::vector<double> sums(nodes.size(), 0);
    size_t samples = 0;
    bool isInterrupted = false;
    {
        const py::gil_scoped_release released;
        source.StartEpoch(0, minibatchSize, wanted);
        std::vector<std::shared_ptr<const Api::InputData>> streams;
        SignalCheck check;
        while (!isInterrupted && source.Next(streams))
        {
            const Api::Session::Arguments arguments = Api::ArgumentsOf(source.Streams(), uids, streams);
            const auto lock = state.context.Lock(*session->GetDevice());
            session->Feed(arguments);
            session->Forward();
            for (size_t i = 0; i < nodes.size(); i++)
                sums[i] += session->SumOfRoot(i);
            samples += session->Samples();
            isInterrupted = check();
        }
    }
    if (isInterrupted)
        throw py::error_already_set();
    ForwardLog(source);
    return py::make_tuple(sums, samples);
}

} // namespace

void BindContexts(py::module_& module, const StatePtr& state)
{
    module.def("train", [state](const std::vector<NodePtr>& roots, const std::string& sgd, const std::string& modelPath,
                                const std::string& logPath, const py::object& open, const Sources& streams)
               { Train(*state, roots, sgd, modelPath, logPath, open, streams); });
    module.def("sum_over",
               [state](const std::vector<NodePtr>& nodes, Api::DataSource& source, const Sources& mapped,
                       size_t minibatchSize) { return SumOver(*state, nodes, source, mapped, minibatchSize); });
    module.def(
        "precompute",
        [state](const std::vector<NodePtr>& nodes, Api::DataSource& source, const Sources& mapped, size_t minibatchSize)
        {
            {
                const py::gil_scoped_release released;
                Api::Precompute(state->context, nodes, source, mapped, minibatchSize);
            }
            ForwardLog(source);
        });
    module.def("sgd_options",
               []
               {
                   py::list options;
                   for (const Api::OptionText& text : Api::SgdOptionTexts())
                       options.append(py::make_tuple(text.name, text.aliases, text.defaultText, text.doc));
                   return options;
               });
}

} // namespace cntk::Python
