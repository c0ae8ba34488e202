// Times readers of sequences: parsing CNTK text format, minibatches from memory, and words of a language model.
#include "Common/Config/ConfigParameters.h"
#include "Common/Log.h"
#include "Readers/CNTKTextFormatReader/CtfReader.h"
#include "Readers/LMSequenceReader/LmReader.h"

#include <benchmark/benchmark.h>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

namespace cntk
{
namespace
{

std::string Save(const std::string& name, const std::string& text)
{
    const std::string path = (std::filesystem::temp_directory_path() / name).string();
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    return path;
}

// Sequences of ten rows: 40 numbers such as -0.127551, or ten pairs such as 4711:0.25, or pixels.
enum class Kind
{
    Decimals,
    Pairs,
    Pixels
};

std::string CtfText(Kind kind, size_t bytes)
{
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::string text;
    char token[40];
    for (size_t row = 0; text.size() < bytes; ++row)
    {
        text += std::to_string(row / 10) + "\t|x";
        const size_t count = kind == Kind::Decimals ? 40 : kind == Kind::Pairs ? 10 : 784;
        for (size_t i = 0; i < count; ++i)
        {
            if (kind == Kind::Pairs)
                std::snprintf(token, sizeof token, " %zu:%.2f", i * 1000 + random() % 1000, uniform(random));
            else if (kind == Kind::Pixels)
                std::snprintf(token, sizeof token, " %d", random() % 5 == 0 ? int(random() % 256) : 0);
            else
                std::snprintf(token, sizeof token, " %.6f", uniform(random));
            text += token;
        }
        text += "\n";
    }
    return text;
}

// One epoch from the text: the index exists, and each chunk is parsed again.
void ParseCtf(benchmark::State& state)
{
    const Kind kind = Kind(state.range(0));
    const size_t bytes = size_t(64) << 20;
    const std::string path = Save("SequenceReadersBenchmark.ctf", CtfText(kind, bytes));
    const auto config = ConfigParameters::Parse(
        "reader=[\nfile=" + path + "\nrandomize=none\nprefetch=false\nnumChunksToCache=1\nchunkSizeInBytes=1000000\n" +
        (kind == Kind::Pairs    ? "input=[\nx=[\ndim=10000\nformat=sparse\n]\n]\n]"
         : kind == Kind::Pixels ? "input=[\nx=[\ndim=784\nformat=dense\n]\n]\n]"
                                : "input=[\nx=[\ndim=40\nformat=dense\n]\n]\n]"));
    Log log;
    const auto reader = MakeCtfReader<float>({config->RequireBlock("reader"), log});
    HostMinibatch<float> minibatch;
    for (auto _ : state)
    {
        EpochRequest request;
        request.minibatchSize = 256;
        reader->StartEpoch(request);
        while (reader->GetMinibatch(minibatch))
            benchmark::DoNotOptimize(minibatch.streams[0].values.data());
    }
    state.SetBytesProcessed(int64_t(state.iterations() * std::filesystem::file_size(path)));
    std::filesystem::remove(path);
}
BENCHMARK(ParseCtf)->ArgName("kind")->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void IndexCtf(benchmark::State& state)
{
    const std::string path = Save("SequenceReadersBenchmark.ctf", CtfText(Kind::Decimals, size_t(64) << 20));
    for (auto _ : state)
        benchmark::DoNotOptimize(CtfIndex(path, false, size_t(32) << 20).Samples());
    state.SetBytesProcessed(int64_t(state.iterations() * std::filesystem::file_size(path)));
    std::filesystem::remove(path);
}
BENCHMARK(IndexCtf)->Unit(benchmark::kMillisecond);

// An epoch of a language model's text with 10 parallel sentences, cut after 10 words: words a second.
void ReadWords(benchmark::State& state)
{
    std::mt19937 random(1);
    std::string vocabulary, text;
    for (size_t i = 0; i < 10000; ++i)
        vocabulary += std::to_string(i) + " 1 w" + std::to_string(i * 7919) + " " + std::to_string(i / 200) + "\n";
    size_t words = 0;
    while (words < 1000000)
    {
        const size_t length = 5 + random() % 40;
        text += "w0";
        for (size_t i = 0; i < length; ++i)
            text += " w" + std::to_string(random() % 10000 * 7919);
        text += "\n";
        words += length;
    }
    const std::string data = Save("SequenceReadersBenchmark.txt", text);
    const std::string classes = Save("SequenceReadersBenchmark.vocab", vocabulary);
    const auto config =
        ConfigParameters::Parse("reader=[\nfile=" + data + "\nwordclass=" + classes + "\nunk=w0\nprefetch=false\n" +
                                "nbruttsineachrecurrentiter=10\nlabelIn=[\nlabelDim=10000\n]\n]");
    Log log;
    log.RedirectTo((std::filesystem::temp_directory_path() / "SequenceReadersBenchmark.log").string());
    const auto reader = MakeLmReader<float>({config->RequireBlock("reader"), log});
    HostMinibatch<float> minibatch;
    for (auto _ : state)
    {
        EpochRequest request;
        request.minibatchSize = 10;
        request.wanted = {"features", "labels"};
        reader->StartEpoch(request);
        while (reader->GetMinibatch(minibatch))
            benchmark::DoNotOptimize(minibatch.streams[0].values.data());
    }
    state.SetItemsProcessed(int64_t(state.iterations() * words));
    std::filesystem::remove(data);
    std::filesystem::remove(classes);
}
BENCHMARK(ReadWords)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace cntk
