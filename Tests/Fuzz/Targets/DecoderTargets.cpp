// Fuzz targets of the decoder's files: language models, acceptors with their tables, graphs, transcripts.
#include "Decoder/AcceptorText.h"
#include "Decoder/AlignmentConstraint.h"
#include "Decoder/ArpaModel.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/DecodingGraph.h"
#include "Decoder/GraphCompiler.h"
#include "Fuzz/FuzzTarget.h"

#include <algorithm>
#include <cstring>
#include <random>

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

// Changes a number of a graph and mends the size and the checksum in its header, as DecodingGraph.cpp defines them.
size_t MutateGraph(uint8_t* data, size_t size, size_t maxSize, unsigned seed)
{
    constexpr size_t c_lookahead = 16, c_size = 24, c_checksum = 32, c_counts = 40;
    if (size < c_counts + sizeof(uint64_t))
        return std::min(size, maxSize);
    std::mt19937 random(seed);
    const size_t changed = c_counts + random() % (size - c_counts) / sizeof(uint32_t) * sizeof(uint32_t);
    const uint32_t number = random() >> random() % 32;
    std::memcpy(data + changed, &number, std::min(sizeof number, size - changed));
    const auto wordAt = [&](size_t at)
    {
        uint64_t word = 0;
        std::memcpy(&word, data + at, std::min(sizeof word, size - at));
        return word;
    };
    uint64_t checksum = 0xcbf29ce484222325ull + wordAt(c_lookahead);
    for (size_t at = c_counts; at < size; at += sizeof(uint64_t))
    {
        checksum = (checksum ^ wordAt(at)) * 0x100000001b3ull;
        checksum ^= checksum >> 31;
    }
    const uint64_t bytes = size;
    std::memcpy(data + c_size, &bytes, sizeof bytes);
    std::memcpy(data + c_checksum, &checksum, sizeof checksum);
    return size;
}

void FuzzTranscripts(std::string_view input)
{
    const Transcripts transcripts(InputPath("a.mlf", input), DecodeOptions());
    (void)transcripts.Find("u1");
}

} // namespace

std::vector<FuzzTarget> DecoderTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"Arpa", FuzzArpa, {4000, 8 * mega}},
            {"Acceptor", FuzzAcceptor, {4000, 8 * mega}},
            {"Graph", FuzzGraph, {100, 8 * mega}, MutateGraph},
            {"Transcripts", FuzzTranscripts, {200, 8 * mega}}};
}

} // namespace cntk
