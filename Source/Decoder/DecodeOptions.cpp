// The records of the decoder's options and the rules between them.
#include "Decoder/DecodeOptions.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <iterator>

namespace cntk
{

namespace
{

// The spellings of a config key with '-', with '_' and without both, except the name itself.
std::vector<std::string> SpellingsOf(const std::string& name)
{
    std::vector<std::string> spellings;
    for (const char separator : {'-', '_', '\0'})
    {
        std::string spelling;
        for (size_t i = 0; i < name.size(); ++i)
        {
            const bool isSeparator = name[i] == '-' || name[i] == '_';
            if (isSeparator && separator != '\0')
                spelling += separator;
            else if (!isSeparator)
            {
                const bool beginsWord = i > 0 && (name[i - 1] == '-' || name[i - 1] == '_');
                spelling +=
                    separator == '\0' && beginsWord && name[i] >= 'a' && name[i] <= 'z' ? char(name[i] - 32) : name[i];
            }
        }
        if (!EqualsIgnoreCase(spelling, name) &&
            std::none_of(spellings.begin(), spellings.end(),
                         [&](const std::string& other) { return EqualsIgnoreCase(other, spelling); }))
            spellings.push_back(spelling);
    }
    return spellings;
}

using S = DecodeOptions;

template <class T>
Option<S> Row(const std::string& name, T S::*member, std::string doc, Range range = {},
              std::vector<std::string> others = {})
{
    std::vector<std::string> aliases = SpellingsOf(name);
    for (const std::string& other : others)
    {
        aliases.push_back(other);
        const std::vector<std::string> spellings = SpellingsOf(other);
        std::copy_if(spellings.begin(), spellings.end(), std::back_inserter(aliases),
                     [&](const std::string& spelling) { return !EqualsIgnoreCase(spelling, name); });
    }
    return Opt(name, member, std::move(doc), range, std::move(aliases));
}

constexpr Range c_fraction{.min = 0, .max = 1};
constexpr Range c_positive{.min = 0, .minOpen = true};
constexpr Range c_notNegative{.min = 0};
constexpr Range c_atLeastOne{.min = 1};

OptionTable<S> GraphRows()
{
    return {
        Row("precompile", &S::precompile, "compile a graph from -infsm and -transition-file, then end (book 6.1.3.1)"),
        Row("infsm", &S::infsm, "acceptor as AT&T text, gzipped or plain: H, C and L without the language model", {},
            {"in-fsm"}),
        Row("transition-file", &S::transitionFile,
            "lines of state, ln of the self loop, ln of the way forward; for -precompile"),
        Row("lookahead-file", &S::lookaheadFile,
            "lines of word and ln of its best probability, which the acceptor's costs contain; for -precompile"),
        Row("model-map", &S::modelMap,
            "lines of model and its states from left to right; for -precompile: tells where phones and words begin and "
            "which states are silence"),
        Row("silence-models", &S::silenceModels, "models of -model-map that are silence"),
        Row("graph", &S::graph, "binary graph: written with -precompile true, else read").Required(),
    };
}

OptionTable<S> InputRows()
{
    return {
        Row("infiles", &S::infiles,
            "list of feature files (with -am) or score files, lines name=path[first,last], name=path or path; paths "
            "are "
            "relative to the folder of the list",
            {}, {"in-files"}),
        Row("prefixPathInSCP", &S::prefixPathInScp, "folder that the paths of -infiles are relative to"),
        Row("lm", &S::lm, "language model in ARPA format, gzipped or plain"),
        Row("lm-collection", &S::lmCollection,
            "list of language models to be interpolated, lines of weight and path; paths are relative to the list"),
        Row("am", &S::am, "CNTK model that computes the scores; without it -infiles lists files of scores", {},
            {"modelPath"}),
        Row("cntkmap", &S::cntkmap, "lines of state and row of the network's output, from 0", {}, {"cntk-map"}),
        Row("dnn_window_size", &S::dnnWindowSize,
            "odd number of frames next to each other in one input column; the edges repeat the first and last frame",
            c_atLeastOne),
        Row("feature-node", &S::featureNode, "input node of the model that takes the features"),
        Row("output-node", &S::outputNode,
            "node of the model whose values are the scores; if the model lacks it, its only output node"),
        Row("alignmlf", &S::alignMlf, "transcripts for forced alignment, which needs no language model", {},
            {"align-mlf"}),
        Row("sentence-start", &S::sentenceStart, "word that begins each sentence in graph and language model"),
        Row("sentence-end", &S::sentenceEnd, "word that ends each sentence in graph and language model"),
        Row("unknown-word", &S::unknownWord,
            "word of the language model for words that it lacks; <unk> counts as <UNK>"),
    };
}

OptionTable<S> SearchRows()
{
    return {
        Row("acweight", &S::acweight, "factor of the acoustic scores; the factor of the language model is 1",
            c_positive, {"ac-weight"}),
        Row("sil-cost", &S::silCost,
            "cost of each optional silence between words; needs a graph compiled with -model-map", c_notNegative),
        Row("beam", &S::beam, "tokens this far below the best of the frame are pruned, in units of the weighted score",
            c_positive),
        Row("word_end_beam_frac", &S::wordEndBeamFrac, "beam behind word arcs, as a part of -beam", c_fraction),
        Row("max-tokens", &S::maxTokens, "largest number of tokens kept in a frame", c_atLeastOne),
        Row("min-tokens", &S::minTokens, "the beam is widened in frames in which it would keep fewer tokens than this"),
        Row("lm-slack-decay", &S::lmSlackDecay,
            "factor of the slack at each frame; slack protects tokens whose look-ahead was replaced by the language "
            "model's score; 0 turns slack off",
            Range{.min = 0, .max = 1, .maxOpen = true}),
        Row("lattice-beam", &S::latticeBeam, "lattices hold the paths that are this close to the best path",
            c_notNegative),
        Row("allow-partial", &S::allowPartial,
            "without a token in a final state: true writes the best words so far and warns, false writes no result"),
        Row("threads", &S::threads, "utterances decoded at the same time; graph and language model are shared",
            Range{.min = 1, .max = 1024}),
        Row("deviceId", &S::deviceId, "device of the network: auto, cpu, -1, or the number of a GPU"),
        Row("traceLevel", &S::traceLevel, "above 0: one line of the log for each utterance"),
    };
}

OptionTable<S> ResultRows()
{
    return {
        Row("outmlf", &S::outmlf, "results as an HTK MLF", {}, {"out-mlf"}),
        Row("detailed-alignment", &S::detailedAlignment, "true: states and phones in -outmlf"),
        Row("lattice-prefix", &S::latticePrefix,
            "lattices <prefix>0, <prefix>1, ... as HTK SLF with states, and <prefix>toc, which lists them"),
        Row("nbest", &S::nbest, "number of word sequences for each utterance in -outnbest", {}, {"n-best"}),
        Row("outnbest", &S::outnbest, "table of the best word sequences", {}, {"out-nbest"}),
        Row("outscores", &S::outscores, "table of the score of each utterance and its parts", {}, {"out-scores"}),
        Row("outctm", &S::outctm, "words with times and confidences", {}, {"out-ctm"}),
    };
}

[[noreturn]] void FailNeeds(const ConfigParameters& block, const char* name, const char* what)
{
    FailAt(block.Where(), ErrorKind::Config, "option ", name, " is missing; it names ", what);
}

void CheckPrecompile(const ConfigParameters& block, const DecodeOptions& options)
{
    if (options.infsm.empty())
        FailNeeds(block, "-infsm", "the acceptor to be compiled");
    if (options.transitionFile.empty())
        FailNeeds(block, "-transition-file", "the transition scores of the states");
}

void CheckDecoding(const ConfigParameters& block, const DecodeOptions& options)
{
    if (options.infiles.empty())
        FailNeeds(block, "-infiles", "the list of feature files");
    if (options.cntkmap.empty())
        FailNeeds(block, "-cntkmap", "the map from states to rows of the network's output");
    if (!options.lm.empty() && !options.lmCollection.empty())
        FailAt(block.WhereOf("lm"), ErrorKind::Config, "-lm '", options.lm, "' and -lm-collection '",
               options.lmCollection, "' are both given; give one of them");
    if (options.lm.empty() && options.lmCollection.empty() && options.alignMlf.empty())
        FailAt(block.Where(), ErrorKind::Config,
               "neither -lm nor -lm-collection is given; give one of them, or -alignmlf for forced alignment");
    if (options.outmlf.empty() && options.latticePrefix.empty() && options.outnbest.empty() &&
        options.outscores.empty() && options.outctm.empty())
        FailAt(block.Where(), ErrorKind::Config,
               "no result is asked for; give at least one of -outmlf, -outscores, -outctm, -outnbest, -lattice-prefix");
    if (options.dnnWindowSize % 2 == 0)
        FailAt(block.WhereOf("dnn_window_size"), ErrorKind::Config, "-dnn_window_size is ", options.dnnWindowSize,
               ", expected an odd number: the middle frame is the frame of the column");
    if (options.nbest > 0 && options.outnbest.empty())
        FailNeeds(block, "-outnbest", "the file for the best word sequences that -nbest asks for");
    if (options.nbest == 0 && !options.outnbest.empty())
        FailNeeds(block, "-nbest", "the number of word sequences in -outnbest");
}

} // namespace

const OptionTable<DecodeOptions>& DecodeOptions::Options()
{
    static const OptionTable<DecodeOptions> table = []
    {
        OptionTable<DecodeOptions> all;
        for (const OptionTable<DecodeOptions>& part : {GraphRows(), InputRows(), SearchRows(), ResultRows()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return table;
}

DecodeOptions ReadDecodeOptions(const ConfigParameters& block)
{
    DecodeOptions options = ReadOptions<DecodeOptions>(block);
    for (const Option<DecodeOptions>& option : DecodeOptions::Options())
        if (option.info.name == "sil-cost")
            options.hasSilCost = FindOption(block, option.info, option.isLocal).has_value();
    for (std::string S::*path : {&S::infsm, &S::transitionFile, &S::lookaheadFile, &S::modelMap, &S::infiles, &S::lm,
                                 &S::lmCollection, &S::am, &S::cntkmap, &S::alignMlf})
        options.*path = ResolveInputPath(options.*path);
    for (std::string S::*path : {&S::outmlf, &S::latticePrefix, &S::outnbest, &S::outscores, &S::outctm})
        options.*path = ResolveOutputPath(options.*path);
    options.graph = options.precompile ? ResolveOutputPath(options.graph) : ResolveInputPath(options.graph);
    if (options.precompile)
        CheckPrecompile(block, options);
    else
        CheckDecoding(block, options);
    return options;
}

std::string PlainOptionName(std::string_view name)
{
    std::string plain = ToLower(name);
    std::erase_if(plain, [](char c) { return c == '-' || c == '_'; });
    return plain;
}

} // namespace cntk
