// Options of the decoder (book 6.1.3): one record for each option serves the command line of `cntk argon`, the keys of
// action=decode, the help and the reference page.
#pragma once

#include "Common/Config/Options.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct DecodeOptions
{
    // Compilation of a graph.
    bool precompile = false;
    std::string infsm;
    std::string transitionFile;
    std::string lookaheadFile;
    std::string modelMap;
    std::vector<std::string> silenceModels{"sil", "sp", "pau", "h#"};
    std::string graph;

    // Inputs.
    std::string infiles;
    std::string prefixPathInScp;
    std::string lm;
    std::string lmCollection;
    std::string am;
    std::string cntkmap;
    size_t dnnWindowSize = 11;
    std::string featureNode = "features";
    std::string outputNode = "ScaledLogLikelihood";
    std::string alignMlf;

    // Names in graph and language model.
    std::string sentenceStart = "<s>";
    std::string sentenceEnd = "</s>";
    std::string unknownWord = "<UNK>";

    // Search.
    double acweight = 0.0667;
    double silCost = 1.0;
    bool hasSilCost = false; // the user gives a silence cost
    double beam = 15;
    double wordEndBeamFrac = 0.33333;
    size_t maxTokens = 20000;
    size_t minTokens = 200;
    double lmSlackDecay = 0.9;
    double latticeBeam = 8;
    bool allowPartial = true;
    size_t threads = 1;
    std::string deviceId = "auto"; // read by the owner of the network
    int traceLevel = 1;

    // Results.
    std::string outmlf;
    bool detailedAlignment = false;
    std::string latticePrefix;
    size_t nbest = 0;
    std::string outnbest;
    std::string outscores;
    std::string outctm;

    static const OptionTable<DecodeOptions>& Options();
};

// Reads and checks the options. Fails (Config) for required options that are missing and for options that contradict
// each other.
DecodeOptions ReadDecodeOptions(const ConfigParameters& block);

// Returns the name without '-' and '_' and in lower case: max-tokens, max_tokens and maxTokens are one option.
std::string PlainOptionName(std::string_view name);

} // namespace cntk
