// The files that -infiles lists, and the source of scores that they are without a network.
#pragma once

#include "Common/Htk/HtkFile.h"
#include "Common/Htk/ScpFile.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/ScoreSource.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// The utterances of a script file. Files are opened when they are read.
class UtteranceFiles
{
public:
    // Reads options.infiles. Relative paths are those of prefixPathInSCP, else relative to the folder of the list, or
    // to the working directory if the file is only there. Fails (Data) with file and line.
    explicit UtteranceFiles(const DecodeOptions& options);

    size_t Count() const { return m_list.entries.size(); }
    // Without folder and extension.
    std::string Name(size_t utterance) const;
    // The path that the list gives, resolved.
    const std::string& PathOf(size_t utterance) const { return m_list.paths[m_list.entries[utterance].path]; }
    // "test.scp:12"
    std::string Location(size_t utterance) const { return m_list.Location(utterance); }
    // Returns the elements of a frame of the first file that can be read; 0 if none can.
    size_t DimensionOfFirst() const;
    // Reads the frames of an utterance: rows are elements. Sets `problem` instead if the file cannot be read.
    void Read(size_t utterance, UtteranceScores& frames);

private:
    ScpFile m_list;
    std::unique_ptr<HtkFile> m_file; // of the last utterance, which may share it with the next one
};

// Scores that stand in the files themselves.
class ScoreFileSource final : public ScoreSource
{
public:
    explicit ScoreFileSource(const DecodeOptions& options);

    size_t Utterances() const override { return m_files.Count(); }
    size_t Rows() const override { return m_rows; }
    bool Next(UtteranceScores& scores) override;

private:
    UtteranceFiles m_files;
    size_t m_rows;
    size_t m_next = 0;
};

} // namespace cntk
