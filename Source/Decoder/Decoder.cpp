// Loading of tables, threads, log lines.
#include "Decoder/Decoder.h"

#include "Common/Error.h"
#include "Common/StartThread.h"
#include "Common/Text.h"
#include "Decoder/ResultFiles.h"
#include "Decoder/UtteranceDecoder.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace cntk
{

namespace
{

constexpr double c_unitsOfSecond = 1e7; // of 100 ns

std::vector<uint32_t> RowsOf(const DecodingGraph& graph, const std::string& path, uint32_t& rows, Log& log)
{
    const std::unordered_map<std::string, size_t> map = ReadStateMap(path);
    std::vector<uint32_t> rowOfState;
    std::vector<std::string> missing;
    rows = 0;
    for (const auto& [state, row] : map)
        rows = std::max(rows, uint32_t(row) + 1);
    for (const std::string& state : graph.StateNames())
    {
        const auto found = map.find(state);
        if (found == map.end())
            missing.push_back(state);
        else
            rowOfState.push_back(uint32_t(found->second));
    }
    if (!missing.empty())
        Fail(ErrorKind::Data, "the state map '", path, "' lacks the state '", missing.front(), "' of the graph ",
             graph.Path(), missing.size() > 1 ? Concat(" and ", missing.size() - 1, " more") : std::string(),
             "; add a line with the state and its row");
    for (const std::string& word : graph.Words())
        if (map.contains(word))
            log.Warn(Concat("graph ", graph.Path(), ": '", word, "' is a word, but also a state: brackets missing?"));
    return rowOfState;
}

PhoneTable PhonesOf(const DecodingGraph& graph)
{
    std::vector<ModelStates> models;
    for (const std::string& text : graph.Models())
    {
        std::vector<std::string_view> fields = Split(text, ' ');
        ModelStates model{std::string(fields.front()), {}};
        for (size_t i = 1; i < fields.size(); ++i)
            model.states.emplace_back(fields[i]);
        models.push_back(std::move(model));
    }
    return PhoneTable(models, graph.StateNames(), graph.SilenceModels());
}

} // namespace

struct Decoder::Impl
{
    Impl(const DecodeOptions& givenOptions, Log& givenLog) : options(givenOptions), log(givenLog) {}

    void Load();
    void LoadSilenceCost();
    void RunThread();
    // Hands an outcome to the files when all earlier ones are there.
    void Take(size_t number, UtteranceOutcome outcome);
    void Record(size_t number, const UtteranceOutcome& outcome);
    void PrintClosing() const;

    const DecodeOptions options;
    Log& log;
    DecoderTables tables;

    // One run.
    ScoreSource* source = nullptr;
    std::unique_ptr<ResultFiles> files;
    DecodeSummary summary;
    size_t tokens = 0;
    size_t framesAtMost = 0;
    size_t framesWidened = 0;
    std::mutex pullMutex;
    size_t pulled = 0;
    std::mutex recordMutex;
    std::map<size_t, UtteranceOutcome> waiting;
    size_t next = 0; // the utterance to be recorded next
    std::exception_ptr problem;
    std::atomic<bool> hasProblem = false; // ends all threads
};

void Decoder::Impl::Load()
{
    tables.graph = std::make_unique<DecodingGraph>(options.graph);
    const DecodingGraph& graph = *tables.graph;
    tables.phones = PhonesOf(graph);
    tables.rowOfState = RowsOf(graph, options.cntkmap, tables.rows, log);
    tables.fewestFrames = graph.FewestFrames();
    if (!options.alignMlf.empty())
        tables.transcripts = std::make_unique<Transcripts>(options.alignMlf, options);
    else
        tables.models = std::make_unique<LanguageModels>(options, graph.Words(), log);
    LoadSilenceCost();
}

void Decoder::Impl::LoadSilenceCost()
{
    if (tables.phones.HasSilence())
        tables.silenceCost = options.silCost;
    else if (options.hasSilCost && options.silCost != 0)
        Fail(ErrorKind::Config, "-sil-cost is ", options.silCost, ", but the graph ", options.graph,
             " knows no silence; compile it with -model-map (and -silence-models), or give -sil-cost 0");
    else
        log.Print("The graph knows no silence: it was compiled without -model-map; no silence cost is charged\n");
    if (!tables.phones.IsKnown() && (!options.outmlf.empty() || !options.outctm.empty()))
        log.Print("The graph knows no phones: it was compiled without -model-map; a word's times reach from the word "
                  "before to the state behind its label\n");
}

// Pulls utterances until there are no more.
void Decoder::Impl::RunThread()
{
    UtteranceDecoder decoder(options, tables);
    UtteranceScores scores;
    for (;;)
    {
        size_t number = 0;
        {
            const std::lock_guard lock(pullMutex);
            if (hasProblem)
                return;
            scores.problem.clear();
            if (!source->Next(scores))
                return;
            number = pulled++;
        }
        Take(number, decoder.Decode(scores));
    }
}

void Decoder::Impl::Take(size_t number, UtteranceOutcome outcome)
{
    const std::lock_guard lock(recordMutex);
    waiting.emplace(number, std::move(outcome));
    for (auto first = waiting.begin(); first != waiting.end() && first->first == next; first = waiting.begin())
    {
        Record(next++, first->second);
        waiting.erase(first);
    }
}

void Decoder::Impl::Record(size_t number, const UtteranceOutcome& outcome)
{
    const UtteranceResult& result = outcome.result;
    const double seconds = double(result.frames) * result.framePeriod / c_unitsOfSecond;
    ++summary.utterances;
    const std::string name = Concat("Utterance[", number + 1, " of ", source->Utterances(), "] ", result.name);
    if (!outcome.warning.empty())
        log.Warn(Concat(name, ": ", outcome.warning));
    if (!outcome.failure.empty())
    {
        ++summary.failed;
        const std::string reason = Concat("utterance '", result.name, "': ", outcome.failure);
        if (summary.firstFailure.empty())
            summary.firstFailure = reason;
        log.Warn(Concat(name, " failed: ", outcome.failure));
        return;
    }
    summary.seconds += seconds;
    summary.frames += result.frames;
    summary.score += outcome.score;
    summary.partial += outcome.isPartial ? 1 : 0;
    summary.searchSeconds += outcome.searchSeconds;
    tokens += outcome.counts.tokens;
    framesAtMost += outcome.counts.framesAtMost;
    framesWidened += outcome.counts.framesWidened;
    files->Add(number, result);
    if (options.traceLevel > 0 && result.hasPath)
        log.Print("%s: Frames = %zu; Score = %.4f; Score/Frame = %.4g; Words = %zu; TokensPerFrame = %.1f; "
                  "Search = %.4f s\n",
                  name.c_str(), result.frames, outcome.score, outcome.score / double(result.frames),
                  result.words.size(), double(outcome.counts.tokens) / double(result.frames), outcome.searchSeconds);
}

void Decoder::Impl::PrintClosing() const
{
    const double frames = std::max(double(summary.frames), 1.0);
    const double seconds = std::max(summary.seconds, 1e-9);
    log.Print("Decoded: Utterances = %zu; Speech = %.2f s; Score = %.4f; Score/Frame = %.4g; Partial = %zu; "
              "Failed = %zu; TokensPerFrame = %.1f; FramesAtMaxTokens = %zu; FramesWidened = %zu; "
              "NetworkRealTimeFactor = %.5f; SearchRealTimeFactor = %.5f\n",
              summary.utterances, summary.seconds, summary.score, summary.score / frames, summary.partial,
              summary.failed, double(tokens) / frames, framesAtMost, framesWidened, source->NetworkSeconds() / seconds,
              summary.searchSeconds / seconds);
}

Decoder::Decoder(const DecodeOptions& options, Log& log) : m_impl(std::make_unique<Impl>(options, log))
{
    m_impl->Load();
}

Decoder::~Decoder() = default;

size_t Decoder::RequiredRows() const
{
    return m_impl->tables.rows;
}

DecodeSummary Decoder::Decode(ScoreSource& source)
{
    Impl& impl = *m_impl;
    if (source.Rows() != 0 && source.Rows() < impl.tables.rows)
        Fail(ErrorKind::Model, "the state map '", impl.options.cntkmap, "' names row ", impl.tables.rows - 1,
             ", but the scores have ", source.Rows(), " rows, 0 to ", source.Rows() - 1);
    impl.source = &source;
    impl.summary = {};
    impl.pulled = impl.next = 0;
    impl.files = std::make_unique<ResultFiles>(impl.options, *impl.tables.graph, impl.tables.phones);
    const auto note = [&impl]
    {
        const std::lock_guard lock(impl.recordMutex);
        if (!impl.problem)
            impl.problem = std::current_exception();
        impl.hasProblem = true;
    };
    const auto run = [&]
    {
        try
        {
            impl.RunThread();
        }
        catch (...)
        {
            note();
        }
    };
    std::vector<std::thread> threads;
    try
    {
        for (size_t i = 1; i < std::min(impl.options.threads, std::max<size_t>(source.Utterances(), 1)); ++i)
            threads.push_back(StartThread(run));
    }
    catch (...)
    {
        note(); // ends the threads that have started
    }
    run();
    for (std::thread& thread : threads)
        thread.join();
    if (impl.problem)
        std::rethrow_exception(impl.problem);
    impl.files->Commit();
    impl.PrintClosing();
    return impl.summary;
}

} // namespace cntk
