// The decoder's acoustic scores from a network (-am) and files of features.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/ScoreSource.h"

#include <memory>

namespace cntk
{

// Evaluates several short utterances in one batch. With several threads the network runs next to the search. Fails
// (Model) if the network lacks the nodes, (Config) if it needs other inputs, and (Data) if its input does not have the
// rows of a frame times -dnn_window_size. network: validated.
std::unique_ptr<ScoreSource> MakeNetworkScores(const DecodeOptions& options,
                                               std::unique_ptr<ComputationNetwork> network);

} // namespace cntk
