// Lists of lattices (toc files): a line an utterance, "key=archive[offset]", or "key=file" if the lattice has a file of
// its own. Keeps only the entries of utterances that the reader reads.
#pragma once

#include "Readers/HTKMLFReader/MlfFile.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

class Log;

class LatticeToc
{
public:
    explicit LatticeToc(size_t utterances) : m_entries(utterances) {}

    // Reads the places of the lattices of the utterances in `keys`. prefix: prefixPathInToc; empty: "..." stands for
    // the folder of the list. Returns the number of entries in the file. Fails (Data) with file and line.
    size_t Read(const std::string& path, const std::string& prefix, const UtteranceKeys& keys, Log& log);

    bool Has(size_t utterance) const { return m_entries[utterance].line > 0; }
    const std::string& PathOf(size_t utterance) const { return m_paths[m_entries[utterance].path]; }
    uint64_t OffsetOf(size_t utterance) const { return m_entries[utterance].offset; }
    // Returns "den.toc:12".
    std::string Location(size_t utterance) const;

    size_t Utterances() const { return m_entries.size(); }
    // Same as in LabelTable.
    void Share(size_t utterance, size_t other) { m_entries[utterance] = m_entries[other]; }
    void Keep(const std::vector<size_t>& utterances);

private:
    struct Entry
    {
        uint64_t offset = 0;
        uint32_t path = 0;
        uint32_t list = 0; // in m_lists
        uint32_t line = 0; // 0: none
        bool byWholeKey = false;
    };
    class Parser;

    std::vector<std::string> m_lists;
    std::vector<std::string> m_paths; // of archives; each once for a list
    std::vector<Entry> m_entries;     // by utterance
};

} // namespace cntk
