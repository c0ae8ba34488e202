// The utterances of a decoder's list (-infiles): names, and frames of features or scores from HTK files.
#pragma once

#include "Common/Htk/HtkFile.h"
#include "Common/Htk/ScpFile.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// Frames of one utterance: rows x count, column-major, one frame a column.
struct Frames
{
    size_t rows = 0;
    size_t count = 0;
    double period = c_htkPeriod10ms; // in units of 100 ns
    std::vector<float> values;
};

class FeatureFiles
{
public:
    // prefix: prefixPathInSCP; empty: paths are relative to the folder of the list, or else to the current folder.
    // Fails (Data) with file and line of the list.
    FeatureFiles(const std::string& list, const std::string& prefix);

    size_t Count() const { return m_list.entries.size(); }
    // Returns the last component of the utterance's name, without extension.
    std::string NameOf(size_t utterance) const;
    // Fails (Data) if the file cannot be read or has fewer frames, with the place of the list.
    void Read(size_t utterance, Frames& frames);
    // Returns the rows of the first readable file; 0 if there is none.
    size_t FindRows();

private:
    HtkFile& Open(uint32_t path);

    ScpFile m_list;
    std::unique_ptr<HtkFile> m_file; // opened last: the next utterance often stands in the same archive
    uint32_t m_path = 0;             // of m_file
};

} // namespace cntk
