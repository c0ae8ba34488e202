// Values and gradients of graphs.
#include "Api/Session.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <algorithm>
#include <pybind11/stl.h>

namespace cntk::Python
{

namespace
{

using Api::NodePtr;
using Api::Session;

enum class ListForm
{
    AsFed,    // sheet 8.2
    Sequences // C.eval: always a list with an array for each sequence
};

std::string NamesOf(const Session& session)
{
    std::vector<std::string> names;
    for (const Session::Argument& argument : session.ArgumentList())
        if (argument.uid != 0)
            names.push_back("'" + argument.name + "'");
    return names.empty() ? "none" : Join(names, ", ");
}

// Returns the argument of a key, a node or a name.
const Session::Argument& ArgumentOf(const Session& session, const py::handle& key)
{
    const std::vector<Session::Argument>& arguments = session.ArgumentList();
    if (py::isinstance<Api::Node>(key))
    {
        const auto& node = key.cast<const Api::Node&>();
        for (const Session::Argument& argument : arguments)
            if (argument.uid == node.uid)
                return argument;
        Fail(ErrorKind::Data, "the arguments have values for ", node.Describe(), " (", node.TypeName(),
             "), which is no input of what is computed; its inputs are ", NamesOf(session));
    }
    if (!py::isinstance<py::str>(key))
        FailType(Concat("a key of the arguments is ", py::repr(key).cast<std::string>(),
                        "; expected inputs or their names"));
    const std::string name = key.cast<std::string>();
    const Session::Argument* found = nullptr;
    std::vector<std::string> names;
    for (const Session::Argument& argument : arguments)
    {
        if (argument.uid == 0)
            continue;
        names.push_back(argument.name);
        if (argument.name != name)
            continue;
        if (found != nullptr)
            Fail(ErrorKind::Data, "two inputs are named '", name, "'; use the inputs themselves as keys");
        found = &argument;
    }
    if (found == nullptr)
        Fail(ErrorKind::Data, "the arguments have values for '", name,
             "', but there is no input of this name; the inputs are ", NamesOf(session), DidYouMean(name, names));
    return *found;
}

bool IsArgument(const Session& session, const py::handle& key)
{
    const auto& all = session.ArgumentList();
    if (py::isinstance<Api::Node>(key))
        return std::any_of(all.begin(), all.end(),
                           [uid = key.cast<const Api::Node&>().uid](const auto& argument)
                           { return argument.uid == uid; });
    return py::isinstance<py::str>(key) &&
           std::any_of(all.begin(), all.end(),
                       [name = key.cast<std::string>()](const auto& argument) { return argument.name == name; });
}

std::shared_ptr<const Api::InputData> DataOf(const Session::Argument& argument, const py::handle& value)
{
    return DataFrom(value, argument.name, argument.shape, argument.axis, argument.type, BlockType::AnyFloat);
}

} // namespace

Session::Arguments ArgumentsFrom(const Session& session, const py::object& given)
{
    Session::Arguments arguments;
    if (given.is_none())
        return arguments;
    if (py::isinstance<py::dict>(given))
    {
        const bool hasMore = py::hasattr(given, "_may_have_more"); // a reader's minibatch
        for (const auto& [key, value] : given.cast<py::dict>())
        {
            if (hasMore && !IsArgument(session, key))
                continue;
            const Session::Argument& argument = ArgumentOf(session, key);
            if (!arguments.emplace(argument.uid, DataOf(argument, value)).second)
                Fail(ErrorKind::Data, "the arguments have values for '", argument.name, "' twice; expected one");
        }
        return arguments;
    }
    const auto isOpen = [](const Session::Argument& argument) { return !argument.hasOwnData && argument.uid != 0; };
    const auto& all = session.ArgumentList();
    const auto open = std::count_if(all.begin(), all.end(), isOpen);
    if (open != 1)
        Fail(ErrorKind::Data, "a value without the name of its input is given, but there are ", open,
             " inputs to feed: ", NamesOf(session), "; expected a dict of inputs and values");
    const Session::Argument& argument = *std::find_if(all.begin(), all.end(), isOpen);
    arguments.emplace(argument.uid, DataOf(argument, given));
    return arguments;
}

namespace
{

// Runs a session and copies out. The device stays locked until all is copied; Python's lock is only held for making
// arrays, because a thread must never wait for the device with it.
class Run
{
public:
    Run(State& state, Session& session) : m_state(state), m_session(session) {}

