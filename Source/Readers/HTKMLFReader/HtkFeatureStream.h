// The frames of one stream of features: utterance by utterance from the files that its script file lists.
#pragma once

#include "Readers/HTKMLFReader/HtkFile.h"
#include "Readers/HTKMLFReader/HtkOptions.h"
#include "Readers/HTKMLFReader/ScpFile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;

// Opens one feature file at a time and keeps it open: neighbouring utterances are mostly in one archive.
class HtkFeatureStream
{
public:
    HtkFeatureStream(const HtkFeatureBlock& block, Log& log, int verbosity);

    const std::string& Name() const { return m_block.name; }
    size_t Rows() const { return m_block.rows; } // of a frame with its context
    size_t Dimension() const { return m_kind.dimension; }
    size_t Left() const { return m_left; }
    size_t Right() const { return m_right; }
    // One vector for the whole utterance.
    bool IsExpanded() const { return m_block.options.expandToUtterance; }

    const ScpFile& Scp() const { return m_scp; }
    size_t Utterances() const { return m_scp.entries.size(); }
    const std::string& Key(size_t utterance) const { return m_scp.entries[utterance].key; }
    const std::string& PathOf(size_t utterance) const { return m_scp.paths[m_scp.entries[utterance].path]; }
    // Number of frames; reads the file's header where the script file does not tell.
    size_t Frames(size_t utterance);
    // The frames, one behind the other. Fails with script line, utterance, file and byte.
    void Read(size_t utterance, float* values);
    // "utterance 'u1' (train.scp:1)"
    std::string Describe(size_t utterance) const;

    void Keep(const std::vector<size_t>& utterances);

private:
    HtkFile& Open(size_t utterance);
    void FindWindow();

    HtkFeatureBlock m_block;
    ScpFile m_scp;
    std::vector<uint32_t> m_lines; // by utterance
    HtkKind m_kind;
    std::string m_kindSource; // the file that said it
    size_t m_left = 0;
    size_t m_right = 0;
    std::unique_ptr<HtkFile> m_file;
    size_t m_openPath = SIZE_MAX;
};

} // namespace cntk
