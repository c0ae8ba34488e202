// Fuzz targets of the decoder's files: language models, acceptors with their tables, graphs, transcripts.
#include "Decoder/AcceptorText.h"
#include "Decoder/AlignmentConstraint.h"
#include "Decoder/ArpaModel.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/DecodingGraph.h"
#include "Decoder/GraphCompiler.h"
#include "Fuzz/FuzzTarget.h"

#include <algorithm>

namespace cntk
{

namespace
{

void FuzzArpa(std::string_view input)
{
    const ArpaModel model(InputPath("a.arpa", input), "<s>", "</s>");
    uint32_t history = model.StartHistory();
    for (const char* word : {"a", "b", "c", "a", "</s>"})
    {
        const uint32_t id = model.FindWord(word);
        if (id != ArpaModel::c_none)
            history = model.Extend(history, id).history;
    }
}

// Acceptor, transitions, look-ahead scores, state map.
void FuzzAcceptor(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 4);
    const std::unique_ptr<Log> log = MakeQuietLog();
    DecodeOptions options;
    options.precompile = true;
    options.infsm = InputPath("acceptor", parts[0]);
    options.transitionFile = InputPath("transitions", parts[1]);
    options.lookaheadFile = parts[2].empty() ? "" : InputPath("lookahead", parts[2]);
    options.modelMap = parts[3].empty() ? "" : InputPath("models", parts[3]);
    options.graph = InputFolder() + "/graph.dg";
    CompileGraph(options, *log);
    const DecodingGraph graph(options.graph);
    (void)graph.FewestFrames();
}

void FuzzGraph(std::string_view input)
{
    const DecodingGraph graph(InputPath("graph.dg", input));
    (void)graph.FewestFrames();
    for (uint32_t node = 0; node < graph.NodeCount(); node++)
    {
        (void)graph.FinalCost(node);
        for (const GraphArc& arc : graph.ArcsOf(node))
            (void)graph.Places()[arc.Place()].node;
    }
}

void FuzzTranscripts(std::string_view input)
{
    const Transcripts transcripts(InputPath("a.mlf", input), DecodeOptions());
    (void)transcripts.Find("u1");
}

} // namespace

// Language models and acceptors may be gzipped, which makes a text up to 1032 times smaller.
std::vector<FuzzTarget> DecoderTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"Arpa", FuzzArpa, {4000, 8 * mega}},
            {"Acceptor", FuzzAcceptor, {4000, 8 * mega}},
            {"Graph", FuzzGraph, {100, 8 * mega}},
            {"Transcripts", FuzzTranscripts, {200, 8 * mega}}};
}

} // namespace cntk
