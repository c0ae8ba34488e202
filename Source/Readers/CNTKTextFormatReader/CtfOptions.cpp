// Reads and checks the options and the streams of input=[...].
#include "Readers/CNTKTextFormatReader/CtfOptions.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

namespace cntk
{
namespace
{

// Checks that the name can occur in the file, where a blank, a control character or '|' ends it.
void CheckAlias(const ConfigParameters& block, const std::string& alias)
{
    for (const char c : alias)
    {
        if (uint8_t(c) <= ' ' || c == '|')
            FailAt(block.WhereOf("alias"), ErrorKind::Config, "'", block.Name(), "': the name '", alias,
                   "' cannot occur in the file: a stream's name has no blanks and no '|'");
    }
    if (alias.starts_with('#'))
        FailAt(block.WhereOf("alias"), ErrorKind::Config, "'", block.Name(), "': the name '", alias,
               "' cannot occur in the file: |# begins a comment");
}

CtfStream ReadStream(const ConfigParameters& input, const std::string& name, const std::string& file)
{
    const ConfigParameters& block = input.RequireBlock(name);
    const auto options = ReadOptions<CtfStreamOptions>(block);
    CtfStream stream;
    stream.name = name;
    stream.alias = options.alias.empty() ? name : options.alias;
    stream.dim = options.dim;
    stream.sparse = options.sparse;
    stream.source = Concat("'", file, "', ", SettingText(block, "dim", options.dim));
    CheckAlias(block, stream.alias);
    return stream;
}

} // namespace

OptionTable<CtfStreamOptions> CtfStreamOptions::Options()
{
    using S = CtfStreamOptions;
    return {
        Opt("dim", &S::dim, "Required. Number of elements of a sample", Range{1, double(INT32_MAX)}).Required(),
        Choice("format", &S::sparse, {{"dense", false}, {"sparse", true}},
               "Required. dense: numbers, those missing at the end are 0; sparse: index:value pairs")
            .Required(),
        Opt("alias", &S::alias, "The stream's name in the file (upper and lower case differ); default: the block's")
            .Here(),
    };
}

OptionTable<CtfReaderOptions> CtfReaderOptions::Options()
{
    using S = CtfReaderOptions;
    return {
        Opt("file", &S::file, "Required. The data file").Required().InputFile(),
        Opt("randomize", &S::randomize,
            "Order of the sequences: shuffled (auto), in the order of the file (none), or shuffled within a window of "
            "this number of samples, in whole chunks"),
        Opt("randomizationWindow", &S::randomizationWindow,
            "The window in samples if randomize=true; default: all data"),
        Opt("skipSequenceIds", &S::skipSequenceIds,
            "Treat every row as a sequence of its own, and ignore sequence ids"),
        Opt("frameMode", &S::frameMode, "Same as skipSequenceIds: single samples without order in time"),
        Opt("maxErrors", &S::maxErrors,
            "Number of malformed samples that are dropped with a warning; one more ends the run"),
        Opt("chunkSizeInBytes", &S::chunkSizeInBytes, "Size of the chunks in which the text is read and shuffled",
            Range{1, double(UINT32_MAX)}),
        Opt("numChunksToCache", &S::numChunksToCache,
            "Parsed data are kept in memory up to this many times chunkSizeInBytes. Larger data are parsed again in "
            "each sweep, by chunks, or by sequences if the shuffle mixes more chunks than this",
            Range{1}),
        Opt("keepDataInMemory", &S::keepDataInMemory, "Keep all parsed data in memory, however large"),
        Opt("prefetch", &S::prefetch, "Prefetch minibatches in a thread"),
        Opt("truncated", &S::truncated,
            "Truncated back-propagation through time: sequences are cut into pieces, recurrent state is carried over"),
        Opt("truncationLength", &S::truncationLength,
            "Time steps of a piece; a minibatch has minibatchSize/truncationLength parallel sequences. 0: "
            "minibatchSize is the length, and nbruttsineachrecurrentiter the number of parallel sequences"),
        Opt("nbruttsineachrecurrentiter", &S::parallelSequences,
            "Number of parallel sequences, if truncated=true without truncationLength; otherwise ignored", Range{1},
            {"nbruttineachrecurrentiter"}),
        Opt("traceLevel", &S::traceLevel, "Amount of printing: 0 errors, 1 warnings, 2 a summary of the file"),
        Opt("verbosity", &S::verbosity, "").WithoutEffect(),
    };
}

CtfConfig ReadCtfConfig(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    CtfConfig ctf;
    ctf.reader = ReadOptions<CtfReaderOptions>(config);
    CtfReaderOptions& options = ctf.reader;
    if (!config.Exists("traceLevel"))
        options.traceLevel = std::max(1, context.traceLevel);
    if (options.randomize.range == RandomizeWindow::c_auto && options.randomizationWindow)
        options.randomize = *options.randomizationWindow;
    ctf.forWriting = context.forWriting;
    if (ctf.forWriting)
        options.randomize.range = 0;
    if (options.truncated && (options.frameMode || options.skipSequenceIds))
    {
        const char* const other = options.frameMode ? "frameMode" : "skipSequenceIds";
        FailAt(config.WhereOf("truncated"), ErrorKind::Config, "truncated=true cuts sequences into pieces, but with ",
               other, "=true each row is a sequence of its own; expected one of the two");
    }
    options.skipSequenceIds = options.skipSequenceIds || options.frameMode;
    options.file = ResolveInputPath(options.file);
    ctf.fileWhere = config.WhereOf("file");

    const ConfigParameters* input = config.FindBlock("input");
    if (input == nullptr && config.Exists("input"))
        input = &config.RequireBlock("input");
    const std::vector<std::string> names = input == nullptr ? std::vector<std::string>{} : input->BlockNames();
    if (const std::vector<std::string> blocks = config.BlockNames(); input == nullptr && !blocks.empty())
        FailAt(config.FindBlock(blocks[0])->Where(), ErrorKind::Config, "the blocks of streams, here ",
               Join(blocks, ", "), ", must stand inside a block input; expected input=[ ", blocks[0], "=[ ... ] ... ]");
    if (names.empty())
        FailAt(input == nullptr ? config.Where() : input->Where(), ErrorKind::Config,
               "the reader has no streams; it needs a block for each stream, such as input=[features=[dim=2; "
               "format=dense] labels=[dim=3; format=sparse]], named as the network's inputs");
    for (const std::string& name : names)
    {
        ctf.streams.push_back(ReadStream(*input, name, options.file));
        for (size_t i = 0; i + 1 < ctf.streams.size(); ++i)
        {
            if (ctf.streams[i].alias == ctf.streams.back().alias)
                FailAt(input->RequireBlock(name).Where(), ErrorKind::Config, "'", name, "' and '", ctf.streams[i].name,
                       "' have the same name in the file, '", ctf.streams[i].alias, "'; each stream needs its own");
        }
    }
    return ctf;
}

void DescribeCtfOptions(PluginDescription& description)
{
    AddOptions<CtfReaderOptions>(description, "");
    AddOptions<CtfStreamOptions>(description, "input:<stream>");
}

void AddCtfInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    AddInputFiles<CtfReaderOptions>(context, files);
    ReadCtfConfig(context);
}

} // namespace cntk
