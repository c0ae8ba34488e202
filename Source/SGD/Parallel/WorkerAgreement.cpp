#include "SGD/Parallel/WorkerAgreement.h"

#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

namespace cntk
{

namespace
{

constexpr std::string_view c_modelPath = "modelPath"; // may differ between machines

// At least one worker has an error.
Error ErrorOfAll(Workers& workers, const std::optional<Error>& own)
{
    const std::vector<std::string> texts = workers.Gather(own ? own->Message() : std::string());
    if (own)
        return *own;
    const auto first = std::find_if(texts.begin(), texts.end(), [](const std::string& text) { return !text.empty(); });
    Error error(ErrorKind::Data, first == texts.end() ? "its data could not be read" : *first);
    error.AddNote(Concat("in worker ", first - texts.begin(), " of ", workers.Count()));
    return error;
}

template <class S>
void AppendOptions(const S& options, std::string& lines)
{
    for (const Option<S>& option : S::Options())
        if (option.print && !option.info.hasNoEffect && option.info.name != c_modelPath)
            lines += Concat(option.info.name, "=", option.print(options), "\n");
}

void RequireSame(Workers& workers, const std::string& ownLines)
{
    const std::vector<std::string> all = workers.Gather(ownLines);
    for (size_t i = 1; i < all.size(); ++i)
    {
        if (all[i] == all[0])
            continue;
        const std::vector<std::string_view> ours = Split(all[0], '\n'), theirs = Split(all[i], '\n');
        const auto [first, other] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
        const auto text = [](auto line, const auto& lines)
        { return line == lines.end() || line->empty() ? std::string_view("nothing more") : *line; };
        Fail(ErrorKind::Config, "worker 0 has ", text(first, ours), ", worker ", i, " ", text(other, theirs),
             "; all workers need the same config");
    }
}

} // namespace

void SumCounts(Workers& workers, std::span<double> numbers, const std::optional<Error>& error)
{
    std::vector<double> own(numbers.begin(), numbers.end());
    own.push_back(error ? 1 : 0);
    const size_t size = own.size();
    std::vector<double> all(size * workers.Count());
    workers.Gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    std::fill(own.begin(), own.end(), 0);
    for (size_t i = 0; i < all.size(); ++i)
        own[i % size] += all[i];
    if (own.back() != 0)
        throw ErrorOfAll(workers, error);
    std::copy(own.begin(), own.end() - 1, numbers.begin());
}

std::optional<Error> AnyError(Workers& workers, const std::optional<Error>& own)
{
    if (!workers.Any(own.has_value()))
        return std::nullopt;
    return ErrorOfAll(workers, own);
}

DifferentData::DifferentData(size_t ended, size_t continuing)
    : Error(ErrorKind::Data, Concat("worker ", ended, " has come to the end of its data, worker ", continuing,
                                    " has not; all workers need the same data"))
{
}

bool AnyWorkerStops(Workers& workers, WorkerState own)
{
    const std::vector<double> all = workers.Gather(double(own));
    const auto is = [](WorkerState state) { return [state](double value) { return value == double(state); }; };
    if (std::any_of(all.begin(), all.end(), is(WorkerState::Fails)))
        return true;
    const auto ended = std::find_if(all.begin(), all.end(), is(WorkerState::HasEnded));
    const auto continuing = std::find_if_not(all.begin(), all.end(), is(WorkerState::HasEnded));
    if (ended != all.end() && continuing != all.end())
        throw DifferentData(size_t(ended - all.begin()), size_t(continuing - all.begin()));
    return std::any_of(all.begin(), all.end(), is(WorkerState::Stops));
}

void RequireSameOptions(Workers& workers, const SgdOptions& options, std::string lines)
{
    AppendOptions(options, lines);
    AppendOptions(options.autoAdjust, lines);
    AppendOptions(options.parallelTrain, lines);
    AppendOptions(options.parallelTrain.dataParallel, lines);
    AppendOptions(options.parallelTrain.modelAveraging, lines);
    AppendOptions(options.parallelTrain.blockMomentum, lines);
    RequireSame(workers, lines);
}

void RequireSameNetwork(Workers& workers, const ComputationNetwork& network, const TrainingNodes& nodes)
{
    std::string lines = Concat("the criterion '", nodes.criterion->Name(), "'\n");
    for (const ComputationNodePtr& node : nodes.evaluations)
        lines += Concat("the evaluation node '", node->Name(), "'\n");
    for (const ComputationNodePtr& node : network.Nodes())
        if (const auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node))
            lines += Concat("the parameter '", node->Name(), "' of ", parameter->Values().Rows(), " x ",
                            parameter->Values().Columns(), "\n");
    RequireSame(workers, lines);
}

} // namespace cntk
