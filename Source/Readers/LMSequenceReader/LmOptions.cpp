// Reads and checks the blocks and vocabularies.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/LMSequenceReader/LmReader.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr auto c_labelKeys = {"labelMappingFile", "labelDim", "labelType", "beginSequence", "endSequence"};

// Takes the ids from the mapping file if it exists, otherwise from the class file.
void LoadWords(const ConfigParameters& labels, const LmLabelOptions& options, LmConfig& lm, Log& log)
{
    const std::string mapping = ResolveInputPath(options.labelMappingFile);
    const bool hasMapping = !mapping.empty() && FileExists(mapping);
    if (hasMapping)
    {
        const auto read = [&]
        {
            Vocabulary words = Vocabulary::FromList(mapping, Vocabulary::BlankLine::Mistake);
            words.RequireSingleWords("a file with id, count, word and class belongs to wordclass");
            return words;
        };
        lm.words = WithPosition(labels.WhereOf("labelMappingFile"), read);
    }
    else
    {
        if (!mapping.empty() && lm.classes.Size() > 0)
            log.Print("LMSequenceReader: label mapping file %s does not exist; the ids of %s are used\n",
                      mapping.c_str(), lm.classes.Source().c_str());
        if (lm.classes.Size() == 0)
            FailAt(mapping.empty() ? labels.Where() : labels.WhereOf("labelMappingFile"), ErrorKind::Config,
                   "the reader has no vocabulary: give wordclass=<file with id, count, word and class a line> or "
                   "labelMappingFile=<existing file with one word a line>",
                   mapping.empty() ? "" : Concat("; '", mapping, "' is not", NearFilesHint(mapping)));
        lm.words = lm.classes;
    }
    if (hasMapping && lm.classes.Size() > 0)
    {
        const size_t common = std::min(lm.words.Size(), lm.classes.Size());
        for (size_t i = 0; i < common; ++i)
        {
            if (lm.words.Words()[i] == lm.classes.Words()[i])
                continue;
            log.Warn(Concat("word ", i, " is '", lm.words.Words()[i], "' in '", mapping, "' and '",
                            lm.classes.Words()[i], "' in '", lm.classes.Source(),
                            "'; the classes belong to other words, unless both have the same order"));
            break;
        }
    }
}

void CheckDimensions(const ConfigParameters& labels, size_t labelDim, LmConfig& lm)
{
    const auto check = [&](const Vocabulary& vocabulary)
    {
        if (labelDim > 0 && vocabulary.Size() != labelDim)
            FailAt(labels.WhereOf("labelDim"), ErrorKind::Config, "labelDim=", labelDim, " of '", labels.Name(),
                   "', but '", vocabulary.Source(), "' has ", Counted(vocabulary.Size(), "word"),
                   "; expected the same number");
    };
    check(lm.words);
    if (lm.classes.Size() > 0)
        check(lm.classes);
    if (lm.classes.Size() > 0 && lm.classes.Size() != lm.words.Size())
        FailAt(labels.Where(), ErrorKind::Config, "'", lm.words.Source(), "' has ", Counted(lm.words.Size(), "word"),
               ", '", lm.classes.Source(), "' has ", lm.classes.Size(), "; expected the same number");
    lm.dimSource =
        labelDim > 0 ? SettingText(labels, "labelDim", labelDim) : Concat("words of '", lm.words.Source(), "'");
}

} // namespace

