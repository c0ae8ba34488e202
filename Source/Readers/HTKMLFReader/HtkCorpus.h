// The utterances that a reader reads: where the frames of each stream are and what labels they have. Utterances that
// lack labels, or lattices where there are some, are left out.
#pragma once

#include "Common/FileClashes.h"
#include "Readers/HTKMLFReader/HtkFeatureStream.h"
#include "Readers/HTKMLFReader/HtkLatticeStream.h"
#include "Readers/HTKMLFReader/HtkOptions.h"
#include "Readers/HTKMLFReader/MlfFile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;

struct HtkLabelStream
{
    std::string name;
    size_t classes = 0;
    StateList states;
    LabelTable table;
    std::string source; // of the labels, for messages
    // With a target mapping: rows elements for each class.
    size_t rows = 0; // of the stream
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
    // Reads it from its file.
    LatticePtr ReadLattice(size_t utterance);

    // Feature files and archives of the script files, label files of mlfFileList, files of lattices.
    void VisitListedFiles(const HtkConfig& config, const ListedFileVisitor& visit) const;

private:
    void CheckLists(bool forWriting, Log& log);
    void ReadLabels(const HtkConfig& config, Log& log);
    // What keeps the utterance from being read; empty: nothing.
    std::string WhatLacks(size_t utterance) const;
    void CountFrames(bool forWriting);
    void DropUnlabelled(Log& log, int verbosity);

    std::vector<std::unique_ptr<HtkFeatureStream>> m_features;
    std::vector<HtkLabelStream> m_labels;
    std::unique_ptr<HtkLatticeStream> m_lattices;
    size_t m_latticeLabels = 0;     // in m_labels: whose states those of the lattices are
    std::vector<uint32_t> m_frames; // by utterance
    size_t m_totalFrames = 0;
};

} // namespace cntk
