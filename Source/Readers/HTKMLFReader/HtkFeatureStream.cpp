// One stream of features: its script file, the kind of its files, its context window.
#include "Readers/HTKMLFReader/HtkFeatureStream.h"

#include "Common/Counted.h"
#include "Common/Error.h"
#include "Common/Log.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <numeric>

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

// dim is the dimension with the context, or without it where contextWindow gives the frames: the dimension of the file
// tells.
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

} // namespace cntk
