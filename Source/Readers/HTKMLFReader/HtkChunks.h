// The data of chunks of utterances, in memory or in a page file. The edge frames of each utterance are repeated before
// and after it, so that the context window of any frame is contiguous.
#pragma once

#include "Readers/HTKMLFReader/HtkCorpus.h"
#include "Readers/HTKMLFReader/HtkShuffle.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// Plain memory, or a mapped temporary file.
class HtkBuffer
{
public:
    HtkBuffer() = default;
    ~HtkBuffer();
    HtkBuffer(const HtkBuffer&) = delete;
    HtkBuffer& operator=(const HtkBuffer&) = delete;

    // Makes room for `bytes`; keeps the buffer if it is large enough. pageFolder: null for plain memory; empty: the
    // system's folder of temporary files. Fails (Device) if the page file cannot be created.
    void Resize(size_t bytes, const std::string* pageFolder);

    template <class T>
    T* As()
    {
        return reinterpret_cast<T*>(m_data);
    }
    template <class T>
    const T* As() const
    {
        return reinterpret_cast<const T*>(m_data);
    }

private:
    void Free();

    char* m_data = nullptr;
    size_t m_capacity = 0;
    bool m_isMapped = false;
};

// One chunk in memory.
class HtkChunkData
{
public:
    // wanted: by stream, features first. pageFolder as in HtkBuffer.
    void Read(HtkCorpus& corpus, const HtkChunk& chunk, const std::vector<bool>& wanted, const std::string* pageFolder);

    // The context window of a frame of the chunk.
    const float* Window(size_t stream, size_t frame) const
    {
        const Values& values = m_features[stream];
        const size_t utterance = UtteranceOf(frame);
        const size_t column = values.isSingle ? utterance : frame + utterance * values.padding;
        return values.buffer.As<float>() + column * values.dimension;
    }
    uint32_t ClassId(size_t labels, size_t frame) const { return m_labels[labels].As<uint32_t>()[frame]; }
    size_t UtteranceOf(size_t frame) const { return m_utteranceOfFrame.As<uint32_t>()[frame]; }
    size_t FirstFrame(size_t utterance) const { return m_firstFrames[utterance]; }
    size_t Frames() const { return m_frames; }

private:
    struct Values
    {
        HtkBuffer buffer;
        size_t dimension = 0;
        size_t padding = 0;    // repeated frames of each utterance
        bool isSingle = false; // one vector for each utterance
    };

    void ReadStream(HtkFeatureStream& stream, const HtkCorpus& corpus, const HtkChunk& chunk, Values& values,
                    const std::string* pageFolder);

    std::vector<Values> m_features;
    std::vector<HtkBuffer> m_labels;
    HtkBuffer m_utteranceOfFrame;
    std::vector<size_t> m_firstFrames;
    size_t m_frames = 0;
};

using HtkChunkDataPtr = std::shared_ptr<const HtkChunkData>;

// The chunks of the corpus. Those of the current window are in memory.
class HtkChunkStore
{
public:
    // usesPageFile: all utterances are one chunk, in a page file.
    HtkChunkStore(HtkCorpus& corpus, bool usesPageFile, std::string pageFolder);

    const std::vector<HtkChunk>& Chunks() const { return m_chunks; }
    HtkCorpus& Corpus() { return m_corpus; }

    void SetWanted(const std::vector<bool>& wanted);
    const std::vector<bool>& Wanted() const { return m_wanted; }

    // Reads the chunk unless it is in memory.
    const HtkChunkDataPtr& Load(size_t chunk);
    // Drops the chunks outside the window of that place.
    void KeepWindow(const std::vector<PlacedChunk>& placed, size_t place);
    size_t Loaded() const { return m_loadedCount; }

private:
    HtkCorpus& m_corpus;
    bool m_usesPageFile;
    std::string m_pageFolder;
    std::vector<HtkChunk> m_chunks;
    std::vector<HtkChunkDataPtr> m_loaded; // by chunk
    std::atomic<size_t> m_loadedCount = 0; // atomic: other threads may ask
    std::vector<bool> m_wanted;
};

} // namespace cntk
