// Times UCIFastReader: parsing of several kinds of text, a minibatch from memory, and the start of an epoch.
#include "Common/Config/ConfigParameters.h"
#include "Common/Log.h"
#include "Readers/ReaderLib/RecordWalk.h"
#include "Readers/UCIFastReader/UciReader.h"

#include <benchmark/benchmark.h>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

namespace cntk
{
namespace
{

// Form of the columns.
enum class Kind
{
    Pixels,    // 784 whole numbers 0..255, most of them 0 and in runs as in images of digits, and a digit
    Decimals,  // 40 numbers such as -0.127551 and a label
    Doubles,   // 40 numbers of 15 to 17 digits and a label
    TwoColumns // 2 numbers and a label, as in the Simple demo
};

std::string WriteFile(Kind kind, size_t bytes, size_t* columns)
{
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    *columns = kind == Kind::Pixels ? 784 : kind == Kind::TwoColumns ? 2 : 40;
    std::string text;
    char token[40];
    bool isInk = false;
    while (text.size() < bytes)
    {
        for (size_t i = 0; i < *columns; ++i)
        {
            const double value = uniform(random);
            isInk = isInk ? value < 0.7 : value > 0.92;
            if (kind == Kind::Pixels)
                std::snprintf(token, sizeof token, "%d ", isInk ? 1 + int(random() % 255) : 0);
            else
                std::snprintf(token, sizeof token, kind == Kind::Doubles ? "%.17g " : "%.6f ", value);
            text += token;
        }
        text += std::to_string(random() % 10) + "\n";
    }
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    const std::string path = (folder / ("UciParserBenchmark." + std::to_string(int(kind)))).string();
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    return path;
}

LabelMap Digits()
{
    LabelMap labels;
    for (int i = 0; i < 10; ++i)
        labels.FindOrAdd(std::to_string(i));
    return labels;
}

template <class ElemType>
void ParseText(benchmark::State& state)
{
    size_t columns = 0;
    const std::string path = WriteFile(Kind(state.range(0)), size_t(16) << 20, &columns);
    {
        LineIndex lines(path);
        const size_t records = lines.Extend(SIZE_MAX);
        const LabelMap labels = Digits();
        UciParser<ElemType> parser({' ', '.', {{"features", 0, columns, nullptr}, {"labels", columns, 1, &labels}}},
                                   lines);
        constexpr size_t block = 256;
        std::vector<ElemType> values(block * columns);
        std::vector<int32_t> classIds(block);
        const RecordTarget<ElemType> targets[] = {{values.data(), nullptr}, {nullptr, classIds.data()}};
        for (auto _ : state)
        {
            for (size_t first = 0; first < records;)
            {
                const LineIndex::Piece piece = lines.Read(first, std::min(block, records - first));
                parser.Parse(piece, targets);
                first += piece.records;
            }
            benchmark::DoNotOptimize(values.data());
        }
        state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(lines.FileBytes()));
    }
    std::filesystem::remove(path);
}
BENCHMARK_TEMPLATE(ParseText, float)->Arg(int(Kind::Pixels))->Arg(int(Kind::Decimals))->Arg(int(Kind::Doubles));
BENCHMARK_TEMPLATE(ParseText, float)->Arg(int(Kind::TwoColumns));
BENCHMARK_TEMPLATE(ParseText, double)->Arg(int(Kind::Decimals));

void IndexLines(benchmark::State& state)
{
    size_t columns = 0;
    const std::string path = WriteFile(Kind(state.range(0)), size_t(16) << 20, &columns);
    size_t bytes = 0;
    for (auto _ : state)
    {
        LineIndex lines(path);
        benchmark::DoNotOptimize(lines.Extend(SIZE_MAX));
        bytes += lines.FileBytes();
    }
    state.SetBytesProcessed(int64_t(bytes));
    std::filesystem::remove(path);
}
BENCHMARK(IndexLines)->Arg(int(Kind::Pixels))->Arg(int(Kind::TwoColumns));

std::unique_ptr<IDataReader<float>> OpenReader(const std::string& path, size_t columns, const std::string& more,
                                               Log& log)
{
    const std::string map = path + ".map";
    Digits().Save(map);
    const auto config = ConfigParameters::Parse(
        "file=" + path + "\n" + more + "\nfeatures=[dim=" + std::to_string(columns) +
        "]\nlabels=[dim=1\nstart=" + std::to_string(columns) + "\nlabelMappingFile=" + map + "]");
    auto reader = MakeUciReader<float>(ReaderContext{*config, log});
    std::filesystem::remove(map);
    return reader;
}

// Minibatches of parsed data, including the shuffle of each epoch: {kind, minibatch size, prefetch}.
void DeliverMinibatches(benchmark::State& state)
{
    size_t columns = 0;
    const std::string path = WriteFile(Kind(state.range(0)), size_t(2) << 20, &columns);
    Log log;
    log.RedirectTo("/dev/null");
    {
        auto reader = OpenReader(path, columns, state.range(2) != 0 ? "prefetch=true" : "prefetch=false", log);
        HostMinibatch<float> minibatch;
        EpochRequest request;
        request.minibatchSize = size_t(state.range(1));
        reader->StartEpoch(request);
        while (reader->GetMinibatch(minibatch)) // parses the data
            ;
        reader->StartEpoch(request);
        size_t samples = 0;
        for (auto _ : state)
        {
            if (!reader->GetMinibatch(minibatch))
            {
                ++request.epoch;
                reader->StartEpoch(request);
                reader->GetMinibatch(minibatch);
            }
            samples += minibatch.streams[0].columns;
        }
        state.SetItemsProcessed(int64_t(samples));
    }
    std::filesystem::remove(path);
}
BENCHMARK(DeliverMinibatches)->Args({int(Kind::TwoColumns), 25, 0})->Args({int(Kind::TwoColumns), 25, 1});
BENCHMARK(DeliverMinibatches)->Args({int(Kind::Pixels), 32, 0})->Args({int(Kind::Pixels), 256, 0});
BENCHMARK(DeliverMinibatches)->Args({int(Kind::Pixels), 256, 1});

void ShuffleEpoch(benchmark::State& state)
{
    std::vector<uint32_t> order;
    uint32_t seed = 0;
    for (auto _ : state)
    {
        ShuffleWithinWindow(order, size_t(state.range(0)), size_t(state.range(0)), GlibcRand(++seed));
        benchmark::DoNotOptimize(order.data());
    }
    state.SetItemsProcessed(int64_t(state.iterations()) * state.range(0));
}
BENCHMARK(ShuffleEpoch)->Arg(10000)->Arg(1000000);

} // namespace
} // namespace cntk
