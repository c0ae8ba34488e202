#include "ActionsLib/Actions/EncoderDecoder.h"

#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

namespace
{

std::vector<ComputationNodePtr> PairNodesOf(const ComputationNetwork& network)
{
    std::vector<ComputationNodePtr> nodes = network.Nodes();
    std::erase_if(nodes, [](const ComputationNodePtr& node) { return node->TypeName() != "PairNetwork"; });
    return nodes;
}

} // namespace

OptionTable<PairOptions> PairOptions::Options()
{
    using S = PairOptions;
    return {
        Opt("encoderNodes", &S::encoderNodes,
            "nodes of the encoder from which the decoder takes values, one for each of decoderNodes; empty: the "
            "encoder's first output node, for all PairNetwork nodes; may stand in SGD, too"),
        Opt("decoderNodes", &S::decoderNodes, "PairNetwork nodes of the decoder, one for each of encoderNodes"),
    };
}

PairOptions ReadPairOptions(const ConfigParameters& block)
{
    PairOptions options = ReadOptions<PairOptions>(block);
    options.encoderPlace = block.WhereOf("encoderNodes");
    options.decoderPlace = block.WhereOf("decoderNodes");
    if (options.encoderNodes.size() != options.decoderNodes.size())
    {
        FailAt(options.decoderNodes.empty() ? options.encoderPlace : options.decoderPlace, ErrorKind::Config,
               "encoderNodes names ", options.encoderNodes.size(), " nodes and decoderNodes ",
               options.decoderNodes.size(), "; expected the same number");
    }
    return options;
}

void RequireSentences(const ConfigParameters& reader)
{
    if (const auto parts = reader.ExistsHere("readers") ? reader.FindHere("readers") : std::nullopt)
    {
        for (const ConfigValue& part : parts->AsArray())
            if (const ConfigParameters* const block = reader.FindBlockHere(part.Text()))
                RequireSentences(*block);
        return;
    }
    if (!reader.Exists("frameMode"))
        if (const auto description = DescriptionOfReader(reader))
            for (const PluginOption& option : description->options)
                if (EqualsIgnoreCase(option.name, "frameMode") && option.defaultText == "true")
                    FailAt(reader.Where(), ErrorKind::Config, "block '", reader.Path(), "': frameMode of ",
                           ReaderTypeOf(reader),
                           " is true by default, which makes each frame a sequence of its own; an encoder and a "
                           "decoder are paired sentence by sentence; expected frameMode=false");
    for (const char* key : {"frameMode", "skipSequenceIds"})
        if (const auto value = reader.Find(key); value && value->AsBool())
            FailAt(value->Where(), ErrorKind::Config, "block '", reader.Path(), "': ", key,
                   "=true makes each word a sequence of its own; an encoder and a decoder are paired sentence by "
                   "sentence; expected ",
                   key, "=false");
}

ComputationNodePtr OutputOfEncoder(const ComputationNetwork& encoder)
{
    const auto& outputs = encoder.Group(NodeGroup::Output);
    if (outputs.empty())
        Fail(ErrorKind::Model, "the encoder names no output node for its decoder; give the encoder "
                               "OutputNodes=(...), or encoderNodes and decoderNodes in the SGD block");
    return outputs.front();
}

ComputationNodePtr RequireEncoderNode(const ComputationNetwork& encoder, const PairOptions& options, size_t index)
{
    return AtPlace([&] { return encoder.Require(options.encoderNodes[index]); }, options.encoderPlace);
}

std::vector<ComputationNodePtr> PairNetworks(ComputationNetwork& encoder, ComputationNetwork& network,
                                             const PairOptions& options, Log& log)
{
    std::vector<ComputationNodePtr> sources;
    const auto pair = [&](const ComputationNodePtr& source, const ComputationNodePtr& node)
    {
        network.Pair(node, encoder, source);
        log.Print("paired %s <-> %s\n", source->Name().c_str(), node->Name().c_str());
        if (std::find(sources.begin(), sources.end(), source) == sources.end())
            sources.push_back(source);
    };
    for (size_t i = 0; i < options.decoderNodes.size(); i++)
    {
        const ComputationNodePtr source = RequireEncoderNode(encoder, options, i);
        const ComputationNodePtr node =
            AtPlace([&] { return network.Require(options.decoderNodes[i]); }, options.decoderPlace);
        if (node->TypeName() != "PairNetwork")
            FailAt(options.decoderPlace, ErrorKind::Config, "decoderNodes: node '", node->Name(), "' (",
                   node->TypeName(), ") of the decoder is no PairNetwork node");
        pair(source, node);
    }
    if (options.decoderNodes.empty())
        for (const ComputationNodePtr& node : PairNodesOf(network))
            pair(OutputOfEncoder(encoder), node);
    if (sources.empty())
        Fail(ErrorKind::Model, "the decoder has no PairNetwork node that connects it with the encoder; use "
                               "rnnType=ALIGNMENTSIMILARITYGENERATOR, or PairNetwork(x) in a network description");
    network.Validate();
    return sources;
}

} // namespace cntk
