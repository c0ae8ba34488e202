// Recognizes the sub-blocks (features, labels, lattices), reads and checks them.
#include "Readers/HTKMLFReader/HtkOptions.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/HTKMLFReader/HtkWriter.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <numeric>

namespace cntk
{
namespace
{

constexpr double c_largestDimension = 1 << 24;
constexpr const char* c_latticeKeys[] = {"denLatTocFile", "numLatTocFile"};

bool IsFeatures(const ConfigParameters& block)
{
    return block.ExistsHere("scpFile");
}

bool IsLabels(const ConfigParameters& block)
{
    return !IsFeatures(block) && (block.ExistsHere("mlfFile") || block.ExistsHere("mlfFileList"));
}

bool IsLattices(const ConfigParameters& block)
{
    return !IsFeatures(block) && !IsLabels(block) &&
           std::any_of(std::begin(c_latticeKeys), std::end(c_latticeKeys),
                       [&](const char* key) { return block.ExistsHere(key); });
}

bool IsHmms(const ConfigParameters& block)
{
    return !IsFeatures(block) && !IsLabels(block) && !IsLattices(block) &&
           (block.ExistsHere("phoneFile") || block.ExistsHere("transPFile"));
}

HtkFeatureBlock ReadFeatureBlock(const ConfigParameters& config, const std::string& name)
{
    HtkFeatureBlock block;
    block.name = name;
    block.config = &config;
    block.options = ReadOptions<HtkFeatureOptions>(config);
    const std::vector<size_t>& window = block.options.contextWindow;
    block.hasAsymmetricWindow = window.size() == 2;
    if (window.empty() || window.size() > 2 || (window.size() == 1 && window[0] % 2 == 0))
        FailAt(config.WhereOf("contextWindow"), ErrorKind::Config,
               "contextWindow: expected one odd number of frames, or left:right");
    const size_t frames = window.size() == 1 ? window[0] : window[0] + 1 + window[1];
    block.rows = block.options.dim * frames;
    if (block.options.expandToUtterance && frames != 1)
        FailAt(config.WhereOf("expandToUtterance"), ErrorKind::Config, "'", name,
               "': expandToUtterance repeats one vector over the utterance, so contextWindow must be 1");
    if (!EqualsIgnoreCase(block.options.type, "real"))
        FailAt(config.WhereOf("type"), ErrorKind::Config, "'", name, "': the type of features is '", block.options.type,
               "', expected real");
    RequireHtkFile(config, "scpFile", "script file", block.options.scpFile);
    return block;
}

HtkLabelBlock ReadLabelBlock(const ConfigParameters& config, const std::string& name)
{
    HtkLabelBlock block;
    block.name = name;
    block.config = &config;
    block.options = ReadOptions<HtkLabelOptions>(config);
    if (!EqualsIgnoreCase(block.options.labelType, "category"))
        FailAt(config.WhereOf("labelType"), ErrorKind::Config, "'", name, "': the type of labels is '",
               block.options.labelType, "', expected category");
    if (!block.options.labelToTargetMappingFile.empty() && block.options.targetDim == 0)
        FailAt(config.Where(), ErrorKind::Config, "'", name,
               "': labelToTargetMappingFile needs targetDim, the number of elements of a target");
    if (!block.options.labelToTargetMappingFile.empty() && block.options.labelMappingFile.empty())
        FailAt(config.Where(), ErrorKind::Config, "'", name,
               "': labelToTargetMappingFile needs labelMappingFile, the states in the same order");
    return block;
}

// Warns of the first of these keys that the block has, because the reader ignores it.
void WarnOfOneNotRead(const ConfigParameters& block, std::initializer_list<const char*> keys, const char* why, Log& log)
{
    for (const char* key : keys)
    {
        if (!block.ExistsHere(key))
            continue;
        log.Warn(Concat(block.WhereOf(key).Location(), ": HTKMLFReader: ", key, " is not read, since ", why));
        return;
    }
}

HtkLatticeBlock ReadLatticeBlock(const ConfigParameters& config, const std::string& name)
{
    HtkLatticeBlock block;
    block.name = name;
    block.config = &config;
    block.options = ReadOptions<HtkLatticeOptions>(config);
    return block;
}

// Refuses keys of lattices in another block: ignoring them would silently train without lattices.
void RequireNoLatticesIn(const ConfigParameters& block)
{
    for (const char* key : c_latticeKeys)
        if (block.ExistsHere(key))
            FailAt(block.WhereOf(key), ErrorKind::Config, "'", block.Name(), "' has ", key,
                   ", expected it in a block of its own, such as lattices=[denLatTocFile=den.toc]");
}

// Checks that utterances are whole and that the labels have state names.
void CheckLattices(const ConfigParameters& config, HtkConfig& htk)
{
    HtkLatticeBlock& lattices = *htk.lattices;
    const HtkReaderOptions& options = htk.reader;
    if (options.frameMode || options.truncated)
        FailAt(config.WhereOf(options.frameMode ? "frameMode" : "truncated"), ErrorKind::Config, "'", lattices.name,
               "' has lattices, which are of whole utterances: sequence training needs frameMode=false and "
               "truncated=false");
    std::vector<std::string> names;
    for (size_t i = 0; i < htk.labels.size(); ++i)
    {
        if (htk.labels[i].options.labelMappingFile.empty())
            continue;
        names.push_back(htk.labels[i].name);
        lattices.labels = i;
    }
    if (names.size() != 1)
        FailAt(lattices.config->Where(), ErrorKind::Config, "'", lattices.name,
               "': the states of lattices are those of the label block with a state list (labelMappingFile), ",
               names.empty() ? std::string("but there is none") : "expected one, not several: " + Join(names, ", "));
    const HtkLabelBlock& labels = htk.labels[lattices.labels];
    if (!labels.options.labelToTargetMappingFile.empty())
        FailAt(labels.config->WhereOf("labelToTargetMappingFile"), ErrorKind::Config, "'", labels.name,
               "' has target vectors (labelToTargetMappingFile), but the states of the lattices of '", lattices.name,
               "' are classes");
}

// A pattern names no file.
void AddLatticeFiles(const ConfigParameters& block, std::vector<ConfigValue>& files)
{
    const size_t before = files.size();
    AddInputFiles<HtkLatticeOptions>(block, files);
    files.erase(std::remove_if(files.begin() + ptrdiff_t(before), files.end(),
                               [](const ConfigValue& value) { return IsFilePattern(value.Text()); }),
                files.end());
}

void ReadSubBlock(const ConfigParameters& config, const std::string& name, HtkConfig& htk, Log& log)
{
    if (IsHmms(config))
    {
        ReadOptions<HtkHmmOptions>(config);
        if (!htk.forWriting)
            WarnOfOneNotRead(config, {"phoneFile", "transPFile"}, "the lattices contain the states and their times",
                             log);
        return;
    }
    if (IsLattices(config))
    {
        if (htk.lattices)
            FailAt(config.Where(), ErrorKind::Config, "'", name, "' has lattices, and '", htk.lattices->name,
                   "' has them, too; expected one such block");
        htk.lattices = ReadLatticeBlock(config, name);
        if (!htk.forWriting)
            WarnOfOneNotRead(config, {"numLatTocFile"}, "the labels are the reference", log);
        return;
    }
    RequireNoLatticesIn(config);
    if (IsFeatures(config))
        htk.features.push_back(ReadFeatureBlock(config, name));
    else if (IsLabels(config))
        htk.labels.push_back(ReadLabelBlock(config, name));
}

void CheckModes(const ConfigParameters& config, const HtkReaderOptions& options, Log& log)
{
    if (config.ExistsHere("legacyMode"))
        FailAt(config.WhereOf("legacyMode"), ErrorKind::Config,
               "legacyMode is no longer supported; use readMethod=blockRandomize or readMethod=rollingWindow");
    for (const size_t count : options.parallelSequences.values)
        if (options.frameMode && count != 1)
            FailAt(config.WhereOf("nbruttsineachrecurrentiter"), ErrorKind::Config, "nbruttsineachrecurrentiter is ",
                   count, ", but frames are read one by one; parallel utterances need frameMode=false");
    if (options.frameMode && options.truncated)
        FailAt(config.WhereOf("truncated"), ErrorKind::Config,
               "truncated=true reads utterances, it needs frameMode=false");
    if (!options.frameMode && options.readMethod == HtkReadMethod::RollingWindow)
        FailAt(config.WhereOf("readMethod"), ErrorKind::Config,
               "readMethod=rollingWindow shuffles frames; utterances (frameMode=false) need readMethod=blockRandomize");
    if (!options.unigram.empty())
        log.Warn("HTKMLFReader: unigram is not used, since the lattices contain the scores of the language model");
}

} // namespace

HtkRandomize OptionType<HtkRandomize>::Read(const ConfigValue& value, const Range&)
{
    return {std::min(ReadRandomizeRange(value, "frames"), HtkRandomize::c_auto)};
}

std::string OptionType<HtkRandomize>::Print(const HtkRandomize& value)
{
    if (value.range == HtkRandomize::c_auto)
        return "auto";
    return value.range == 0 ? "none" : std::to_string(value.range);
}

OptionTable<HtkFeatureOptions> HtkFeatureOptions::Options()
{
    using S = HtkFeatureOptions;
    return {
        Opt("dim", &S::dim,
            "Required. Elements of a frame with its context: 792 for 72-dimensional files and 11 frames. With "
            "contextWindow: elements of one frame",
            Range{1, c_largestDimension})
            .Required(),
        Opt("contextWindow", &S::contextWindow,
            "Number of stacked frames, an odd number, or left:right; dim then counts the elements of one frame",
            Range{0, 10000}),
        Opt("type", &S::type, "real"),
        Opt("scpFile", &S::scpFile,
            "Required. Script file, one utterance a line: file, name=file or name=file[first,last]; ... in a path "
            "stands for the script file's folder")
            .Required()
            .InputFile(),
        Opt("prefixPathInSCP", &S::prefixPathInSCP, "Folder in front of all paths of the script file"),
        Opt("expandToUtterance", &S::expandToUtterance,
            "Each file has one vector, which is used for all frames of the utterance")
            .Here(),
    };
}

OptionTable<HtkLabelOptions> HtkLabelOptions::Options()
{
    using S = HtkLabelOptions;
    return {
        Opt("labelDim", &S::labelDim, "Required. Number of classes", Range{1, c_largestDimension}, {"dim"}).Required(),
        Opt("labelType", &S::labelType, "category", {"type"}),
        Opt("mlfFile", &S::mlfFile, "HTK label file (MLF) with the states of all utterances").Here().InputFile(),
        Opt("mlfFileList", &S::mlfFileList, "Text file with the name of one label file a line").Here().InputFile(),
        Opt("labelMappingFile", &S::labelMappingFile,
            "State list, one state a line; the line number from 0 is the class id. Empty: the fourth column of the "
            "label file is the class id")
            .InputFile(),
        Opt("labelToTargetMappingFile", &S::labelToTargetMappingFile,
            "Lines \"state 0110...\" in the order of the state list: the target vector of each state")
            .InputFile(),
        Opt("targetDim", &S::targetDim, "Elements of a target vector", Range{0, c_largestDimension}),
    };
}

OptionTable<HtkLatticeOptions> HtkLatticeOptions::Options()
{
    using S = HtkLatticeOptions;
    return {
        Opt("denLatTocFile", &S::denLatTocFile,
            "Required. List of lattices (sequence training), one utterance a line: name=archive[offset in bytes] or "
            "name=file, in HTK's Standard Lattice Format; ... in a path stands for the list's folder. A pattern with * "
            "or ? names several lists")
            .Required()
            .InputFile(),
        Opt("prefixPathInToc", &S::prefixPathInToc, "Folder in front of all paths of the lists"),
        Opt("numLatTocFile", &S::numLatTocFile, "the labels are the reference").WithoutEffect(),
    };
}

OptionTable<HtkHmmOptions> HtkHmmOptions::Options()
{
    using S = HtkHmmOptions;
    const char* const why = "states and their times are those of the lattices";
    return {
        Opt("phoneFile", &S::phoneFile, why).WithoutEffect(),
        Opt("transPFile", &S::transPFile, why).WithoutEffect(),
    };
}

OptionTable<HtkReaderOptions> HtkReaderOptions::Options()
{
    using S = HtkReaderOptions;
    return {
        Choice("readMethod", &S::readMethod,
               {{"blockRandomize", HtkReadMethod::BlockRandomize},
                {"rollingWindow", HtkReadMethod::RollingWindow},
                {"none", HtkReadMethod::None}},
               "blockRandomize: chunks of files are shuffled, and then the frames (or utterances) within a window of "
               "chunks. rollingWindow: all frames are written to a temporary file and read from it in shuffled order; "
               "none: the order of the script file"),
        Opt("randomize", &S::randomize,
            "Number of frames that are shuffled with each other: all (auto), a window of this number, or none. The "
            "features of the window are in memory, with eight more bytes per frame (sixteen during a search for a "
            "learning rate)"),
        Opt("frameMode", &S::frameMode, "false: whole utterances, for recurrent networks"),
        Opt("truncated", &S::truncated,
            "Utterances are cut into pieces of minibatchSize frames, and the state is carried over from piece to "
            "piece"),
        Opt("truncationLength", &S::truncationLength,
            "Frames of a piece; a minibatch has minibatchSize/truncationLength parallel utterances. 0: minibatchSize "
            "is the length, and nbruttsineachrecurrentiter the number of parallel utterances"),
        Opt("nbruttsineachrecurrentiter", &S::parallelSequences,
            "Number of parallel utterances in a minibatch; by epoch", Range{1, 1 << 20}, {"nbruttineachrecurrentiter"}),
        Choice("minibatchMode", &S::fullMinibatches, {{"partial", false}, {"full", true}},
               "full: only minibatches of full size. Frames left over at the end of the data are skipped. With "
               "epochSize=0 each epoch starts where the last one ended, so that later epochs may have fewer frames"),
        Opt("verbosity", &S::verbosity, "Amount of printing; 0 prints nothing"),
        Opt("pageFilePath", &S::pageFilePath,
            "Folder of rollingWindow's temporary file; empty: the system's folder of temporary files"),
        Opt("minimizeReaderMemoryFootprint", &S::minimizeReaderMemoryFootprint, "memory is always small")
            .WithoutEffect(),
        Opt("unigram", &S::unigram, "").WithoutEffect(),
        Opt("traceLevel", &S::traceLevel, "").WithoutEffect(),
    };
}

HtkConfig ReadHtkConfig(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    HtkConfig htk;
    htk.forWriting = context.forWriting;
    htk.reader = ReadOptions<HtkReaderOptions>(config);
    if (!context.forWriting)
        CheckModes(config, htk.reader, context.log);
    RequireNoLatticesIn(config);
    std::vector<std::string> names = config.BlockNames();
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    for (const std::string& name : names)
        ReadSubBlock(config.RequireBlock(name), name, htk, context.log);
    if (htk.features.empty())
        FailAt(config.Where(), ErrorKind::Config,
               "the reader has no feature block; it needs one such as features=[dim=792; scpFile=train.scp], named as "
               "the network's input",
               names.empty() ? "" : "; its blocks are ", Join(names, ", "));
    if (htk.features[0].options.expandToUtterance)
        FailAt(htk.features[0].config->WhereOf("expandToUtterance"), ErrorKind::Config, "'", htk.features[0].name,
               "': the first feature block decides the number of frames, so it cannot have expandToUtterance");
    if (context.forWriting && !htk.labels.empty())
    {
        context.log.Warn("HTKMLFReader: the labels '" + htk.labels[0].name +
                         "' are not read, since outputs are written in the order of the script file");
        htk.labels.clear();
    }
    if (context.forWriting)
        htk.lattices.reset();
    if (htk.lattices)
        CheckLattices(config, htk);
    return htk;
}

void RequireHtkFile(const ConfigParameters& block, const char* key, const char* what, const std::string& path)
{
    if (!path.empty() && !FileExists(ResolveInputPath(path)))
        FailAt(block.WhereOf(key), ErrorKind::Data, what, " '", path, "' does not exist", NearFilesHint(path));
}

void DescribeHtkOptions(PluginDescription& description)
{
    AddOptions<HtkReaderOptions>(description, "");
    AddOptions<HtkFeatureOptions>(description, "features");
    AddOptions<HtkLabelOptions>(description, "labels");
    AddOptions<HtkLatticeOptions>(description, "lattices");
    AddOptions<HtkHmmOptions>(description, "hmms");
    AddOptions<HtkWriterOptions>(description, "writer");
    AddOptions<HtkOutputOptions>(description, "writer:<node>");
}

bool IsFilePattern(std::string_view path)
{
    return path.find_first_of("*?") != std::string_view::npos;
}

void AddHtkInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    for (const std::string& name : context.config.BlockNames())
    {
        const ConfigParameters& block = context.config.RequireBlock(name);
        if (IsFeatures(block))
            AddInputFiles<HtkFeatureOptions>(block, files);
        else if (IsLabels(block) && !context.forWriting)
            AddInputFiles<HtkLabelOptions>(block, files);
        else if (IsLattices(block) && !context.forWriting)
            AddLatticeFiles(block, files);
    }
    ReadHtkConfig(context);
}

} // namespace cntk
