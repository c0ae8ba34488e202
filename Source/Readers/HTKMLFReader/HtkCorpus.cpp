// Reads the lists and labels, and makes sure that all streams have the same utterances with the same lengths.
#include "Readers/HTKMLFReader/HtkCorpus.h"

#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <algorithm>
#include <array>
#include <glob.h>
#include <numeric>
#include <unordered_set>

namespace cntk
{

HtkFeatureStream::HtkFeatureStream(const HtkFeatureBlock& block, Log& log, int verbosity)
    : m_block(block), m_scp(ReadScpFile(block.options.scpFile, block.options.prefixPathInSCP)),
      m_lines(m_scp.entries.size())
{
    std::iota(m_lines.begin(), m_lines.end(), 1);
    if (verbosity > 0)
        log.Print("reading script file %s ... %zu entries\n", m_scp.path.c_str(), m_scp.entries.size());
    const HtkFile& file = Open(0);
    if (verbosity > 0)
        log.Print("requiredata: determined feature kind as %s\n", file.Kind().Text().c_str());
    FindWindow();
}

// Finds the context window. dim includes the context, unless contextWindow gives the frames; the dimension of the file
// shows which.
void HtkFeatureStream::FindWindow()
{
    const std::vector<size_t>& window = m_block.options.contextWindow;
    const size_t dimension = m_kind.dimension;
    const SourcePos where = m_block.config->WhereOf("dim");
    if (m_block.hasAsymmetricWindow || m_block.options.expandToUtterance)
    {
        if (m_block.options.dim != dimension)
            FailAt(where, ErrorKind::Config, "'", Name(), "': dim=", m_block.options.dim, ", but the vectors of '",
                   m_kindSource, "' have ", Counted(dimension, "element"));
        m_left = window.size() == 2 ? window[0] : 0;
        m_right = window.size() == 2 ? window[1] : 0;
        return;
    }
    const size_t frames = m_block.rows / dimension;
    if (m_block.rows % dimension != 0 || frames % 2 == 0)
        FailAt(where, ErrorKind::Config, "'", Name(), "': dim=", m_block.options.dim,
               window[0] != 1 ? Concat(" with contextWindow=", window[0]) : "", " is no odd multiple of ", dimension,
               ", the elements of a vector of '", m_kindSource, "'; 11 frames are dim=", 11 * dimension);
    m_left = frames / 2;
    m_right = frames / 2;
}

std::string HtkFeatureStream::Describe(size_t utterance) const
{
    return Concat("utterance '", Key(utterance), "' (", m_scp.path, ":", m_lines[utterance], ")");
}

HtkFile& HtkFeatureStream::Open(size_t utterance)
{
    const uint32_t path = m_scp.entries[utterance].path;
    if (path == m_openPath)
        return *m_file;
    try
    {
        m_openPath = SIZE_MAX;
        m_file = std::make_unique<HtkFile>(m_scp.paths[path]);
    }
    catch (const Error& error)
    {
        Fail(error.Kind(), Describe(utterance), ": ", error.Message());
    }
    if (m_kindSource.empty())
    {
        m_kind = m_file->Kind();
        m_kindSource = m_file->Path();
    }
    else if (!(m_file->Kind() == m_kind))
    {
        Fail(ErrorKind::Data, Describe(utterance), ": feature file '", m_file->Path(), "' is ", m_file->Kind().Text(),
             ", but '", m_kindSource, "' is ", m_kind.Text(), "; all files of '", Name(), "' must agree");
    }
    m_openPath = path;
    return *m_file;
}

size_t HtkFeatureStream::Frames(size_t utterance)
{
    const ScpEntry& entry = m_scp.entries[utterance];
    return entry.hasRange ? size_t(entry.last) - entry.first + 1 : Open(utterance).Frames();
}

void HtkFeatureStream::Read(size_t utterance, float* values)
{
    const ScpEntry& entry = m_scp.entries[utterance];
    HtkFile& file = Open(utterance);
    try
    {
        file.Read(entry.hasRange ? entry.first : 0, Frames(utterance), values);
    }
    catch (const Error& error)
    {
        Fail(error.Kind(), Describe(utterance), ": ", error.Message());
    }
}

void HtkFeatureStream::Keep(const std::vector<size_t>& utterances)
{
    for (size_t i = 0; i < utterances.size(); ++i)
    {
        if (i == utterances[i])
            continue;
        m_scp.entries[i] = std::move(m_scp.entries[utterances[i]]);
        m_lines[i] = m_lines[utterances[i]];
    }
    m_scp.entries.resize(utterances.size());
    m_lines.resize(utterances.size());
}

namespace
{

// Returns the files that match the pattern, in alphabetical order.
std::vector<std::string> FilesOfPattern(std::string pattern)
{
    std::replace(pattern.begin(), pattern.end(), '\\', '/');
    // Only * and ? are special.
    for (size_t at = 0; (at = pattern.find('[', at)) != std::string::npos; at += 3)
        pattern.replace(at, 1, "[[]");
    glob_t found{};
    std::vector<std::string> files;
    if (glob(pattern.c_str(), GLOB_NOSORT | GLOB_NOESCAPE, nullptr, &found) == 0)
        files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace

HtkLatticeStream::HtkLatticeStream(const HtkLatticeBlock& block, const UtteranceKeys& keys, size_t utterances, Log& log,
                                   int verbosity)
    : m_toc(utterances), m_source(block.options.denLatTocFile)
{
    std::vector<std::string> lists = {m_source};
    if (IsFilePattern(m_source))
    {
        m_found = FilesOfPattern(m_source);
        if (m_found.empty())
            FailAt(block.config->WhereOf("denLatTocFile"), ErrorKind::Data, "no list of lattices matches '", m_source,
                   "'");
        lists = m_found;
    }
    else
        RequireHtkFile(*block.config, "denLatTocFile", "list of lattices", m_source);
    for (const std::string& list : lists)
    {
        const size_t entries = m_toc.Read(list, block.options.prefixPathInToc, keys, log);
        if (verbosity > 0)
            log.Print("htkmlfreader: reading list of lattices %s ... total %zu entries\n", list.c_str(), entries);
    }
}

const PiecewiseFile& HtkLatticeStream::Open(size_t utterance)
{
    const std::string& path = m_toc.PathOf(utterance);
    if (m_openPath == &path)
        return *m_file;
    const std::string resolved = ResolveInputPath(path);
    if (!FileExists(resolved))
        Fail(ErrorKind::Data, m_toc.Location(utterance), ": file of lattices '", resolved, "' does not exist",
             NearFilesHint(resolved));
    m_openPath = nullptr;
    m_file = std::make_unique<PiecewiseFile>(resolved);
    std::array<char, 2> first{};
    m_file->Read(0, first.data(), std::min(first.size(), m_file->Size()));
    const std::string_view begin(first.data(), first.size());
    RequirePlainText(begin, Concat("file of lattices '", resolved, "'"));
    m_openPath = &path;
    return *m_file;
}

LatticePtr HtkLatticeStream::Read(size_t utterance, const SlfUtterance& expected)
{
    const PiecewiseFile& file = Open(utterance);
    const uint64_t offset = m_toc.OffsetOf(utterance);
    if (offset >= file.Size())
        Fail(ErrorKind::Data, m_toc.Location(utterance), ": the lattice of utterance '", expected.key,
             "' begins at byte ", offset, ", but '", file.Path(), "' has ", file.Size());
    return std::make_shared<const Lattice>(ReadSlf(file, offset, expected));
}

void HtkLatticeStream::VisitListedFiles(const ListedFileVisitor& visit) const
{
    for (const std::string& list : m_found)
        visit(list, "read as a list of lattices (" + m_source + ")");
    std::unordered_set<const std::string*> isVisited;
    for (size_t i = 0; i < m_toc.Utterances(); ++i)
        if (isVisited.insert(&m_toc.PathOf(i)).second)
            visit(m_toc.PathOf(i), "read as lattices (" + m_toc.Location(i) + ")");
}

namespace
{

constexpr size_t c_mostNotices = 10;

std::vector<std::string> LabelFilesOf(const HtkLabelBlock& block)
{
    RequireHtkFile(*block.config, "mlfFile", "label file", block.options.mlfFile);
    RequireHtkFile(*block.config, "mlfFileList", "list of label files", block.options.mlfFileList);
    std::vector<std::string> files;
    if (!block.options.mlfFile.empty())
        files.push_back(block.options.mlfFile);
    if (!block.options.mlfFileList.empty())
    {
        LineReader lines(block.options.mlfFileList, "list of label files");
        std::string_view line;
        while (lines.Next(line))
        {
            line = Trim(line);
            if (line.empty())
                continue;
            files.emplace_back(line);
            if (!FileExists(ResolveInputPath(files.back())))
                Fail(ErrorKind::Data, lines.Location(), ": label file '", line, "' does not exist",
                     NearFilesHint(files.back()));
        }
    }
    if (files.empty() && !block.options.mlfFileList.empty())
        FailAt(block.config->WhereOf("mlfFileList"), ErrorKind::Data, "list of label files '",
               block.options.mlfFileList, "' names none; expected one a line");
    if (files.empty())
        FailAt(block.config->Where(), ErrorKind::Config, "'", block.name, "' names no label file (mlfFile)");
    return files;
}

// Reads lines "state 0110", in the order of the states.
std::vector<float> ReadTargets(const HtkLabelBlock& block, const StateList& states)
{
    RequireHtkFile(*block.config, "labelToTargetMappingFile", "target mapping", block.options.labelToTargetMappingFile);
    LineReader lines(block.options.labelToTargetMappingFile, "target mapping");
    const size_t dimension = block.options.targetDim;
    std::vector<float> targets;
    std::string_view line;
    while (lines.Next(line))
    {
        line = Trim(line);
        if (line.empty())
            continue;
        const size_t id = targets.size() / dimension;
        const size_t blank = line.find_first_of(" \t");
        const std::string_view state = line.substr(0, blank);
        const std::string_view target = blank == std::string_view::npos ? "" : Trim(line.substr(blank));
        if (id >= states.Size() || state != states.Names()[id])
            Fail(ErrorKind::Data, lines.Location(), ": the state is '", state, "', expected ",
                 id < states.Size() ? "'" + states.Names()[id] + "'" : std::string("the end of the file"),
                 ", as in the state list '", states.Path(), "'");
        if (target.size() != dimension || target.find_first_not_of("01") != std::string_view::npos)
            Fail(ErrorKind::Data, lines.Location(), ": the target of '", state, "' is '", target, "', expected ",
                 dimension, " digits 0 or 1 (targetDim)");
        for (const char digit : target)
            targets.push_back(digit == '1' ? 1.0f : 0.0f);
    }
    if (targets.size() != dimension * states.Size())
        Fail(ErrorKind::Data, "target mapping '", lines.Path(), "' has ", targets.size() / dimension,
             " states, expected the ", states.Size(), " of '", states.Path(), "'");
    return targets;
}

std::unordered_set<std::string_view> NamesOf(const ScpFile& scp)
{
    std::unordered_set<std::string_view> names;
    for (const ScpEntry& entry : scp.entries)
        names.insert(LastComponent(entry.key));
    return names;
}

// Returns ": 'u7' of line 7 is not in 'b.scp'"; empty if every utterance of `first` is in `second`.
std::string FirstMissing(const ScpFile& first, const ScpFile& second)
{
    const std::unordered_set<std::string_view> names = NamesOf(second);
    for (size_t i = 0; i < first.entries.size(); ++i)
        if (!names.contains(LastComponent(first.entries[i].key)))
            return Concat("; utterance '", first.entries[i].key, "' (", first.Location(i), ") is not in '", second.path,
                          "'");
    return {};
}

} // namespace

HtkCorpus::HtkCorpus(const HtkConfig& config, Log& log)
{
    for (const HtkFeatureBlock& block : config.features)
        m_features.push_back(std::make_unique<HtkFeatureStream>(block, log, config.reader.verbosity));
    CheckLists(config.forWriting, log);
    CountFrames(config.forWriting);
    ReadLabels(config, log);
    DropUnlabelled(log, config.reader.verbosity);
    for (const uint32_t frames : m_frames)
        m_totalFrames += frames;
    if (m_totalFrames == 0)
        Fail(ErrorKind::Data, "the utterances of script file '", m_features[0]->Scp().path, "' have no frames");
    for (size_t i = 0; i < m_frames.size(); ++i) // an empty sequence cannot be in a minibatch
        if (m_frames[i] == 0)
            Fail(ErrorKind::Data, m_features[0]->Describe(i), ": feature file '", m_features[0]->PathOf(i),
                 "' has no frames, expected one at least; remove it from the list, or create it again");
}

void HtkCorpus::CheckLists(bool forWriting, Log& log)
{
    const ScpFile& first = m_features[0]->Scp();
    for (size_t stream = 1; stream < m_features.size(); ++stream)
    {
        const ScpFile& other = m_features[stream]->Scp();
        if (first.entries.size() != other.entries.size())
            Fail(ErrorKind::Data, "the features '", m_features[0]->Name(), "' and '", m_features[stream]->Name(),
                 "' differ in their utterances: script file '", first.path, "' has ",
                 Counted(first.entries.size(), "entry"), ", '", other.path, "' has ", other.entries.size(),
                 FirstMissing(first, other), FirstMissing(other, first));
        HtkFeatureStream& features = *m_features[stream];
        if (features.IsExpanded())
            continue; // vectors of speakers have names of their own
        for (size_t i = 0; i < first.entries.size(); ++i)
        {
            if (LastComponent(first.entries[i].key) == LastComponent(other.entries[i].key) ||
                (forWriting && features.Frames(i) == 1))
                continue;
            const std::string missing = FirstMissing(first, other);
            log.Warn(Concat("HTKMLFReader: line ", i + 1, " of '", first.path, "' is utterance '", first.entries[i].key,
                            "', but of '", other.path, "' it is '", other.entries[i].key,
                            "'; line i of all lists must be the same utterance", missing));
            break;
        }
    }
}

void HtkCorpus::CountFrames(bool forWriting)
{
    m_frames.resize(m_features[0]->Utterances());
    for (size_t i = 0; i < m_frames.size(); ++i)
    {
        const size_t frames = m_features[0]->Frames(i);
        if (frames > UINT32_MAX)
            Fail(ErrorKind::Data, m_features[0]->Describe(i), " has ", Counted(frames, "frame"), ", more than ",
                 UINT32_MAX);
        m_frames[i] = uint32_t(frames);
    }
    for (size_t stream = 1; stream < m_features.size(); ++stream)
    {
        HtkFeatureStream& other = *m_features[stream];
        for (size_t i = 0; i < m_frames.size(); ++i)
        {
            const size_t frames = other.Frames(i);
            const bool repeats = other.IsExpanded() || (forWriting && frames == 1);
            if (frames != (repeats ? 1 : m_frames[i]))
                Fail(ErrorKind::Data, other.Describe(i), " has ", Counted(frames, "frame"), ", but ",
                     m_features[0]->Describe(i), " of '", m_features[0]->Name(), "' has ", m_frames[i],
                     other.IsExpanded() ? "; expandToUtterance expects a single one" : "");
        }
    }
}

void HtkCorpus::ReadLabels(const HtkConfig& config, Log& log)
{
    if (config.labels.empty())
        return;
    UtteranceKeys keys;
    // Lists may name an utterance several times to give it more weight: {utterance, the first of its name}.
    std::vector<std::pair<size_t, size_t>> repeated;
    for (size_t i = 0; i < m_frames.size(); ++i)
        if (const size_t first = keys.Add(Key(i), i); first != i)
            repeated.emplace_back(i, first);
    const bool prints = config.reader.verbosity > 0;
    for (const HtkLabelBlock& block : config.labels)
    {
        HtkLabelStream stream{block.name, block.options.labelDim, {}, LabelTable(m_frames.size()), {}, 0, {}};
        stream.rows = stream.classes;
        if (!block.options.labelMappingFile.empty())
        {
            RequireHtkFile(*block.config, "labelMappingFile", "state list", block.options.labelMappingFile);
            stream.states = StateList::FromFile(block.options.labelMappingFile);
            if (prints)
                log.Print("total %zu state names in state list %s\n", stream.states.Size(),
                          stream.states.Path().c_str());
        }
        if (!block.options.labelToTargetMappingFile.empty())
        {
            stream.targets = ReadTargets(block, stream.states);
            stream.rows = block.options.targetDim;
        }
        for (const std::string& file : LabelFilesOf(block))
        {
            const size_t entries = stream.table.ReadMlf(file, keys, stream.states, stream.classes, log);
            if (prints)
                log.Print("htkmlfreader: reading MLF file %s ... total %zu entries\n", file.c_str(), entries);
            stream.source = file;
        }
        for (const auto& [utterance, first] : repeated)
            stream.table.Share(utterance, first);
        m_labels.push_back(std::move(stream));
    }
    if (!config.lattices)
        return;
    m_lattices =
        std::make_unique<HtkLatticeStream>(*config.lattices, keys, m_frames.size(), log, config.reader.verbosity);
    m_latticeLabels = config.lattices->labels;
    for (const auto& [utterance, first] : repeated)
        m_lattices->Toc().Share(utterance, first);
}

LatticePtr HtkCorpus::ReadLattice(size_t utterance)
{
    const HtkLabelStream& labels = m_labels[m_latticeLabels];
    return m_lattices->Read(utterance, {Key(utterance), m_frames[utterance], labels.states, labels.classes});
}

std::string HtkCorpus::WhatLacks(size_t utterance) const
{
    for (const HtkLabelStream& labels : m_labels)
    {
        if (!labels.table.Has(utterance))
            return Concat("has no labels in '", labels.source, "'");
        if (labels.table.Frames(utterance) != m_frames[utterance])
            return Concat("has ", Counted(m_frames[utterance], "frame"), ", but its labels in '", labels.source,
                          "' have ", labels.table.Frames(utterance), " (duration mismatch)");
    }
    if (m_lattices && !m_lattices->Toc().Has(utterance))
        return Concat("has no lattice in '", m_lattices->Source(), "'");
    return {};
}

void HtkCorpus::DropUnlabelled(Log& log, int verbosity)
{
    std::vector<size_t> kept;
    std::string example;
    size_t notices = 0;
    size_t withoutLattice = 0;
    const size_t all = m_frames.size();
    for (size_t i = 0; i < all; ++i)
    {
        const std::string problem = WhatLacks(i);
        if (problem.empty())
        {
            kept.push_back(i);
            continue;
        }
        if (m_lattices && !m_lattices->Toc().Has(i))
            ++withoutLattice;
        if (example.empty())
            example = m_features[0]->Describe(i) + " " + problem;
        if (notices++ < c_mostNotices && verbosity > 0)
            log.Print("htkmlfreader: skipping %s: it %s\n", m_features[0]->Describe(i).c_str(), problem.c_str());
    }
    const size_t notFound = all - kept.size();
    if (withoutLattice * 2 > all)
        Fail(ErrorKind::Data, "too many utterances have no lattice in '", m_lattices->Source(), "': ", withoutLattice,
             " of ", Counted(all, "utterance"), "; the first such utterance: ", example);
    if (notFound * 2 > all)
        Fail(ErrorKind::Data, "too many files not found in label set: ", notFound, " of ", Counted(all, "utterance"),
             "; the first: ", example);
    if (notices > c_mostNotices && verbosity > 0)
        log.Print("htkmlfreader: skipping %zu more\n", notices - c_mostNotices);
    if (notFound > 0)
    {
        for (size_t i = 0; i < kept.size(); ++i)
            m_frames[i] = m_frames[kept[i]];
        m_frames.resize(kept.size());
        for (const auto& stream : m_features)
            stream->Keep(kept);
        for (HtkLabelStream& labels : m_labels)
            labels.table.Keep(kept);
        if (m_lattices)
            m_lattices->Toc().Keep(kept);
    }
    size_t frames = 0;
    for (const uint32_t count : m_frames)
        frames += count;
    if (verbosity > 0)
    {
        for (size_t i = 0; i < m_features.size(); ++i)
            log.Print("feature set %zu: %zu frames in %zu out of %zu utterances\n", i, frames, kept.size(), all);
        for (size_t i = 0; i < m_labels.size(); ++i)
            log.Print("label set %zu: %zu classes\n", i, m_labels[i].classes);
    }
}

void HtkCorpus::VisitListedFiles(const HtkConfig& config, const ListedFileVisitor& visit) const
{
    for (const auto& stream : m_features)
    {
        const ScpFile& scp = stream->Scp();
        std::vector<bool> isVisited(scp.paths.size());
        for (size_t i = 0; i < scp.entries.size(); ++i)
        {
            const uint32_t path = scp.entries[i].path;
            if (!isVisited[path])
                visit(scp.paths[path], "read as features (" + scp.Location(i) + ")");
            isVisited[path] = true;
        }
    }
    for (const HtkLabelBlock& block : config.labels)
        if (!block.options.mlfFileList.empty())
            for (const std::string& file : LabelFilesOf(block))
                visit(file, "read as labels (" + block.options.mlfFileList + ")");
    if (m_lattices)
        m_lattices->VisitListedFiles(visit);
}

} // namespace cntk
