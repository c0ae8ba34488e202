// Pairing of networks that are trained as one, and requirements on their readers (book 2.7, 3.5.11).
#pragma once

#include "ActionsLib/Action.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// The nodes of an encoder from which its decoder takes values; empty: the first output node of the encoder.
struct PairOptions
{
    std::vector<std::string> encoderNodes;
    std::vector<std::string> decoderNodes;
    SourcePos encoderPlace; // in the config
    SourcePos decoderPlace;

    static OptionTable<PairOptions> Options();
};
PairOptions ReadPairOptions(const ConfigParameters& block);

// Fails (Config) if the reader delivers single samples: words would be paired as if they were sentences.
void RequireSentences(const ConfigParameters& reader);

// The encoder's node for a decoder without encoderNodes.
ComputationNodePtr OutputOfEncoder(const ComputationNetwork& encoder);

// The node of that index in encoderNodes; errors get the place of encoderNodes.
ComputationNodePtr RequireEncoderNode(const ComputationNetwork& encoder, const PairOptions& options, size_t index);

// Connects the PairNetwork nodes of the network with nodes of the encoder and validates the network. Returns these
// nodes of the encoder.
std::vector<ComputationNodePtr> PairNetworks(ComputationNetwork& encoder, ComputationNetwork& network,
                                             const PairOptions& options, Log& log);

} // namespace cntk
