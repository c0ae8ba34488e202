// Text of the result files.
#include "Decoder/ResultFiles.h"

#include "Common/Text.h"

#include <cstdio>

namespace cntk
{

namespace
{

constexpr double c_unitsPerSecond = 1e7; // of 100 ns

template <class... Values>
std::string Formatted(const char* format, Values... values)
{
    char buffer[512];
    const int length = std::snprintf(buffer, sizeof buffer, format, values...);
    return std::string(buffer, size_t(std::max(length, 0)));
}

std::unique_ptr<AtomicFile> OpenResult(const std::string& path, const char* header)
{
    if (path.empty())
        return nullptr;
    auto file = std::make_unique<AtomicFile>(path);
    file->Write(header);
    return file;
}

double AcousticOf(const DecodedPath& path, const PathSpan& span)
{
    double sum = 0;
    for (uint32_t i = span.firstVisit; i < span.endVisit; ++i)
        sum += path.visits[i].acoustic;
    return sum;
}

} // namespace

std::vector<ResultWord> WordsOf(const DecodedPath& path, const PathSegments& segments, const DecodingGraph& graph,
                                const DecodeOptions& options)
{
    std::vector<ResultWord> words;
    for (const PathWord& word : segments.words)
    {
        const std::string& text = graph.Words()[word.word];
        if (text == options.sentenceStart || text == options.sentenceEnd)
            continue;
        const uint32_t end = path.visits[word.endVisit - 1].end;
        const uint32_t begin = word.firstVisit < word.endVisit ? path.visits[word.firstVisit].begin : end;
        words.push_back({text, begin, end, AcousticOf(path, word), 1});
    }
    return words;
}

ResultFiles::ResultFiles(const DecodeOptions& options, const DecodingGraph& graph, const PhoneTable& phones)
    : m_options(options), m_graph(graph), m_phones(phones), m_mlf(OpenResult(options.outmlf, "#!MLF!#\n")),
      m_scores(OpenResult(options.outscores, "utterance\tframes\tscore\tacoustic\tgraph\tlm\twords\n")),
      m_nbest(OpenResult(options.outnbest, "utterance\trank\tscore\twords\n")),
      m_ctm(OpenResult(options.outctm, "utterance\t1\tstart\tduration\tword\tconfidence\n"))
{
    if (!options.latticePrefix.empty())
        RequireWritable(options.latticePrefix + "toc");
}

std::string ResultFiles::StatesText(const UtteranceResult& result) const
{
    const DecodedPath& path = result.path;
    std::vector<std::string> phones(path.visits.size());
    std::vector<std::string> words(path.visits.size());
    if (m_phones.IsKnown())
        for (const PathPhone& phone : result.segments.phones)
        {
            std::vector<uint32_t> states;
            for (uint32_t i = phone.firstVisit; i < phone.endVisit; ++i)
                states.push_back(path.visits[i].state);
            phones[phone.firstVisit] = " " + m_phones.NameOf(states) + Formatted(" %.6f", AcousticOf(path, phone));
        }
    for (const PathWord& word : result.segments.words)
        if (word.firstVisit < word.endVisit)
            words[word.firstVisit] = " " + m_graph.Words()[word.word];
    std::string text;
    for (size_t i = 0; i < path.visits.size(); ++i)
    {
        const PathVisit& visit = path.visits[i];
        text += Formatted("%.0f %.0f ", visit.begin * result.framePeriod, visit.end * result.framePeriod) +
                m_graph.StateNames()[visit.state] + Formatted(" %.6f", visit.acoustic) + phones[i] + words[i] + "\n";
    }
    return text;
}

std::string ResultFiles::MlfText(const UtteranceResult& result) const
{
    std::string text = "\"*/" + result.name + ".rec\"\n";
    if (m_options.detailedAlignment)
        text += StatesText(result);
    else
        for (const ResultWord& word : result.words)
            text += Formatted("%.0f %.0f ", word.begin * result.framePeriod, word.end * result.framePeriod) +
                    word.word + Formatted(" %.6f\n", word.acoustic);
    return text + ".\n";
}

std::string ResultFiles::ScoresLine(const UtteranceResult& result) const
{
    const ScoreParts parts = result.path.Parts();
    std::vector<std::string> words;
    for (const ResultWord& word : result.words)
        words.push_back(word.word);
    return result.name +
           Formatted("\t%zu\t%.6f\t%.6f\t%.6f\t%.6f\t", result.frames, parts.Total(m_options.acweight), parts.acoustic,
                     parts.graph, parts.language) +
           Join(words, " ") + "\n";
}

void ResultFiles::Add(size_t number, const UtteranceResult& result)
{
    if (m_mlf)
        m_mlf->Write(MlfText(result));
    if (!result.hasPath)
        return;
    if (m_scores)
        m_scores->Write(ScoresLine(result));
    for (size_t i = 0; m_nbest && i < result.nbest.size(); ++i)
        m_nbest->Write(result.name + Formatted("\t%zu\t%.6f\t", i + 1, result.nbest[i].score) +
                       Join(result.nbest[i].words, " ") + "\n");
    const double frameSeconds = result.framePeriod / c_unitsPerSecond;
    for (size_t i = 0; m_ctm && i < result.words.size(); ++i)
    {
        const ResultWord& word = result.words[i];
        m_ctm->Write(result.name +
                     Formatted("\t1\t%.3f\t%.3f\t", word.begin * frameSeconds, (word.end - word.begin) * frameSeconds) +
                     word.word + Formatted("\t%.6f\n", word.confidence));
    }
    if (!result.lattice.empty())
    {
        const std::string path = Concat(m_options.latticePrefix, number);
        AtomicFile file(path);
        file.Write(result.lattice);
        file.Commit();
        m_latticeList += result.name + "=" + path + "\n";
    }
}

void ResultFiles::Commit()
{
    std::unique_ptr<AtomicFile> list;
    if (!m_options.latticePrefix.empty())
    {
        list = std::make_unique<AtomicFile>(m_options.latticePrefix + "toc");
        list->Write(m_latticeList);
    }
    for (AtomicFile* const file : {m_mlf.get(), m_scores.get(), m_nbest.get(), m_ctm.get(), list.get()})
        if (file != nullptr)
            file->Stage();
    for (AtomicFile* const file : {m_mlf.get(), m_scores.get(), m_nbest.get(), m_ctm.get(), list.get()})
        if (file != nullptr)
            file->Commit();
}

} // namespace cntk
