// Where a decoder's acoustic scores come from: files of scores, or a network (-am) and files of features.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/ScoreSource.h"

#include <memory>

namespace cntk
{

// Scores that stand in the files of the list (kind USER, as HTKMLFWriter writes them).
std::unique_ptr<ScoreSource> MakeScoreFiles(const DecodeOptions& options);

// Scores that the network computes, several short utterances in one batch. With several threads the network runs next
// to the search. Fails (Config) if the network lacks the nodes or needs other inputs, and (Data) if
// its input does not have the rows of a frame times -dnn_window_size. network: validated and loaded in its precision.
std::unique_ptr<ScoreSource> MakeNetworkScores(const DecodeOptions& options,
                                               std::unique_ptr<ComputationNetwork> network);

} // namespace cntk
