// Dividing the utterances into chunks; reading chunks and dropping them.
#include "Readers/HTKMLFReader/HtkChunks.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Readers/ReaderLib/VectorCopy.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace cntk
{
namespace
{

// A chunk is closed once it has more frames (15 minutes at 10 ms) or this number of utterances.
constexpr size_t c_chunkFrames = 90000;
constexpr size_t c_chunkUtterances = 65535;

char* MapPageFile(const std::string& folder, size_t bytes)
{
    const std::string place = folder.empty() ? std::filesystem::temp_directory_path().string() : folder;
    std::string pattern = place + "/temp.CNTK.XXXXXX";
    MakeFoldersFor(pattern);
    const int file = mkstemp(pattern.data());
    if (file < 0)
        Fail(ErrorKind::Device, "cannot create a page file in '", place, "' (pageFilePath): ", std::strerror(errno));
    unlink(pattern.c_str()); // the file disappears with the program, however that ends
    // Reserves the disk space now: writing to a mapped file on a full disk would kill the program.
    const int problem = posix_fallocate(file, 0, off_t(bytes));
    void* const data = problem != 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int mapProblem = problem != 0 ? problem : errno;
    close(file);
    if (data == MAP_FAILED)
        Fail(ErrorKind::Device, "cannot create a page file of ", bytes, " bytes in '", place,
             "' (pageFilePath): ", std::strerror(mapProblem));
    return static_cast<char*>(data);
}

std::vector<HtkChunk> MakeChunks(const HtkCorpus& corpus, bool allInOne)
{
    std::vector<HtkChunk> chunks;
    for (size_t i = 0; i < corpus.Utterances(); ++i)
    {
        const bool isFull = !chunks.empty() && !allInOne &&
                            (chunks.back().frames > c_chunkFrames || chunks.back().utterances >= c_chunkUtterances);
        if (chunks.empty() || isFull)
            chunks.push_back({i, 0, 0});
        ++chunks.back().utterances;
        chunks.back().frames += corpus.Frames(i);
    }
    for (const HtkChunk& chunk : chunks)
        if (chunk.frames > UINT32_MAX)
            Fail(ErrorKind::Data, "the data have ", chunk.frames, " frames, more than ", UINT32_MAX,
                 " that can be shuffled with each other; use readMethod=blockRandomize");
    return chunks;
}

} // namespace

HtkBuffer::~HtkBuffer()
{
    Free();
}

void HtkBuffer::Free()
{
    if (m_isMapped)
        munmap(m_data, m_capacity);
    else
        std::free(m_data);
    m_data = nullptr;
    m_capacity = 0;
}

void HtkBuffer::Resize(size_t bytes, const std::string* pageFolder)
{
    bytes = std::max<size_t>(bytes, 1);
    if (bytes <= m_capacity && m_isMapped == (pageFolder != nullptr))
        return;
    Free();
    m_isMapped = pageFolder != nullptr;
    m_data = m_isMapped ? MapPageFile(*pageFolder, bytes) : static_cast<char*>(AllocateInLargePages(bytes));
    if (m_data == nullptr)
        Fail(ErrorKind::Device, "not enough memory for ", bytes,
             " bytes of features; a smaller window (randomize=<frames>) needs less");
    m_capacity = bytes;
}

void HtkChunkData::ReadStream(HtkFeatureStream& stream, const HtkCorpus& corpus, const HtkChunk& chunk, Values& values,
                              const std::string* pageFolder)
{
    values.dimension = stream.Dimension();
    values.padding = stream.Left() + stream.Right();
    size_t columns = 0;
    for (size_t i = chunk.firstUtterance; i < chunk.firstUtterance + chunk.utterances; ++i)
        columns += stream.Frames(i) + values.padding;
    values.buffer.Resize(columns * values.dimension * sizeof(float), pageFolder);
    // In write mode a single vector may stand for the whole file.
    values.isSingle = stream.IsExpanded() || (chunk.utterances == 1 && stream.Frames(chunk.firstUtterance) == 1 &&
                                              corpus.Frames(chunk.firstUtterance) != 1);
    float* target = values.buffer.As<float>();
    for (size_t i = chunk.firstUtterance; i < chunk.firstUtterance + chunk.utterances; ++i)
    {
        const size_t frames = stream.Frames(i);
        if (values.isSingle)
        {
            stream.Read(i, target);
            target += values.dimension;
            if (values.padding > 0 && !stream.IsExpanded())
                Fail(ErrorKind::Data, stream.Describe(i), " has a single frame, and '", stream.Name(),
                     "' has a context window; expected as many frames as in the first feature block");
            continue;
        }
        const size_t bytes = values.dimension * sizeof(float);
        float* const first = target + stream.Left() * values.dimension;
        float* const last = first + (frames - 1) * values.dimension;
        stream.Read(i, first);
        for (size_t n = 0; n < stream.Left(); ++n)
            std::memcpy(target + n * values.dimension, first, bytes);
        for (size_t n = 1; n <= stream.Right(); ++n)
            std::memcpy(last + n * values.dimension, last, bytes);
        target = last + (1 + stream.Right()) * values.dimension;
    }
}

void HtkChunkData::Read(HtkCorpus& corpus, const HtkChunk& chunk, const std::vector<bool>& wanted,
                        const std::string* pageFolder)
{
    const size_t features = corpus.Features().size();
    if (m_features.size() != features)
    {
        m_features = std::vector<Values>(features);
        m_labels = std::vector<HtkBuffer>(corpus.Labels().size());
    }
    m_frames = chunk.frames;
    m_firstFrames.resize(chunk.utterances);
    m_utteranceOfFrame.Resize(chunk.frames * sizeof(uint32_t), pageFolder);
    size_t frame = 0;
    for (size_t i = 0; i < chunk.utterances; ++i)
    {
        m_firstFrames[i] = frame;
        uint32_t* const begin = m_utteranceOfFrame.As<uint32_t>() + frame;
        frame += corpus.Frames(chunk.firstUtterance + i);
        std::fill(begin, m_utteranceOfFrame.As<uint32_t>() + frame, uint32_t(i));
    }
    for (size_t stream = 0; stream < features; ++stream)
        if (wanted[stream])
            ReadStream(*corpus.Features()[stream], corpus, chunk, m_features[stream], pageFolder);
    for (size_t labels = 0; labels < m_labels.size(); ++labels)
    {
        if (!wanted[features + labels])
            continue;
        m_labels[labels].Resize(chunk.frames * sizeof(uint32_t), pageFolder);
        for (size_t i = 0; i < chunk.utterances; ++i)
            corpus.Labels()[labels].table.Expand(chunk.firstUtterance + i,
                                                 m_labels[labels].As<uint32_t>() + m_firstFrames[i]);
    }
}

HtkChunkStore::HtkChunkStore(HtkCorpus& corpus, bool usesPageFile, std::string pageFolder)
    : m_corpus(corpus), m_usesPageFile(usesPageFile), m_pageFolder(std::move(pageFolder)),
      m_chunks(MakeChunks(corpus, usesPageFile)), m_loaded(m_chunks.size()),
      m_wanted(corpus.Features().size() + corpus.Labels().size())
{
}

void HtkChunkStore::SetWanted(const std::vector<bool>& wanted)
{
    bool lacksSome = false;
    for (size_t i = 0; i < wanted.size(); ++i)
        lacksSome = lacksSome || (wanted[i] && !m_wanted[i]);
    if (!lacksSome)
        return;
    m_wanted = wanted;
    m_loaded.assign(m_chunks.size(), nullptr);
    m_loadedCount = 0;
}

const HtkChunkDataPtr& HtkChunkStore::Load(size_t chunk)
{
    HtkChunkDataPtr& loaded = m_loaded[chunk];
    if (!loaded)
    {
        auto data = std::make_shared<HtkChunkData>();
        data->Read(m_corpus, m_chunks[chunk], m_wanted, m_usesPageFile ? &m_pageFolder : nullptr);
        loaded = std::move(data);
        ++m_loadedCount;
    }
    return loaded;
}

void HtkChunkStore::KeepWindow(const std::vector<PlacedChunk>& placed, size_t place)
{
    const PlacedChunk& here = placed[place];
    for (size_t i = 0; i < placed.size(); ++i)
    {
        HtkChunkDataPtr& loaded = m_loaded[placed[i].chunk];
        if (!IsInWindow(here, i) && loaded)
        {
            loaded = nullptr;
            --m_loadedCount;
        }
    }
}

} // namespace cntk
