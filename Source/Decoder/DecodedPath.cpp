// Scoring and segmenting of paths.
#include "Decoder/DecodedPath.h"

#include <algorithm>
#include <limits>

namespace cntk
{

ScoreParts DecodedPath::Parts() const
{
    ScoreParts parts;
    for (const PathVisit& visit : visits)
        parts += {visit.acoustic, visit.graph, 0};
    for (const PathLabel& label : labels)
        parts += {0, label.graph, label.language};
    parts.graph += finalGraph;
    return parts;
}

double PathBuilder::ScoreOfArc(uint32_t node, uint32_t place) const
{
    double best = -std::numeric_limits<double>::infinity();
    for (const GraphArc& arc : m_graph.ArcsOf(node))
        if (arc.Place() == place)
            best = std::max(best, -double(arc.cost) - (arc.LeavesSilence() ? m_silenceCost : 0));
    return best;
}

bool PathBuilder::Stays(uint32_t place) const
{
    const GraphPlace& at = m_graph.Places()[place];
    return m_graph.SelfScores()[at.state] >= m_graph.ForwardScores()[at.state] + ScoreOfArc(at.node, place);
}

void PathBuilder::Begin(uint32_t place, uint32_t frame)
{
    m_path = {};
    m_isInVisit = false;
    m_frame = frame;
    m_node = place == c_noToken ? 0 : m_graph.Places()[place].node;
}

void PathBuilder::LeaveVisit()
{
    if (!m_isInVisit)
        return;
    PathVisit& visit = m_path.visits.back();
    visit.graph += m_graph.ForwardScores()[visit.state];
    m_node = m_graph.Places()[visit.place].node;
    m_isInVisit = false;
}

void PathBuilder::AddWordArc(uint32_t wordArc)
{
    LeaveVisit();
    const GraphWordArc& arc = m_graph.WordArcs()[wordArc];
    m_path.labels.push_back(
        {arc.word, uint32_t(m_path.visits.size()), -double(arc.cost) - double(m_graph.Lookahead(arc.word)), 0});
    m_node = arc.node;
}

void PathBuilder::AddFrame(uint32_t place, const UtteranceScores& scores, const std::vector<uint32_t>& rowOfState)
{
    const uint32_t state = m_graph.Places()[place].state;
    if (m_isInVisit && m_place == place && Stays(place))
        m_path.visits.back().graph += m_graph.SelfScores()[state];
    else
    {
        LeaveVisit();
        m_path.visits.push_back({place, state, m_frame, m_frame, 0, ScoreOfArc(m_node, place)});
        m_isInVisit = true;
        m_place = place;
    }
    PathVisit& visit = m_path.visits.back();
    visit.acoustic += scores.values[size_t(m_frame) * scores.rows + rowOfState[state]];
    visit.end = ++m_frame;
}

DecodedPath PathBuilder::Finish(bool isFinal)
{
    if (isFinal)
    {
        LeaveVisit();
        m_path.finalGraph = -double(m_graph.FinalCost(m_node));
    }
    return std::move(m_path);
}

DecodedPath BestPathOf(const SearchTrace& trace, bool isPartial, const DecodingGraph& graph, double silenceCost,
                       const UtteranceScores& scores, const std::vector<uint32_t>& rowOfState, WordScorer& scorer)
{
    std::vector<uint32_t> tokens;
    if (!trace.Ends().empty())
        for (uint32_t token = trace.Ends().front().token; token != 0; token = trace.Tokens()[token].previous)
            tokens.push_back(token);
    PathBuilder builder(graph, silenceCost);
    builder.Begin(c_noToken, 0);
    for (auto token = tokens.rbegin(); token != tokens.rend(); ++token)
    {
        const TraceToken& at = trace.Tokens()[*token];
        if (at.IsWord())
            builder.AddWordArc(at.WordArc());
        else
            builder.AddFrame(at.where, scores, rowOfState);
    }
    DecodedPath path = builder.Finish(!isPartial);
    uint32_t history = scorer.Begin();
    for (PathLabel& label : path.labels)
    {
        const WordScorer::Step step = scorer.Extend(history, label.word);
        label.language = step.logProbability;
        history = step.history;
    }
    return path;
}

PathSegments SegmentPath(const DecodedPath& path, const PhoneTable& phones)
{
    PathSegments segments;
    std::vector<uint32_t> phoneOf(path.visits.size());
    for (uint32_t i = 0; i < path.visits.size(); ++i)
    {
        const uint32_t state = path.visits[i].state;
        if (i > 0 && phones.Continues(path.visits[i - 1].state, state))
        {
            PathPhone& phone = segments.phones.back();
            phone.endVisit = i + 1;
            phone.isSilence = phone.isSilence && phones.IsSilence(state);
        }
        else
            segments.phones.push_back({{i, i + 1}, phones.IsSilence(state)});
        phoneOf[i] = uint32_t(segments.phones.size() - 1);
    }
    uint32_t next = 0; // phone behind the word before
    for (const PathLabel& label : path.labels)
    {
        if (segments.phones.empty())
            break;
        const uint32_t last =
            label.visit < phoneOf.size() ? phoneOf[label.visit] : uint32_t(segments.phones.size() - 1);
        while (next < last && segments.phones[next].isSilence)
            ++next;
        PathWord word{{}, label.word};
        word.endVisit = segments.phones[last].endVisit;
        word.firstVisit = next <= last ? segments.phones[next].firstVisit : word.endVisit;
        segments.words.push_back(word);
        next = std::max(next, last + 1);
    }
    return segments;
}

} // namespace cntk