OptionTable<LmReaderOptions> LmReaderOptions::Options()
{
    using S = LmReaderOptions;
    return {
        Opt("file", &S::file, "Required. The text: one sentence a line, with its markers, such as </s> a b </s>")
            .Required()
            .InputFile(),
        Opt("wordclass", &S::wordclass,
            "Vocabulary with classes: lines of id, count, word and class, as the writeWordAndClass action writes them")
            .InputFile(),
        Opt("unk", &S::unk, "The word that replaces words outside the vocabulary"),
        Opt("nbruttsineachrecurrentiter", &S::parallelSequences,
            "Number of parallel sentences, all of one length; minibatchSize then is the number of time steps after "
            "which they are cut, with their state carried over. 0: as many sentences as fit into minibatchSize words",
            Range{0, double(INT32_MAX)}, {"nbruttineachrecurrentiter"}),
        Opt("cacheBlockSize", &S::cacheBlockSize, "Number of words that are read and shuffled at a time", Range{1}),
        Opt("randomize", &S::randomize,
            "sentences are always shuffled within a block of cacheBlockSize words, also for write commands; "
            "cacheBlockSize=1 keeps the order of the file")
            .WithoutEffect(),
        Opt("prefetch", &S::prefetch, "Prefetch minibatches in a thread"),
        Opt("traceLevel", &S::traceLevel, "Amount of printing: 1 names the file"),
    };
}

OptionTable<LmFeatureOptions> LmFeatureOptions::Options()
{
    using S = LmFeatureOptions;
    return {
        Opt("dim", &S::dim, "usually 0: the input has a row for each word").WithoutEffect().Here(),
        Choice(
            "mode", &S::mode,
            {{"class", LmMode::Class}, {"softmax", LmMode::Softmax}, {"oneHot", LmMode::OneHot}, {"nce", LmMode::Nce}},
            "Rows of the labels. class: word, class, first word of the class and the word after its last. softmax: "
            "the id of the word; nce: the id of the word, its log probability, and both for each of noise_number "
            "drawn words; oneHot: one row per word of the vocabulary, for CrossEntropyWithSoftmax. Test a model "
            "trained "
            "with nce with softmax, which gives the perplexity"),
        Opt("noise_number", &S::noiseNumber, "Number of noise words for each word in mode nce", Range{0, 1e6}),
    };
}

OptionTable<LmLabelOptions> LmLabelOptions::Options()
{
    using S = LmLabelOptions;
    return {
        Opt("dim", &S::dim, "").WithoutEffect().Here(),
        Opt("labelDim", &S::labelDim, "Size of the vocabulary; 0: as many words as the file has",
            Range{0, double(INT32_MAX)}),
        Choice("labelType", &S::labelType,
               {{"category", Type::Category}, {"nextWord", Type::NextWord}, {"none", Type::None}},
               "none: no stream. The first label block is the input, the second one the next word"),
        Opt("labelMappingFile", &S::labelMappingFile,
            "Words, one a line; the id is the line number from 0. Read from the block of the input. Default: the ids "
            "of wordclass"),
        Opt("beginSequence", &S::beginSequence,
            "a line is a sentence; the reader warns if no sentence begins with the word that the input's block gives")
            .WithoutEffect(),
        Opt("endSequence", &S::endSequence, "same as beginSequence, for the last word").WithoutEffect(),
    };
}

