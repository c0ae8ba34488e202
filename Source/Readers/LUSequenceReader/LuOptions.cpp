// Reads the blocks, token files and the word map.
#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/LUSequenceReader/LuReader.h"

#include <algorithm>
#include <utility>

namespace cntk
{
namespace
{

constexpr auto c_labelKeys = {"token", "labelMappingFile", "labelDim", "labelType", "beginSequence", "endSequence"};

// line: the first one after a blank line; 0: none.
void WarnOfRest(const std::string& path, size_t line, Log& log)
{
    if (line > 0)
        log.Warn(Concat(path, ":", line,
                        ": a blank line ends the list, so that this line and the lines after it are not ",
                        "read; delete the blank line if they belong to the list"));
}

const char* KeyOfWords(const LuLabelOptions& options)
{
    return options.token.empty() ? "labelMappingFile" : "token";
}

// Reads the block without the file that it names.
LuVocabulary ReadLabelBlock(const ConfigParameters& block)
{
    LuVocabulary vocabulary;
    vocabulary.name = block.Name();
    vocabulary.options = ReadOptions<LuLabelOptions>(block);
    if (vocabulary.options.token.empty() && vocabulary.options.labelMappingFile.empty())
        FailAt(block.Where(), ErrorKind::Config, "'", block.Name(),
               "' has no words: it needs token=<file with one word a line>");
    return vocabulary;
}

void ReadWords(LuVocabulary& vocabulary, const ConfigParameters& block, const std::string& unk, Log& log)
{
    const char* const key = KeyOfWords(vocabulary.options);
    const std::string path = ResolveInputPath(block.Require(key).Text());
    const bool isClass = vocabulary.options.isClass;
    const auto read = [&]
    {
        if (isClass)
            return Vocabulary::FromClassList(path);
        Vocabulary words = Vocabulary::FromList(path, Vocabulary::BlankLine::EndOfList);
        words.RequireSingleWords("a list of words and classes needs mode=class");
        return words;
    };
    vocabulary.words = WithPosition(block.WhereOf(key), read);
    WarnOfRest(path, vocabulary.words.LineBehindList(), log);
    const size_t labelDim = vocabulary.options.labelDim;
    if (labelDim > 0 && labelDim != vocabulary.words.Size())
        log.Warn(Concat(block.WhereOf("labelDim").Location(), ": labelDim=", labelDim, " of '", block.Name(),
                        "', but '", path, "' has ", Counted(vocabulary.words.Size(), "word"),
                        "; the stream gets as many rows as words"));
    vocabulary.unknownWord = vocabulary.words.Find(unk);
}

// Finds the label blocks of the input and of the output: by inputLabel and outputLabel, or in the order of their names.
std::pair<const ConfigParameters*, const ConfigParameters*> FindLabelBlocks(const ConfigParameters& config,
                                                                            const LuReaderOptions& options)
{
    std::vector<std::string> names = config.BlockNames();
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    std::vector<std::string> labels;
    for (const std::string& name : names)
    {
        if (IsLabelBlock(config.RequireBlock(name), c_labelKeys))
            labels.push_back(name);
    }
    const auto find = [&](const char* key, const std::string& wanted, size_t position) -> const ConfigParameters*
    {
        if (wanted.empty())
            return &config.RequireBlock(labels[position]);
        const auto same = [&](const std::string& name) { return EqualsIgnoreCase(name, wanted); };
        if (std::none_of(labels.begin(), labels.end(), same))
            FailAt(config.WhereOf(key), ErrorKind::Config, key, ": the reader has no label block '", wanted,
                   "'; label blocks: ", Join(labels, ", "), DidYouMean(wanted, labels));
        return &config.RequireBlock(wanted);
    };
    if (labels.size() < 2 || (labels.size() > 2 && (options.inputLabel.empty() || options.outputLabel.empty())))
        FailAt(
            config.Where(), ErrorKind::Config, "the reader has ", labels.size(),
            " label blocks; expected two, the first one (by its name, or inputLabel) for the input words, the second "
            "one (or outputLabel) for the labels, such as labelIn=[token=words.txt] labels=[token=tags.txt]");
    const ConfigParameters* input = find("inputLabel", options.inputLabel, 0);
    const ConfigParameters* output = find("outputLabel", options.outputLabel, 1);
    if (input != output)
        return {input, output};
    const bool isInput = !options.inputLabel.empty();
    const char* const byName = isInput ? "outputLabel is not given: the second" : "inputLabel is not given: the first";
    const bool areBoth = isInput && !options.outputLabel.empty();
    FailAt(config.WhereOf(isInput ? "inputLabel" : "outputLabel"), ErrorKind::Config,
           "inputLabel and outputLabel are the same block, '", input->Name(), "'",
           areBoth ? "" : Concat(" (", byName, " by name)"), "; expected two of ", Join(labels, ", "));
}

} // namespace

OptionTable<LuReaderOptions> LuReaderOptions::Options()
{
    using S = LuReaderOptions;
    return {
        Opt("file", &S::file,
            "Required. The text: one token a line. The last column is its label, the other columns are its words; a "
            "blank line ends a sentence")
            .Required()
            .InputFile(),
        Opt("wordContext", &S::wordContext,
            "Offsets of the words that are stacked in the input; 0 is the word itself: 0:1:2 or -1:0:1. Beyond the "
            "ends of the sentence its first or last word is used"),
        Opt("wordmap", &S::wordmap,
            "Replacements of words before the look-up: lines of two words, from and to. If a word has several lines, "
            "the last counts")
            .InputFile(),
        Opt("unk", &S::unk, "The word (or label) that replaces those outside the token file"),
        Opt("nbruttsineachrecurrentiter", &S::parallelSequences,
            "Number of parallel sentences; always 1 if the reader has a writer", Range{1},
            {"nbruttineachrecurrentiter"}),
        Opt("randomize", &S::randomize,
            "auto or true: sentences are shuffled in blocks of 50000 lines; otherwise they come in the order of the "
            "file"),
        Opt("equalLength", &S::equalLength,
            "true: parallel sentences have one length, and others wait; false: shorter sentences are followed by gaps"),
        Opt("dataMultiPass", &S::dataMultiPass,
            "Restart at the end of the data until the epoch has more than epochSize sentences"),
        Opt("ignoresentencebegintag", &S::ignoreSentenceBeginTag, "Only false is supported"),
        Opt("inputLabel", &S::inputLabel, "Label block of the input; default: the first one by name"),
        Opt("outputLabel", &S::outputLabel, "Label block of the labels; default: the second one by name"),
        Opt("ioNodeNames", &S::ioNodeNames,
            "a:b: blocks inside this one, each a complete reader; they inherit missing keys from this block"),
        Opt("prefetch", &S::prefetch, "Prefetch minibatches in a thread"),
        Opt("traceLevel", &S::traceLevel, "Amount of printing: 1 names the file and counts its lines"),
    };
}

OptionTable<LuLabelOptions> LuLabelOptions::Options()
{
    using S = LuLabelOptions;
    return {
        Opt("dim", &S::dim, "").WithoutEffect().Here(),
        Opt("token", &S::token,
            "Words, one a line; the id is the line number from 0. A blank line ends the list. mode=class: a word and "
            "its class a line"),
        Opt("labelMappingFile", &S::labelMappingFile, "Used if token is missing"),
        Opt("labelDim", &S::labelDim,
            "Ignored: the token file decides. The reader warns if it has another number of words")
            .Here(),
        Choice("mode", &S::isClass, {{"plain", false}, {"class", true}},
               "Form of the labels. plain: one row per word, with a 1 in the row of the label; class: four rows, word, "
               "class, first word of the class and the word after its last"),
        Choice("labelType", &S::isCategory, {{"category", true}}, "Only category"),
        Opt("useWordMap", &S::useWordMap, "Replace words by wordmap; words without a replacement become unk"),
        Opt("beginSequence", &S::beginSequence, "", {"beginingSequence"}).WithoutEffect(),
        Opt("endSequence", &S::endSequence,
            "A word (of the first column) or a label that ends a sentence like a blank line"),
        Opt("isProposal", &S::isProposal, "").WithoutEffect().Here(),
    };
}

WordMap ReadWordMap(const std::string& path, Log& log)
{
    WordMap map;
    std::unordered_map<std::string, size_t> lineOf;
    LineReader lines(path);
    std::vector<std::string_view> columns;
    bool hasEnded = false, hasWarned = false;
    for (std::string_view line; lines.Next(line);)
    {
        SplitTokens(line, columns);
        if (columns.empty())
        {
            hasEnded = true;
            continue;
        }
        if (hasEnded)
        {
            WarnOfRest(path, lines.LineNumber(), log);
            break;
        }
        if (columns.size() != 2)
            Fail(ErrorKind::Data, path, ":", lines.LineNumber(), ": expected two words, from and to, found ",
                 columns.size(), " in '", Trim(line), "'");
        const std::string from(columns[0]), to(columns[1]);
        const auto [before, isNew] = lineOf.try_emplace(from, lines.LineNumber());
        if (!isNew && map[from] != to && !std::exchange(hasWarned, true))
            log.Warn(Concat(lines.Location(columns[0]), ": '", from, "' becomes '", to, "' here, but '", map[from],
                            "' in line ", before->second,
                            "; the last line of a word counts, also for other words with several lines"));
        before->second = lines.LineNumber();
        map[from] = to;
    }
    return map;
}

namespace
{

struct LabelBlocks
{
    const ConfigParameters* input = nullptr;
    const ConfigParameters* output = nullptr;
};

// Reads the blocks without the files that they name.
LuConfig ReadBlocks(const ReaderContext& context, LabelBlocks& blocks)
{
    const ConfigParameters& config = context.config;
    LuConfig lu;
    lu.reader = ReadReaderOptions<LuReaderOptions>(context);
    LuReaderOptions& options = lu.reader;
    if (options.ignoreSentenceBeginTag)
        FailAt(config.WhereOf("ignoresentencebegintag"), ErrorKind::Config,
               "ignoresentencebegintag=true is not supported, expected false");
    if (options.wordContext.empty())
        FailAt(config.WhereOf("wordContext"), ErrorKind::Config,
               "wordContext is empty, expected offsets such as 0:1:2");
    lu.shuffle = EqualsIgnoreCase(options.randomize, "auto") || EqualsIgnoreCase(options.randomize, "true");
    const bool inOrder = EqualsIgnoreCase(options.randomize, "none") || EqualsIgnoreCase(options.randomize, "false");
    if (!lu.shuffle && !inOrder && !options.randomize.empty() &&
        !ParseInteger(options.randomize)) // CNTK v1.1 treats a number as none
        FailAt(config.WhereOf("randomize"), ErrorKind::Config, "randomize is '", options.randomize,
               "', expected auto, true, none or false",
               DidYouMean(options.randomize, {"auto", "true", "none", "false"}));
    if (context.forWriting)
    {
        lu.shuffle = false;
        // Writers get one sentence at a time, as in CNTK v1.1. Text output lists parallel sentences one after another.
        if (config.FindBlock("writer") != nullptr)
            options.parallelSequences = 1;
    }
    lu.forWriting = context.forWriting;
    options.file = ResolveInputPath(options.file);
    lu.fileWhere = config.WhereOf("file");
    for (const std::string& name : config.BlockNames())
    {
        const ConfigParameters& block = config.RequireBlock(name);
        if (!IsLabelBlock(block, c_labelKeys) && (block.ExistsHere("dim") || EqualsIgnoreCase(name, "features")))
        {
            block.FindHere("dim"); // marks the key as known; the token file decides
            lu.featureName = name;
            break;
        }
    }
    const auto [input, output] = FindLabelBlocks(config, options);
    blocks = {input, output};
    lu.input = ReadLabelBlock(*input);
    lu.output = ReadLabelBlock(*output);
    if (options.wordmap.empty() && (lu.input.options.useWordMap || lu.output.options.useWordMap))
        FailAt((lu.input.options.useWordMap ? input : output)->Where(), ErrorKind::Config,
               "useWordMap=true needs wordmap=<file of two words a line> in the reader block");
    return lu;
}

} // namespace

LuConfig ReadLuConfig(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    LabelBlocks blocks;
    LuConfig lu = ReadBlocks(context, blocks);
    const LuReaderOptions& options = lu.reader;
    ReadWords(lu.input, *blocks.input, options.unk, context.log);
    ReadWords(lu.output, *blocks.output, options.unk, context.log);
    if (!options.wordmap.empty())
        lu.wordMap = WithPosition(config.WhereOf("wordmap"),
                                  [&] { return ReadWordMap(ResolveInputPath(options.wordmap), context.log); });
    if (lu.input.words.Size() > size_t(INT32_MAX) / options.wordContext.size())
        FailAt(config.Where(), ErrorKind::Config, "wordContext of ", options.wordContext.size(), " words and ",
               lu.input.words.Size(), " words in the token file make too many rows; the limit is ", INT32_MAX);
    return lu;
}

void DescribeLuOptions(PluginDescription& description)
{
    AddOptions<LuReaderOptions>(description, "");
    AddOptions<LuLabelOptions>(description, "labels");
}

void AddLuInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    std::vector<const ConfigParameters*> parts{&context.config};
    if (const std::optional<ConfigValue> names = context.config.FindHere("ioNodeNames"))
    {
        parts.clear();
        for (const ConfigValue& name : names->AsArray())
            parts.push_back(&context.config.RequireBlock(name.Text()));
    }
    for (const ConfigParameters* const part : parts)
        AddInputFiles<LuReaderOptions>(*part, files);
    for (const ConfigParameters* const part : parts)
    {
        LabelBlocks blocks;
        const LuConfig lu = ReadBlocks(context.For(*part), blocks);
        files.push_back(blocks.input->Require(KeyOfWords(lu.input.options)));
        files.push_back(blocks.output->Require(KeyOfWords(lu.output.options)));
    }
}

} // namespace cntk
