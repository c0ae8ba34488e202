// Result files of the decoder: MLF with and without states, CTM, n-best lists and scores. Each is written whole, in the
// order of the utterances.
#pragma once

#include "Common/File.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/DecodedPath.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// A word with its times, in frames, and its posterior in the lattice.
struct ResultWord
{
    std::string word;
    uint32_t begin = 0;
    uint32_t end = 0;
    double acoustic = 0;
    double confidence = 1;
};

struct ResultSentence
{
    double score = 0;
    std::vector<std::string> words;
};

// Results of one utterance. Without a path the utterance has none.
struct UtteranceResult
{
    std::string name;
    size_t frames = 0;
    double framePeriod = 100000; // in units of 100 ns
    bool hasPath = false;
    DecodedPath path;
    PathSegments segments;
    std::vector<ResultWord> words; // without the words that start and end sentences
    std::vector<ResultSentence> nbest;
    std::string lattice; // SLF text
};

class ResultFiles
{
public:
    // Opens the files that the options name. The graph and phones must outlive the object.
    ResultFiles(const DecodeOptions& options, const DecodingGraph& graph, const PhoneTable& phones);

    // Adds the utterance with the given place in the list. Utterances come in rising order.
    void Add(size_t number, const UtteranceResult& result);
    void Commit();

private:
    std::string MlfText(const UtteranceResult& result) const;
    std::string StatesText(const UtteranceResult& result) const;
    std::string ScoresLine(const UtteranceResult& result) const;

    const DecodeOptions& m_options;
    const DecodingGraph& m_graph;
    const PhoneTable& m_phones;
    std::unique_ptr<AtomicFile> m_mlf;
    std::unique_ptr<AtomicFile> m_scores;
    std::unique_ptr<AtomicFile> m_nbest;
    std::unique_ptr<AtomicFile> m_ctm;
    std::string m_latticeList;
};

// The words of a path without those that start and end sentences, with their times.
std::vector<ResultWord> WordsOf(const DecodedPath& path, const PathSegments& segments, const DecodingGraph& graph,
                                const DecodeOptions& options);

} // namespace cntk
