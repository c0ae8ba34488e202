// HTKMLFReader: frames a second of windows of 11 frames of 72 features, shuffled, from an archive. The first epoch
// reads the files; later ones find them in memory.
#include "Common/Config/ConfigParameters.h"
#include "Common/Htk/HtkFile.h"
#include "Common/Log.h"
#include "Readers/HTKMLFReader/HtkReader.h"

#include <benchmark/benchmark.h>
#include <bit>
#include <cstdio>
#include <filesystem>
#include <string>

namespace cntk
{
namespace
{

constexpr size_t c_dimension = 72;
constexpr size_t c_utterances = 1200;
constexpr size_t c_frames = 400; // of an utterance
constexpr size_t c_states = 126;

// One archive with all utterances, its script file, label file and state list.
std::filesystem::path MakeCorpus()
{
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "HtkReaderBenchmark";
    if (std::filesystem::exists(folder / "states.txt"))
        return folder;
    std::filesystem::create_directories(folder);
    const auto open = [&](const char* name) { return std::fopen((folder / name).c_str(), "wb"); };
    std::FILE* archive = open("archive.fbank");
    std::FILE* script = open("list.scp");
    std::FILE* labels = open("labels.mlf");
    const auto header = MakeHtkHeader(c_utterances * c_frames, c_dimension);
    std::fwrite(header.data(), 1, header.size(), archive);
    std::fputs("#!MLF!#\n", labels);
    uint32_t random = 1;
    std::vector<uint32_t> values(c_frames * c_dimension);
    for (size_t u = 0; u < c_utterances; ++u)
    {
        for (uint32_t& value : values)
        {
            random = random * 1664525u + 1013904223u;
            value = __builtin_bswap32(std::bit_cast<uint32_t>(float(random >> 8) / float(1 << 24)));
        }
        std::fwrite(values.data(), sizeof(uint32_t), values.size(), archive);
        std::fprintf(script, "u%zu.fbank=%s/archive.fbank[%zu,%zu]\n", u, folder.c_str(), u * c_frames,
                     (u + 1) * c_frames - 1);
        std::fprintf(labels, "\"u%zu.lab\"\n", u);
        for (size_t t = 0; t < c_frames; t += 8)
            std::fprintf(labels, "%zu %zu s%zu\n", t * 100000, (t + 8) * 100000, (u + t / 8) % c_states);
        std::fputs(".\n", labels);
    }
    std::fclose(archive);
    std::fclose(script);
    std::fclose(labels);
    std::FILE* states = open("states.txt");
    for (size_t i = 0; i < c_states; ++i)
        std::fprintf(states, "s%zu\n", i);
    std::fclose(states);
    return folder;
}

template <class ElemType>
void ReadEpochs(benchmark::State& state, bool anew)
{
    const std::filesystem::path folder = MakeCorpus();
    const auto config = ConfigParameters::Parse(
        "reader=[\nreaderType=HTKMLFReader\nreadMethod=blockRandomize\nrandomize=auto\n"
        "minibatchMode=partial\nfeatures=[dim=792\nscpFile=" +
        (folder / "list.scp").string() + "]\nlabels=[labelDim=126\nmlfFile=" + (folder / "labels.mlf").string() +
        "\nlabelMappingFile=" + (folder / "states.txt").string() + "]\n]");
    Log log;
    log.RedirectTo((folder / "log.txt").string());
    const ConfigParameters& block = config->RequireBlock("reader");
    const ReaderContext context{block, log};
    auto reader = MakeHtkReader<ElemType>(context);
    HostMinibatch<ElemType> minibatch;
    size_t epoch = 0;
    const auto readEpoch = [&]
    {
        reader->StartEpoch({.epoch = epoch++, .minibatchSize = 1024, .wanted = {}});
        size_t frames = 0;
        while (reader->GetMinibatch(minibatch))
            frames += minibatch.streams[0].columns;
        return frames;
    };
    if (!anew)
        readEpoch();
    size_t frames = 0;
    for ([[maybe_unused]] auto _ : state)
    {
        if (anew)
        {
            state.PauseTiming();
            reader = MakeHtkReader<ElemType>(context); // reads label files
            epoch = 0;
            state.ResumeTiming();
        }
        frames += readEpoch();
    }
    state.counters["frames/s"] = benchmark::Counter(double(frames), benchmark::Counter::kIsRate);
}

void FirstEpoch(benchmark::State& state)
{
    ReadEpochs<float>(state, true);
}
void LaterEpochs(benchmark::State& state)
{
    ReadEpochs<float>(state, false);
}
void FirstEpochInDouble(benchmark::State& state)
{
    ReadEpochs<double>(state, true);
}
void LaterEpochsInDouble(benchmark::State& state)
{
    ReadEpochs<double>(state, false);
}
BENCHMARK(FirstEpoch)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(LaterEpochs)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(FirstEpochInDouble)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(LaterEpochsInDouble)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
} // namespace cntk
