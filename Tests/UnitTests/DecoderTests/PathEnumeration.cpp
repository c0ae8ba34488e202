// A recursive enumeration, as the score of a path is defined.
#include "DecoderTests/PathEnumeration.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace cntk
{
namespace
{

double NaturalOf(double base10)
{
    return base10 * std::log(10.0);
}

// P(last word | words before), from the list of n-grams.
double WordScore(const EnumeratedTask& task, std::vector<std::string> words)
{
    if (int(words.size()) > task.order)
        words.erase(words.begin(), words.end() - task.order);
    const auto joined = [](const std::vector<std::string>& parts)
    {
        std::string text;
        for (const std::string& part : parts)
            text += (text.empty() ? "" : " ") + part;
        return text;
    };
    if (const auto found = task.ngrams.find(joined(words)); found != task.ngrams.end())
        return NaturalOf(found->second.first);
    const auto context = task.ngrams.find(joined({words.begin(), words.end() - 1}));
    const double backoff = context == task.ngrams.end() ? 0 : NaturalOf(context->second.second);
    return backoff + WordScore(task, {words.begin() + 1, words.end()});
}

class Enumeration
{
public:
    Enumeration(const EnumeratedTask& task, double acweight) : m_task(task), m_acweight(acweight) {}

    std::map<std::string, double> Run()
    {
        Follow(0, 0, 0);
        return m_best;
    }

private:
    void Follow(int node, size_t frame, double score)
    {
        if (frame == m_task.scores.size())
            if (const auto final = m_task.finals.find(node); final != m_task.finals.end())
                End(score - final->second);
        for (const EnumeratedArc& arc : m_task.arcs)
        {
            if (arc.from != node)
                continue;
            if (arc.label[0] != '[')
                Cross(arc, frame, score);
            else
                Visit(arc, frame, score - arc.cost);
        }
    }

    void Cross(const EnumeratedArc& arc, size_t frame, double score)
    {
        m_words.push_back(arc.label);
        const double language = arc.label == "<s>" ? 0 : WordScore(m_task, m_words);
        const auto ahead = m_task.lookahead.find(arc.label);
        Follow(arc.to, frame, score - arc.cost + language - (ahead == m_task.lookahead.end() ? 0 : ahead->second));
        m_words.pop_back();
    }

    void Visit(const EnumeratedArc& arc, size_t frame, double score)
    {
        const auto [self, forward] = m_task.transitions.at(arc.label);
        const LastVisit before = m_last;
        score -= SilenceCostBefore(arc.label);
        const bool continues = before.label == "[q]" && arc.label == "[r]";
        m_last = {arc.label, m_words.size(), m_words.size() > before.words || (continues && before.isLabelled)};
        for (size_t t = frame; t < m_task.scores.size(); ++t)
        {
            score += m_acweight * m_task.scores[t].at(arc.label) + (t > frame ? self : 0);
            Follow(arc.to, t + 1, score + forward);
        }
        m_last = before;
    }

    // Each silence between words costs once, when the path leaves it for a phone.
    double SilenceCostBefore(const std::string& label) const
    {
        const bool isOptional = !m_last.label.empty() && m_last.label != "[p]" && !m_last.isLabelled;
        const bool isEnd = m_words.size() > m_last.words && m_words.back() == "</s>";
        return isOptional && label == "[p]" && !isEnd ? m_task.silenceCost : 0;
    }

    void End(double score)
    {
        std::string sentence;
        for (const std::string& word : m_words)
            sentence += (sentence.empty() ? "" : " ") + word;
        const auto [place, isNew] = m_best.try_emplace(sentence, score);
        if (!isNew)
            place->second = std::max(place->second, score);
    }

    struct LastVisit
    {
        std::string label;       // empty: none
        size_t words = 0;        // in front of it
        bool isLabelled = false; // a word label stands in its silence
    };

    const EnumeratedTask& m_task;
    const double m_acweight;
    LastVisit m_last;
    std::vector<std::string> m_words;
    std::map<std::string, double> m_best;
};

} // namespace

std::string EnumeratedTask::AcceptorText() const
{
    std::ostringstream text;
    text.precision(12);
    for (const EnumeratedArc& arc : arcs)
        text << arc.from << ' ' << arc.to << ' ' << arc.label << ' ' << arc.cost << '\n';
    for (const auto& [node, cost] : finals)
        text << node << ' ' << cost << '\n';
    return text.str();
}

std::string EnumeratedTask::TransitionText() const
{
    std::ostringstream text;
    text.precision(12);
    for (const auto& [label, scores_] : transitions)
        text << label << ' ' << scores_.first << ' ' << scores_.second << '\n';
    return text.str();
}

std::string EnumeratedTask::LookaheadText() const
{
    std::ostringstream text;
    text.precision(12);
    for (const auto& [word, score] : lookahead)
        text << word << ' ' << score << '\n';
    return text.str();
}

std::string EnumeratedTask::ArpaText() const
{
    std::map<int, std::vector<std::string>> lines;
    for (const auto& [words, score] : ngrams)
    {
        std::ostringstream line;
        line.precision(12);
        line << score.first << '\t' << words;
        const int size = int(std::count(words.begin(), words.end(), ' ')) + 1;
        if (size < order)
            line << '\t' << score.second;
        lines[size].push_back(line.str());
    }
    std::ostringstream text;
    text.precision(12);
    text << "\\data\\\n";
    for (int i = 1; i <= order; ++i)
        text << "ngram " << i << '=' << lines[i].size() << '\n';
    for (int i = 1; i <= order; ++i)
    {
        text << "\n\\" << i << "-grams:\n";
        for (const std::string& line : lines[i])
            text << line << '\n';
    }
    text << "\n\\end\\\n";
    return text.str();
}

EnumeratedTask RandomTask(std::mt19937& random, bool hasLookahead, int order)
{
    // Values with few digits, so that the texts hold them exactly.
    const auto value = [&](int least, int most)
    { return double(std::uniform_int_distribution(least, most)(random)) / 64; };
    const auto chance = [&](int percent) { return int(random() % 100) < percent; };
    const std::vector<std::string> states{"[p]", "[q]", "[r]"};
    const std::vector<std::string> words{"a", "b", "c"};
    EnumeratedTask task;
    task.order = order;
    // A start with <s>, an inner part with cycles through states, an end with </s>.
    const int inner = 3 + int(random() % 3);
    const auto cost = [&] { return chance(50) ? value(0, 128) : 0.0; };
    task.arcs.push_back({0, 1, "<s>", cost()});
    for (int i = 0; i < 2 * inner + 2; ++i)
    {
        const int from = 1 + int(random() % inner);
        const int to = 1 + int(random() % inner);
        if (chance(40) && from < to) // word arcs lead upwards, so that there is no cycle
            task.arcs.push_back({from, to, words[random() % words.size()], cost()});
        else
            task.arcs.push_back({from, to, states[random() % states.size()], cost()});
    }
    task.arcs.push_back({1, 2, "[p]", cost()});
    task.arcs.push_back({inner, inner + 1, states[random() % states.size()], cost()});
    task.arcs.push_back({2, inner, states[random() % states.size()], cost()});
    task.arcs.push_back({inner + 1, inner + 2, "</s>", cost()});
    task.finals[inner + 2] = cost();
    for (const std::string& state : states)
        task.transitions[state] = {-value(1, 128), -value(1, 128)};
    std::vector<std::string> contexts{"<s>"};
    task.ngrams["<s>"] = {-99, -value(0, 64)};
    for (const std::string word : {"a", "b", "c", "</s>"})
    {
        task.ngrams[word] = {-value(16, 128), -value(0, 64)};
        if (hasLookahead)
            task.lookahead[word] = -value(0, 128);
    }
    for (const std::string first : {"<s>", "a", "b", "c"})
        for (const std::string second : {"a", "b", "c", "</s>"})
            if (order >= 2 && chance(50))
            {
                task.ngrams[first + " " + second] = {-value(8, 128), second == "</s>" ? 0 : -value(0, 64)};
                for (const std::string third : {"a", "b", "c", "</s>"})
                    if (order >= 3 && second != "</s>" && chance(40))
                        task.ngrams[first + " " + second + " " + third] = {-value(8, 128), 0};
            }
    for (int t = 0; t < 5; ++t)
    {
        task.scores.emplace_back();
        for (const std::string& state : states)
            task.scores.back()[state] = value(-256, 256);
    }
    return task;
}

std::map<std::string, double> EnumerateSentences(const EnumeratedTask& task, double acweight)
{
    return Enumeration(task, acweight).Run();
}

} // namespace cntk
