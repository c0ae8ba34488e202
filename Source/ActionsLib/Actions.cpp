// The tables of actions and of blocks, for help, documentation and suggestions.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/TextOutput.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLib/Networks/SimpleNetworkBuilder.h"
#include "ActionsLib/RootOptions.h"
#include "Common/Text.h"
#include "SGD/TrainingOptions.h"

#include <utility>

namespace cntk
{

namespace
{

template <class S>
void CheckValues(const ConfigParameters& block)
{
    ReadOptions<S>(block);
}

} // namespace

std::vector<OptionInfo> WithModelPath(std::string doc, std::vector<OptionInfo> options, bool isRequired)
{
    OptionInfo info;
    info.name = "modelPath";
    info.type = "text";
    info.doc = std::move(doc);
    info.isRequired = isRequired;
    options.insert(options.begin(), std::move(info));
    return options;
}

std::span<const Action> Actions()
{
    static const std::vector<Action> actions = {MakeTrainAction(),
                                                MakeTestAction(),
                                                MakeCvAction(),
                                                MakeWriteAction(),
                                                MakeDumpNodeAction(),
                                                MakePlotAction(),
                                                MakeCreateLabelMapAction(),
                                                MakeWordClassAction(),
                                                MakeEditAction(),
                                                MakeSvdAction(),
                                                MakeAdaptAction(),
                                                MakeConvertDbnAction(),
                                                MakeExportDbnAction(),
                                                MakeTrainSequenceAction(),
                                                MakeTrainEncoderDecoderAction(),
                                                MakeTrainBidirectionEncoderDecoderAction(),
                                                MakeTestEncoderDecoderAction(),
                                                MakeGradientCheckAction(),
                                                MakeDecodeAction(),
                                                MakeExportAction(),
                                                MakeImportAction()};
    return actions;
}

bool IsReaderBlock(std::string_view name)
{
    return ToLower(name).ends_with("reader");
}

const Action* FindAction(std::string_view name)
{
    for (const Action& action : Actions())
    {
        if (EqualsIgnoreCase(action.name, name))
            return &action;
        for (const std::string& alias : action.aliases)
            if (EqualsIgnoreCase(alias, name))
                return &action;
    }
    return nullptr;
}

std::string WhyMissingAction(std::string_view name)
{
    struct Absent
    {
        const char* name;
        const char* why;
    };
    constexpr Absent c_absent[] = {
        {"beamSearch",
         "it is not known which input of a network takes its predictions, and where a sentence begins and "
         "ends; testEncoderDecoder searches with an encoder and a decoder"},
        {"testunroll",
         "it evaluates a recurrent network step by step, as a debugging aid; action=test evaluates networks"},
        {"devtest", "it runs the tests of the original's developers; action=gradientCheck checks the gradients of a "
                    "network, and this program's own tests are run by 'make test'"},
    };
    for (const Absent& absent : c_absent)
        if (EqualsIgnoreCase(absent.name, name))
            return absent.why;
    return {};
}

std::span<const BlockRecord> Blocks()
{
    static const std::vector<BlockRecord> blocks = {
        {"root", "Parameters at the root of a config, outside of all blocks.", "", DescribeOptions<RootOptions>(),
         CheckValues<RootOptions>},
        {"SGD", "The learner: criterion, learning rates, epochs. The block may also be called optimizer.", "train",
         DescribeOptions<SgdOptions>(), CheckValues<SgdOptions>},
        {"AutoAdjust", "Automatic control of the learning rate and of the minibatch size.", "SGD",
         DescribeOptions<AutoAdjustOptions>(), CheckValues<AutoAdjustOptions>},
        {"ParallelTrain", "Training on several machines.", "SGD", DescribeOptions<ParallelTrainOptions>(),
         CheckValues<ParallelTrainOptions>},
        {"DataParallelSGD", "How several workers exchange gradients.", "ParallelTrain",
         DescribeOptions<DataParallelOptions>(), CheckValues<DataParallelOptions>},
        {"ModelAveragingSGD", "How several workers average their models.", "ParallelTrain",
         DescribeOptions<ModelAveragingOptions>(), CheckValues<ModelAveragingOptions>},
        {"BlockMomentumSGD", "How several workers train on blocks of data and average their models with momentum.",
         "ParallelTrain", DescribeOptions<BlockMomentumOptions>(), CheckValues<BlockMomentumOptions>},
        // The write action does not list the builders: with a model it does not read them.
        {"SimpleNetworkBuilder", "A standard network from a list of layer sizes.", "write",
         DescribeOptions<SimpleNetworkOptions>(), CheckValues<SimpleNetworkOptions>},
        {"NDLNetworkBuilder", "A network from a network description (NDL).", "write",
         DescribeOptions<NdlNetworkOptions>(), CheckValues<NdlNetworkOptions>},
        {"format",
         "How the write action prints numbers. In the separators and in sequencePrologue and sequenceEpilogue "
         "\\n, \\r, \\t and \\s stand for newline, carriage return, tab and blank. %s stands for the node's name, "
         "%n for the minibatch's number (from 0), %d for the sequence's, %x for its dimensions and time steps.",
         "write", DescribeOptions<OutputFormat>(), CheckValues<OutputFormat>},
    };
    return blocks;
}

} // namespace cntk
