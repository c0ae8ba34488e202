// The binary image: a header with the sizes, then arrays of fixed-size records, then names that zero bytes separate.
#include "Decoder/DecodingGraph.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace cntk
{

namespace
{

constexpr char c_graphMagic[8] = {'A', 'R', 'G', 'O', 'N', 'D', 'G', '\n'};
constexpr uint32_t c_graphVersion = 3;
constexpr uint32_t c_byteOrderMark = 0x01020304;

// Numbers of records, in the order of their arrays. Text parts count bytes.
enum GraphPart
{
    PlacePart,
    NodePart,
    ArcPart,
    WordArcPart,
    FinalPart,
    StatePart,
    WordPart,
    StateNamePart,
    WordNamePart,
    ModelPart,
    SilencePart,
    PartCount
};

struct GraphHeader
{
    char magic[8];
    uint32_t version;
    uint32_t byteOrder;
    uint64_t hasLookahead;
    uint64_t bytes; // of the file
    uint64_t checksum;
    uint64_t counts[PartCount];
};

// FNV-1a by words of 8 bytes: finds damage, not intent.
uint64_t ChecksumOf(std::string_view data, uint64_t sum)
{
    for (size_t at = 0; at < data.size(); at += sizeof(uint64_t))
    {
        uint64_t word = 0;
        std::memcpy(&word, data.data() + at, std::min(sizeof word, data.size() - at));
        sum = (sum ^ word) * 0x100000001b3ull;
        sum ^= sum >> 31;
    }
    return sum;
}

// Covers all that the header says after the checksum's place, and the body.
uint64_t ChecksumOf(const GraphHeader& header, std::string_view body)
{
    const std::string_view counts(reinterpret_cast<const char*>(header.counts), sizeof header.counts);
    return ChecksumOf(body, ChecksumOf(counts, 0xcbf29ce484222325ull + header.hasLookahead));
}

template <class Record>
void AppendRecords(std::string& bytes, const std::vector<Record>& records)
{
    bytes.append(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record));
}

std::string Joined(const std::vector<std::string>& names)
{
    std::string text;
    for (const std::string& name : names)
        text.append(name).push_back('\0');
    return text;
}

std::vector<std::string> Separated(std::string_view text)
{
    std::vector<std::string> names;
    while (!text.empty())
    {
        const size_t end = std::min(text.find('\0'), text.size());
        names.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return names;
}

[[noreturn]] void FailImage(const std::string& path, const std::string& why)
{
    Fail(ErrorKind::Data, "graph '", path, "' ", why, "; compile it with -precompile true");
}

} // namespace

size_t WriteGraph(const std::string& path, const GraphContent& content)
{
    const std::string stateNames = Joined(content.stateNames);
    const std::string words = Joined(content.words);
    const std::string models = Joined(content.models);
    const std::string silences = Joined(content.silenceModels);
    std::string body;
    AppendRecords(body, content.places);
    AppendRecords(body, content.nodes);
    AppendRecords(body, content.arcs);
    AppendRecords(body, content.wordArcs);
    AppendRecords(body, content.finals);
    AppendRecords(body, content.selfScores);
    AppendRecords(body, content.forwardScores);
    AppendRecords(body, content.lookahead);
    body += stateNames + words + models + silences;

    GraphHeader header{};
    std::memcpy(header.magic, c_graphMagic, sizeof c_graphMagic);
    header.version = c_graphVersion;
    header.byteOrder = c_byteOrderMark;
    header.hasLookahead = content.hasLookahead ? 1 : 0;
    header.bytes = sizeof header + body.size();
    const uint64_t counts[PartCount] = {content.places.size(),   content.nodes.size(),  content.arcs.size(),
                                        content.wordArcs.size(), content.finals.size(), content.selfScores.size(),
                                        content.words.size(),    stateNames.size(),     words.size(),
                                        models.size(),           silences.size()};
    std::memcpy(header.counts, counts, sizeof counts);
    header.checksum = ChecksumOf(header, body);
    AtomicFile file(path);
    file.Write(&header, sizeof header);
    file.Write(body);
    file.Commit();
    return size_t(header.bytes);
}

// Hands out the arrays of an image one after the other, without going beyond its end.
class DecodingGraph::Reader
{
public:
    Reader(const MappedFile& file) : m_file(file)
    {
        const std::string_view text = file.Text();
        if (!text.starts_with(std::string_view(c_graphMagic, sizeof c_graphMagic)))
            FailImage(file.Path(), text.starts_with("\x1f\x8b") || IsText(text)
                                       ? "is no binary graph, but looks like the text of an acceptor"
                                       : "is no binary graph");
        if (text.size() < sizeof m_header)
            FailImage(file.Path(), Concat("is cut short: it has ", text.size(), " bytes"));
        std::memcpy(&m_header, text.data(), sizeof m_header);
        if (m_header.byteOrder != c_byteOrderMark || m_header.version != c_graphVersion)
            FailImage(file.Path(),
                      Concat("has version ", m_header.version, ", this program reads version ", c_graphVersion));
        if (m_header.bytes != text.size())
            FailImage(file.Path(), Concat(m_header.bytes > text.size() ? "is cut short: it has " : "has ", text.size(),
                                          " bytes, its header says ", m_header.bytes));
        m_rest = text.substr(sizeof m_header);
        if (ChecksumOf(m_header, m_rest) != m_header.checksum)
            FailImage(file.Path(), "is damaged: its checksum does not match");
    }

    template <class Record>
    std::span<const Record> Take(GraphPart part)
    {
        const std::string_view bytes = TakeBytes(m_header.counts[part], sizeof(Record));
        return {reinterpret_cast<const Record*>(bytes.data()), bytes.size() / sizeof(Record)};
    }
    std::vector<std::string> TakeNames(GraphPart part) { return Separated(TakeBytes(m_header.counts[part], 1)); }
    bool HasLookahead() const { return m_header.hasLookahead != 0; }

private:
    static bool IsText(std::string_view text)
    {
        const std::string_view begin = text.substr(0, 256);
        return !begin.empty() && std::all_of(begin.begin(), begin.end(),
                                             [](char c) { return uint8_t(c) >= ' ' || IsBlank(c) || c == '\n'; });
    }

    std::string_view TakeBytes(uint64_t count, size_t recordBytes)
    {
        if (count > m_rest.size() / recordBytes)
            FailImage(m_file.Path(), Concat("has sizes beyond its end: ", count, " records of ", recordBytes,
                                            " bytes, but ", m_rest.size(), " bytes are left"));
        const std::string_view bytes = m_rest.substr(0, size_t(count) * recordBytes);
        m_rest.remove_prefix(bytes.size());
        return bytes;
    }

    const MappedFile& m_file;
    GraphHeader m_header{};
    std::string_view m_rest;
};

namespace
{

MappedFile OpenGraph(const std::string& path)
{
    if (!FileExists(path))
        FailImage(path, "does not exist" + NearFilesHint(path));
    return MappedFile(path);
}

} // namespace

DecodingGraph::DecodingGraph(const std::string& path) : m_file(OpenGraph(path))
{
    Reader reader(m_file);
    m_places = reader.Take<GraphPlace>(PlacePart);
    m_nodes = reader.Take<GraphNode>(NodePart);
    m_arcs = reader.Take<GraphArc>(ArcPart);
    m_wordArcs = reader.Take<GraphWordArc>(WordArcPart);
    m_finals = reader.Take<GraphFinal>(FinalPart);
    m_selfScores = reader.Take<float>(StatePart);
    m_forwardScores = reader.Take<float>(StatePart);
    m_lookahead = reader.Take<float>(WordPart);
    m_stateNames = reader.TakeNames(StateNamePart);
    m_words = reader.TakeNames(WordNamePart);
    m_models = reader.TakeNames(ModelPart);
    m_silenceModels = reader.TakeNames(SilencePart);
    m_hasLookahead = reader.HasLookahead();
    CheckIndices();
    for (const GraphArc& arc : m_arcs)
        m_leastArcCost = std::min(m_leastArcCost, arc.cost);
    FindWordLevels();
}

void DecodingGraph::CheckIndices() const
{
    const auto require = [&](bool isRight, const char* what)
    {
        if (!isRight)
            FailImage(Path(), Concat("is damaged: ", what, " is out of range"));
    };
    require(m_nodes.size() >= 2, "the number of nodes");
    require(m_stateNames.size() == m_selfScores.size(), "the number of states");
    require(m_words.size() == m_lookahead.size(), "the number of words");
    const size_t nodes = NodeCount();
    for (size_t i = 0; i < nodes; ++i)
        require(m_nodes[i].firstArc <= m_nodes[i + 1].firstArc &&
                    m_nodes[i].firstWordArc <= m_nodes[i + 1].firstWordArc,
                "an arc of a node");
    require(m_nodes[nodes].firstArc == m_arcs.size() && m_nodes[nodes].firstWordArc == m_wordArcs.size(),
            "the number of arcs");
    for (const GraphPlace& place : m_places)
        require(place.node < nodes && place.state < m_stateNames.size(), "a place");
    for (const GraphArc& arc : m_arcs)
        require(arc.Place() < m_places.size() && arc.State() == m_places[arc.Place()].state &&
                    ((arc.state & c_wordsFollowBit) != 0) == !WordArcsOf(m_places[arc.Place()].node).empty(),
                "the target of an arc");
    for (const GraphWordArc& arc : m_wordArcs)
        require(arc.node < nodes && arc.word < m_words.size(), "a word arc");
    for (const GraphFinal& final : m_finals)
        require(final.node < nodes, "a final node");
}

// Computes the longest chains of word arcs. A cycle of word arcs never settles.
void DecodingGraph::FindWordLevels()
{
    if (m_wordArcs.empty())
        return;
    m_levels.assign(NodeCount(), 0);
    for (uint32_t round = 1;; ++round)
    {
        bool hasChanged = false;
        for (uint32_t node = 0; node < NodeCount(); ++node)
            for (const GraphWordArc& arc : WordArcsOf(node))
                if (m_levels[arc.node] <= m_levels[node])
                {
                    m_levels[arc.node] = m_levels[node] + 1;
                    m_longestChain = std::max(m_longestChain, m_levels[arc.node]);
                    hasChanged = true;
                }
        if (!hasChanged)
            break;
        if (round > NodeCount())
            FailImage(Path(), "is damaged: it has a cycle of word arcs");
    }
    if (m_longestChain <= 1)
        m_levels = {};
}

float DecodingGraph::FinalCost(uint32_t node) const
{
    const auto found = std::lower_bound(m_finals.begin(), m_finals.end(), node,
                                        [](const GraphFinal& final, uint32_t value) { return final.node < value; });
    return found != m_finals.end() && found->node == node ? found->cost : std::numeric_limits<float>::infinity();
}

size_t DecodingGraph::FewestFrames() const
{
    // Breadth-first by frames; word arcs take none.
    std::vector<bool> isReached(NodeCount(), false);
    std::vector<uint32_t> wave{0};
    isReached[0] = true;
    for (size_t frames = 0; !wave.empty(); ++frames)
    {
        std::vector<uint32_t> next;
        for (size_t i = 0; i < wave.size(); ++i)
        {
            if (FinalCost(wave[i]) < std::numeric_limits<float>::infinity())
                return frames;
            for (const GraphWordArc& arc : WordArcsOf(wave[i]))
                if (!isReached[arc.node])
                {
                    isReached[arc.node] = true;
                    wave.push_back(arc.node);
                }
        }
        for (const uint32_t from : wave)
            for (const GraphArc& arc : ArcsOf(from))
                if (const uint32_t node = m_places[arc.Place()].node; !isReached[node])
                {
                    isReached[node] = true;
                    next.push_back(node);
                }
        wave = std::move(next);
    }
    return SIZE_MAX;
}

} // namespace cntk
