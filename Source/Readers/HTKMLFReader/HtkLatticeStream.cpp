// Lists by name or pattern, archives.
#include "Readers/HTKMLFReader/HtkLatticeStream.h"

#include "Common/Error.h"
#include "Common/Log.h"

#include <algorithm>
#include <array>
#include <glob.h>
#include <unordered_set>

namespace cntk
{
namespace
{

// The files that a pattern means, in alphabetical order.
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
    if (begin == "\x1F\x8B")
        Fail(ErrorKind::Data, m_toc.Location(utterance), ": file of lattices '", resolved,
             "' is compressed by gzip; unpack it, and let the list name the file unpacked, with the offsets there");
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
    std::unordered_set<const std::string*> isTold;
    for (size_t i = 0; i < m_toc.Utterances(); ++i)
        if (isTold.insert(&m_toc.PathOf(i)).second)
            visit(m_toc.PathOf(i), "read as lattices (" + m_toc.Location(i) + ")");
}

} // namespace cntk
