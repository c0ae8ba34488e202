// Readers of sentences in a text file: reading the text block by block, and the delivery of minibatches. Subclasses add
// the grammar of the text, the choice of the sentences of a minibatch, and the streams.
#pragma once

#include "Common/DataFile.h"
#include "Common/Random.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct Sentence
{
    size_t first = 0; // token in the block
    size_t tokens = 0;
    size_t number = 0; // from 1; the sequence key
};

// The sentences of a text. Holds one block of them.
class SentenceText
{
public:
    // where: position of the file's name in the config. Fails (Data) if the file is missing or empty.
    SentenceText(const std::string& path, const SourcePos& where);
    virtual ~SentenceText() = default;

    // Returns to the first sentence.
    virtual void Start(size_t seed, uint64_t trainingSeed);
    // The sentences of the current minibatch, for all workers.
    const std::vector<Sentence>& Group() const { return m_group; }
    // Samples of the whole text. Reads it through a handle of its own, so that a thread may read meanwhile.
    size_t CountSamples() const;

protected:
    // Replaces m_sentences and the tokens by those of the next block. No sentences: the text has ended. log gets text.
    virtual void ReadBlock(std::string& log) = 0;
    virtual size_t SamplesOfLine(size_t columns) const = 0;

    // Finds the first unused sentence, Next(); reads a block if the current one is used up. False at the end.
    bool FindNext(std::string& log);
    size_t Next() const { return m_next; }
    bool IsUsed(size_t sentence) const { return m_used[sentence]; }
    // Marks the sentence as used and adds it to the group.
    void Take(size_t sentence);
    void ClearGroup() { m_group.clear(); }

    LineReader m_lines;
    bool m_isAtEnd = false; // of the text
    SeedStream m_seeds;
    size_t m_seed = 0;
    std::vector<std::string_view> m_columns; // of a line
    std::vector<Sentence> m_sentences;       // of the block, in shuffled order

private:
    std::vector<bool> m_used; // by sentence of the block
    size_t m_next = 0;        // the sentences before it are used
    std::vector<Sentence> m_group;
};

template <class ElemType>
class SentenceReader : public IDataReader<ElemType>
{
public:
    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override { return m_pipe.Next(minibatch); }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

protected:
    using Slot = MinibatchSlot<ElemType>;

    SentenceReader(const char* name, Log& log) : m_name(name), m_pipe(log) {}
    // Subclasses call it in their destructors: the thread uses their members.
    void StopReading() { m_pipe.Stop(); }

    virtual void BeginEpoch() = 0;
    // The functions below run in the prefetch thread or in the caller's.
    // Fills the layout and keys of the next minibatch, this worker's share; false at the end of the epoch.
    virtual bool NextMinibatch(MBLayout& layout, std::vector<std::string>& keys, std::string& log) = 0;
    // Fills the values of a stream, whose rows, columns and layout are set.
    virtual void FillStream(size_t stream, Slot& slot) = 0;

    bool m_prefetches = true;
    std::vector<StreamInfo> m_streams;
    EpochRequest m_request;

private:
    bool Fill(Slot& slot);

    const char* m_name;
    std::vector<bool> m_wanted; // by stream
    MinibatchPipe<ElemType> m_pipe;
};

} // namespace cntk
