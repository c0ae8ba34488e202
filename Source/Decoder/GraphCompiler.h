// Compilation of an acceptor to the binary graph (-precompile, book 6.1.3.1): removes what no sentence uses, finds the
// optional silences that -sil-cost is charged for, and orders arcs for the search.
#pragma once

#include "Common/Log.h"
#include "Decoder/AcceptorText.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/DecodingGraph.h"
#include "Decoder/StateTables.h"

#include <string>
#include <unordered_map>

namespace cntk
{

struct GraphTables
{
    std::string transitionPath; // for messages
    std::unordered_map<std::string, Transition> transitions;
    std::unordered_map<std::string, double> lookahead;
    bool hasLookahead = false;
    std::vector<ModelStates> models; // empty: unknown
    std::vector<std::string> silenceModels;
    std::string sentenceEnd = "</s>";
};

// Reads the tables that the options name.
GraphTables ReadGraphTables(const DecodeOptions& options);

// Fails (Data) if states lack transitions, if no final state can be reached, and for cycles of word arcs. Warns of
// words that are states, and of weighted word arcs without look-ahead scores.
GraphContent BuildGraph(const Acceptor& acceptor, const GraphTables& tables, Log& log);

// Compiles options.infsm to options.graph, and logs the sizes.
void CompileGraph(const DecodeOptions& options, Log& log);

} // namespace cntk