namespace
{

struct LabelBlock
{
    const ConfigParameters* block = nullptr;
    LmLabelOptions options;
};
struct LabelBlocks
{
    LabelBlock input;
    LabelBlock output; // may be missing
};

// Reads the blocks without the files that they name.
LmConfig ReadBlocks(const ReaderContext& context, LabelBlocks& blocks)
{
    const ConfigParameters& config = context.config;
    LmConfig lm;
    lm.reader = ReadReaderOptions<LmReaderOptions>(context);
    lm.reader.file = ResolveInputPath(lm.reader.file);
    lm.fileWhere = config.WhereOf("file");
    lm.forWriting = context.forWriting;

    std::vector<std::string> names = config.BlockNames();
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    const ConfigParameters* features = nullptr;
    std::vector<const ConfigParameters*> labels;
    for (const std::string& name : names)
    {
        const ConfigParameters& block = config.RequireBlock(name);
        if (IsLabelBlock(block, c_labelKeys))
            labels.push_back(&block);
        else if (features == nullptr && (block.ExistsHere("dim") || EqualsIgnoreCase(name, "features")))
            features = &block;
    }
    if (labels.empty() || labels.size() > 2)
        FailAt(config.Where(), ErrorKind::Config, "the reader has ", labels.size(),
               " label blocks; expected two, the first one (by its name) for the input words, the second one for the "
               "next words, such as labelIn=[labelDim=10000; labelMappingFile=words.txt] labels=[labelType=nextWord]");
    const auto featureOptions = ReadOptions<LmFeatureOptions>(features == nullptr ? config : *features);
    lm.mode = featureOptions.mode;
    lm.noiseWords = featureOptions.noiseNumber;
    if (features != nullptr)
        lm.featureName = features->Name();
    const auto input = ReadOptions<LmLabelOptions>(*labels[0]);
    blocks.input = {labels[0], input};
    if (input.labelType == LmLabelOptions::Type::NextWord)
        FailAt(labels[0]->WhereOf("labelType"), ErrorKind::Config, "'", labels[0]->Name(),
               "': labelType=nextWord is for the second label block, in the order of their names; expected category, "
               "since this one is the input");
    lm.beginSequence = input.beginSequence;
    lm.endSequence = input.endSequence;
    if (labels.size() == 2)
    {
        const auto output = ReadOptions<LmLabelOptions>(*labels[1]);
        blocks.output = {labels[1], output};
        lm.labelName = output.labelType == LmLabelOptions::Type::None ? "" : labels[1]->Name();
        if (output.labelDim > 0 && input.labelDim > 0 && output.labelDim != input.labelDim)
            FailAt(labels[1]->WhereOf("labelDim"), ErrorKind::Config,
                   SettingText(*labels[1], "labelDim", output.labelDim), " of '", labels[1]->Name(), "' and ",
                   SettingText(*labels[0], "labelDim", input.labelDim), " of '", labels[0]->Name(),
                   "' differ; both are the size of one vocabulary");
    }
    if (lm.reader.wordclass.empty() && (lm.mode == LmMode::Class || lm.mode == LmMode::Nce) && !lm.labelName.empty())
        FailAt(config.Where(), ErrorKind::Config, "mode=", lm.mode == LmMode::Class ? "class" : "nce",
               " needs wordclass=<file with id, count, word and class a line>; the writeWordAndClass action writes "
               "such a file");
    return lm;
}

} // namespace

LmConfig ReadLmConfig(const ReaderContext& context)
{
    LabelBlocks blocks;
    LmConfig lm = ReadBlocks(context, blocks);
    if (!lm.reader.wordclass.empty())
        lm.classes = WithPosition(context.config.WhereOf("wordclass"),
                                  [&] { return Vocabulary::FromClassFile(ResolveInputPath(lm.reader.wordclass)); });
    const LabelBlock& input = blocks.input;
    LoadWords(*input.block, input.options, lm, context.log);
    // The vocabulary is one, so either block may give its size.
    const LabelBlock& sized = input.options.labelDim == 0 && blocks.output.options.labelDim > 0 ? blocks.output : input;
    CheckDimensions(*sized.block, sized.options.labelDim, lm);
    lm.unknownWord = lm.words.Find(lm.reader.unk);
    if (lm.unknownWord == Vocabulary::c_unknown)
        context.log.Warn(Concat("unk '", lm.reader.unk, "' is not in the vocabulary '", lm.words.Source(),
                                "'; a word of the text that is not in the vocabulary ends the run"));
    return lm;
}

void AddLmInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    AddInputFiles<LmReaderOptions>(context, files);
    LabelBlocks blocks;
    const LmConfig lm = ReadBlocks(context, blocks);
    // With a class file the list of words need not exist.
    if (lm.reader.wordclass.empty() && !blocks.input.options.labelMappingFile.empty())
        files.push_back(blocks.input.block->Require("labelMappingFile"));
}

void DescribeLmOptions(PluginDescription& description)
{
    AddOptions<LmReaderOptions>(description, "");
    AddOptions<LmFeatureOptions>(description, "features");
    AddOptions<LmLabelOptions>(description, "labels");
}

} // namespace cntk
