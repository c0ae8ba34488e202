// Decodes one utterance after the other in one thread: search, best path, lattice. Several of them share graph,
// language models and tables.
#pragma once

#include "Decoder/AlignmentConstraint.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/DecodingGraph.h"
#include "Decoder/LanguageModels.h"
#include "Decoder/ResultFiles.h"
#include "Decoder/StateTables.h"
#include "Decoder/TokenSearch.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// Tables that all threads share, read-only.
struct DecoderTables
{
    std::unique_ptr<DecodingGraph> graph;
    PhoneTable phones;
    std::vector<uint32_t> rowOfState; // by state of the graph
    uint32_t rows = 0;                // that a matrix of scores needs
    size_t fewestFrames = 0;          // of a sentence
    double silenceCost = 0;           // that is charged
    std::unique_ptr<LanguageModels> models;
    std::unique_ptr<Transcripts> transcripts; // for forced alignment
};

struct UtteranceOutcome
{
    UtteranceResult result;
    SearchCounts counts;
    double score = 0;
    double searchSeconds = 0; // of this thread
    bool isPartial = false;
    std::string warning; // empty: none
    std::string failure; // why there is no result; empty: there is one
};

class UtteranceDecoder
{
public:
    UtteranceDecoder(const DecodeOptions& options, const DecoderTables& tables);
    UtteranceOutcome Decode(const UtteranceScores& scores);

private:
    void Search(const UtteranceScores& scores, WordScorer& scorer, UtteranceOutcome& outcome);
    void AddLatticeResults(const UtteranceScores& scores, WordScorer& scorer, UtteranceOutcome& outcome);

    const DecodeOptions& m_options;
    const DecoderTables& m_tables;
    TokenSearch m_search;
    std::unique_ptr<LanguageScorer> m_languageScorer;
    bool m_needsLattice;
};

} // namespace cntk
