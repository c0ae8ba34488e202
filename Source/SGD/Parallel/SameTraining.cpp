#include "SGD/Parallel/SameTraining.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

namespace
{

constexpr std::string_view c_modelPath = "modelPath"; // a folder may have another name on another machine

// A line "name=value" for each row of the options' table.
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

void RequireSameOptions(Workers& workers, const TrainingRequest& request)
{
    std::string lines = Concat("precision=", NameOf(request.dataType), "\n");
    lines += request.makeMode ? "makeMode=true\n" : "makeMode=false\n";
    lines += request.openCvReader ? "a cvReader\n" : "no cvReader\n";
    lines += Concat("trainingSeed=", request.trainingSeed, "\n");
    AppendOptions(request.options, lines);
    AppendOptions(request.options.autoAdjust, lines);
    AppendOptions(request.options.parallelTrain, lines);
    AppendOptions(request.options.parallelTrain.dataParallel, lines);
    AppendOptions(request.options.parallelTrain.modelAveraging, lines);
    AppendOptions(request.options.parallelTrain.blockMomentum, lines);
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
