// The lattices of the utterances that are read: found in lists when the reader is made, read when they are asked for.
#pragma once

#include "Common/FileClashes.h"
#include "Readers/HTKMLFReader/HtkOptions.h"
#include "Readers/HTKMLFReader/LatticeToc.h"
#include "Readers/HTKMLFReader/SlfFile.h"

#include <cstddef>
#include <memory>
#include <string>

namespace cntk
{

class Log;

// Opens one archive at a time and keeps it open: neighbouring utterances are mostly in one archive.
class HtkLatticeStream
{
public:
    HtkLatticeStream(const HtkLatticeBlock& block, const UtteranceKeys& keys, size_t utterances, Log& log,
                     int verbosity);

    LatticeToc& Toc() { return m_toc; }
    const LatticeToc& Toc() const { return m_toc; }
    // The lists, as the config has them.
    const std::string& Source() const { return m_source; }
    // Fails (Data) with the line of the list, or of the archive, and the utterance.
    LatticePtr Read(size_t utterance, const SlfUtterance& expected);
    // Lists that a pattern found, and archives.
    void VisitListedFiles(const ListedFileVisitor& visit) const;

private:
    const PiecewiseFile& Open(size_t utterance);

    LatticeToc m_toc;
    std::string m_source;
    std::vector<std::string> m_found; // by a pattern
    std::unique_ptr<PiecewiseFile> m_file;
    const std::string* m_openPath = nullptr;
};

} // namespace cntk
