// The utterances of a reader: the files with the frames of each stream, the labels and the lattices. Leaves out
// utterances without labels, or without lattices if the reader has some.
#pragma once

#include "Common/FileClashes.h"
#include "Common/Htk/HtkFile.h"
#include "Common/Htk/ScpFile.h"
#include "Readers/HTKMLFReader/HtkOptions.h"
#include "Readers/HTKMLFReader/LatticeToc.h"
#include "Readers/HTKMLFReader/MlfFile.h"
#include "Readers/HTKMLFReader/SlfFile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;

// One stream of features. Keeps the last feature file open: consecutive utterances are mostly in one archive.
class HtkFeatureStream
{
public:
    HtkFeatureStream(const HtkFeatureBlock& block, Log& log, int verbosity);

    const std::string& Name() const { return m_block.name; }
    size_t Rows() const { return m_block.rows; } // of a frame with its context
    size_t Dimension() const { return m_kind.dimension; }
    size_t Left() const { return m_left; }
    size_t Right() const { return m_right; }
    // True if one vector stands for the whole utterance.
    bool IsExpanded() const { return m_block.options.expandToUtterance; }

    const ScpFile& Scp() const { return m_scp; }
    size_t Utterances() const { return m_scp.entries.size(); }
    const std::string& Key(size_t utterance) const { return m_scp.entries[utterance].key; }
    const std::string& PathOf(size_t utterance) const { return m_scp.paths[m_scp.entries[utterance].path]; }
    // Returns the number of frames. Reads the file's header if the script file has no range.
    size_t Frames(size_t utterance);
    // Reads the frames in order. Fails with script line, utterance, file and byte.
    void Read(size_t utterance, float* values);
    // Returns "utterance 'u1' (train.scp:1)".
    std::string Describe(size_t utterance) const;

    void Keep(const std::vector<size_t>& utterances);

private:
    HtkFile& Open(size_t utterance);
    void FindWindow();

    HtkFeatureBlock m_block;
    ScpFile m_scp;
    std::vector<uint32_t> m_lines; // by utterance
    HtkKind m_kind;
    std::string m_kindSource; // the file with that kind
    size_t m_left = 0;
    size_t m_right = 0;
    std::unique_ptr<HtkFile> m_file;
    size_t m_openPath = SIZE_MAX;
};

class Log;

// The lattices of the utterances. Finds them in lists at first, and reads each when needed. Keeps the last archive
// open.
class HtkLatticeStream
{
public:
    HtkLatticeStream(const HtkLatticeBlock& block, const UtteranceKeys& keys, size_t utterances, Log& log,
                     int verbosity);

    LatticeToc& Toc() { return m_toc; }
    const LatticeToc& Toc() const { return m_toc; }
    // The lists, as the config names them.
    const std::string& Source() const { return m_source; }
    // Reads a lattice. Fails (Data) with the line of the list or of the archive, and the utterance.
    LatticePtr Read(size_t utterance, const SlfUtterance& expected);
    // Visits the lists that a pattern found, and the archives.
    void VisitListedFiles(const ListedFileVisitor& visit) const;

private:
    const PiecewiseFile& Open(size_t utterance);

    LatticeToc m_toc;
    std::string m_source;
    std::vector<std::string> m_found; // by a pattern
    std::unique_ptr<PiecewiseFile> m_file;
    const std::string* m_openPath = nullptr;
};

class Log;

struct HtkLabelStream
{
    std::string name;
    size_t classes = 0;
    StateList states;
    LabelTable table;
    std::string source; // file of the labels, for messages
    // With a target mapping: `rows` elements for each class.
    size_t rows = 0; // rows per frame
    std::vector<float> targets;
};

class HtkCorpus
{
public:
    // Reads script files, state lists and label files; opens one feature file of each stream.
    HtkCorpus(const HtkConfig& config, Log& log);

    size_t Utterances() const { return m_frames.size(); }
    size_t Frames(size_t utterance) const { return m_frames[utterance]; }
    size_t TotalFrames() const { return m_totalFrames; }
    const std::string& Key(size_t utterance) const { return m_features[0]->Key(utterance); }

    std::vector<std::unique_ptr<HtkFeatureStream>>& Features() { return m_features; }
    const std::vector<std::unique_ptr<HtkFeatureStream>>& Features() const { return m_features; }
    const std::vector<HtkLabelStream>& Labels() const { return m_labels; }

    bool HasLattices() const { return m_lattices != nullptr; }
    // Reads a lattice from its file.
    LatticePtr ReadLattice(size_t utterance);

    // Visits the feature files and archives of the script files, the label files of mlfFileList, and the files of
    // lattices.
    void VisitListedFiles(const HtkConfig& config, const ListedFileVisitor& visit) const;

private:
    void CheckLists(bool forWriting, Log& log);
    void ReadLabels(const HtkConfig& config, Log& log);
    // Returns the reason to leave out the utterance; empty if there is none.
    std::string WhatLacks(size_t utterance) const;
    void CountFrames(bool forWriting);
    void DropUnlabelled(Log& log, int verbosity);

    std::vector<std::unique_ptr<HtkFeatureStream>> m_features;
    std::vector<HtkLabelStream> m_labels;
    std::unique_ptr<HtkLatticeStream> m_lattices;
    size_t m_latticeLabels = 0;     // index into m_labels: the labels whose states the lattices use
    std::vector<uint32_t> m_frames; // by utterance
    size_t m_totalFrames = 0;
};

} // namespace cntk