    template <class Body>
    void Compute(const Body& body)
    {
        const py::gil_scoped_release released;
        m_lock = m_state.context.Lock(*m_session.GetDevice());
        body();
    }
    py::list Roots(size_t count, ListForm form)
    {
        py::list values;
        for (size_t root = 0; root < count; root++)
            values.append(Copied(m_session.FormOfRoot(root), form,
                                 [&](std::span<void* const> blocks) { m_session.CopyRoot(root, blocks); }));
        return values;
    }
    py::list Gradients(size_t count)
    {
        py::list gradients;
        for (size_t wanted = 0; wanted < count; wanted++)
            gradients.append(Copied(m_session.FormOfGradient(wanted), ListForm::AsFed,
                                    [&](std::span<void* const> blocks) { m_session.CopyGradient(wanted, blocks); }));
        return gradients;
    }

private:
    template <class Copy>
    static py::object Copied(const Api::ValueForm& form, ListForm listForm, const Copy& copy)
    {
        std::vector<void*> blocks;
        py::object arrays = listForm == ListForm::AsFed ? ArraysFor(form, blocks) : SequenceArraysFor(form, blocks);
        const py::gil_scoped_release released;
        copy(blocks);
        return arrays;
    }

    State& m_state;
    Session& m_session;
    std::unique_lock<std::recursive_mutex> m_lock;
};

py::list Evaluate(State& state, const std::vector<NodePtr>& roots, const py::object& given, ListForm form)
{
    const std::shared_ptr<Session> session = Session::Get(state.context, roots, {});
    const Session::Arguments arguments = ArgumentsFrom(*session, given);
    Run run(state, *session);
    run.Compute(
        [&]
        {
            session->Feed(arguments);
            session->Forward();
        });
    return run.Roots(roots.size(), form);
}

py::list Differentiate(State& state, const NodePtr& root, const std::vector<NodePtr>& wanted, const py::object& given,
                       const py::object& rootGradient)
{
    Api::SessionOptions options;
    options.wanted = wanted;
    options.hasRootGradient = !rootGradient.is_none();
    const std::shared_ptr<Session> session = Session::Get(state.context, {root}, options);
    const Session::Arguments arguments = ArgumentsFrom(*session, given);
    std::shared_ptr<const Api::InputData> gradient;
    if (options.hasRootGradient)
        gradient = DataFrom(rootGradient, "root_gradient", *root->value.shape, root->value.axis, root->type);
    Run run(state, *session);
    run.Compute(
        [&]
        {
            session->Feed(arguments, gradient);
            session->Forward();
            session->Backward();
        });
    return run.Gradients(wanted.size());
}

} // namespace

void BindEvaluation(py::module_& module, const StatePtr& state)
{
    module.def("evaluate", [state](const std::vector<NodePtr>& roots, const py::object& arguments)
               { return Evaluate(*state, roots, arguments, ListForm::AsFed); });
    module.def("evaluate_sequences", [state](const std::vector<NodePtr>& roots, const py::object& arguments)
               { return Evaluate(*state, roots, arguments, ListForm::Sequences); });
    module.def("differentiate", [state](const NodePtr& root, const std::vector<NodePtr>& wanted,
                                        const py::object& arguments, const py::object& rootGradient)
               { return Differentiate(*state, root, wanted, arguments, rootGradient); });
    module.def("as_node", [state](const py::object& value) { return OperandFrom(*state, value, nullptr); });
}

} // namespace cntk::Python
