// What the actions of networks that are trained as one share (book 2.7, 3.5.11): how they are paired, and how their
// readers come together.
#pragma once

#include "ActionsLib/Action.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// Which nodes of an encoder its decoder takes values from; empty: the first output node of the encoder.
struct PairOptions
{
    std::vector<std::string> encoderNodes;
    std::vector<std::string> decoderNodes;
    SourcePos encoderPlace; // where they are given
    SourcePos decoderPlace;

    static OptionTable<PairOptions> Options();
};
PairOptions ReadPairOptions(const ConfigParameters& block);

// Fails (Config) where the reader's block asks for single samples: words would be paired as if they were sentences.
void RequireSentences(const ConfigParameters& reader);

// The node that a decoder is made for where no names are given.
ComputationNodePtr OutputOfEncoder(const ComputationNetwork& encoder);

// The node that encoderNodes names there; an error has their place.
ComputationNodePtr RequireEncoderNode(const ComputationNetwork& encoder, const PairOptions& options, size_t index);

// Connects the PairNetwork nodes of the network with nodes of the encoder and validates it. The nodes of the encoder
// that values are taken from.
std::vector<ComputationNodePtr> PairNetworks(ComputationNetwork& encoder, ComputationNetwork& network,
                                             const PairOptions& options, Log& log);

} // namespace cntk
