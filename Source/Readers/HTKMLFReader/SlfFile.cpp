// Parses a lattice: its lines and fields, header, nodes and arcs.
#include "Readers/HTKMLFReader/SlfFile.h"

#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cntk
{
namespace
{

constexpr size_t c_slfPieceBytes = size_t(1) << 16;
constexpr size_t c_longestLine = size_t(1) << 24;

class SlfLines
{
public:
    SlfLines(const PiecewiseFile& file, size_t offset);

    // Returns the next line that is neither blank nor a comment, without its end; false at the end of the file. Valid
    // until the next call.
    bool Next(std::string_view& line);

    // Offset of the last line in the file; at the end of the file, the offset after it.
    size_t Offset() const { return m_lineOffset; }
    // Bytes of the file from Offset() on.
    size_t BytesLeft() const { return m_file.Size() - m_lineOffset; }
    // True if a line was not read because it is longer than any line of a lattice.
    bool IsTooLong() const { return m_isTooLong; }

private:
    bool Fill();
    bool NextOfAny(std::string_view& line);

    const PiecewiseFile& m_file;
    std::string m_buffer;
    size_t m_at = 0; // in the buffer
    size_t m_end;    // of the buffer in the file
    size_t m_lineOffset;
    bool m_isTooLong = false;
};

struct SlfField
{
    std::string_view name;
    std::string_view value;
    bool hasValue = false;

    // Compares the name; fields have long and short names.
    bool Is(std::string_view shortName, std::string_view longName) const
    {
        return name == shortName || name == longName;
    }
};

class SlfFields
{
public:
    // Splits a line. Returns false if a quote is not closed; that field is then the last. The fields are valid as long
    // as the line, and until the next call.
    bool Split(std::string_view line);
    const std::vector<SlfField>& Fields() const { return m_fields; }

private:
    bool TakeQuoted(std::string_view line, size_t& at, std::string_view& value);

    std::vector<SlfField> m_fields;
    std::deque<std::string> m_texts; // values that had escapes
};

bool IsOctal(char c)
{
    return c >= '0' && c <= '7';
}

SlfLines::SlfLines(const PiecewiseFile& file, size_t offset) : m_file(file), m_end(offset), m_lineOffset(offset)
{
    Fill();
    if (offset == 0 && m_buffer.starts_with(c_byteOrderMark))
        m_at = c_byteOrderMark.size();
}

bool SlfLines::Fill()
{
    const size_t bytes = std::min(c_slfPieceBytes, m_file.Size() - m_end);
    m_buffer.erase(0, m_at);
    m_at = 0;
    const size_t kept = m_buffer.size();
    m_buffer.resize(kept + bytes);
    m_file.Read(m_end, m_buffer.data() + kept, bytes);
    m_end += bytes;
    return bytes > 0;
}

bool SlfLines::NextOfAny(std::string_view& line)
{
    size_t length = 0;
    for (;;)
    {
        const size_t newline = m_buffer.find('\n', m_at + length);
        m_lineOffset = m_end - (m_buffer.size() - m_at);
        length = std::min(newline, m_buffer.size()) - m_at;
        if (newline != std::string::npos || length > c_longestLine || !Fill())
            break;
    }
    m_isTooLong = length > c_longestLine;
    if (m_at == m_buffer.size() || m_isTooLong)
        return false;
    line = std::string_view(m_buffer).substr(m_at, length);
    m_at = std::min(m_at + length + 1, m_buffer.size());
    return true;
}

bool SlfLines::Next(std::string_view& line)
{
    while (NextOfAny(line))
    {
        size_t begin = 0;
        while (begin < line.size() && IsBlank(line[begin]))
            ++begin;
        if (begin < line.size() && line[begin] != '#')
            return true;
    }
    return false;
}

bool SlfFields::Split(std::string_view line)
{
    m_fields.clear();
    m_texts.clear();
    for (size_t at = 0;;)
    {
        while (at < line.size() && IsBlank(line[at]))
            ++at;
        if (at == line.size())
            return true;
        SlfField& field = m_fields.emplace_back();
        const size_t name = at;
        while (at < line.size() && line[at] != '=' && !IsBlank(line[at]))
            ++at;
        field.name = line.substr(name, at - name);
        field.hasValue = at < line.size() && line[at] == '=';
        if (field.hasValue)
        {
            ++at;
            if (at < line.size() && (line[at] == '"' || line[at] == '\''))
            {
                if (!TakeQuoted(line, at, field.value))
                    return false;
            }
            else
            {
                const size_t value = at;
                while (at < line.size() && !IsBlank(line[at]))
                    ++at;
                field.value = line.substr(value, at - value);
            }
        }
    }
}

// Parses a text as HTK writes it: \" \' \\, and \ooo for a byte.
bool SlfFields::TakeQuoted(std::string_view line, size_t& at, std::string_view& value)
{
    const char quote = line[at++];
    const size_t begin = at;
    while (at < line.size() && line[at] != quote && line[at] != '\\')
        ++at;
    value = line.substr(begin, at - begin);
    if (at < line.size() && line[at] == '\\')
    {
        std::string& text = m_texts.emplace_back(value);
        for (; at < line.size() && line[at] != quote; ++at)
        {
            if (line[at] != '\\')
            {
                text += line[at];
                continue;
            }
            ++at;
            if (at + 2 < line.size() && IsOctal(line[at]) && IsOctal(line[at + 1]) && IsOctal(line[at + 2]))
            {
                text += char((line[at] - '0') * 64 + (line[at + 1] - '0') * 8 + (line[at + 2] - '0'));
                at += 2;
            }
            else if (at < line.size())
                text += line[at];
        }
        value = text;
    }
    if (at >= line.size())
        return false;
    ++at; // the quote
    return at == line.size() || IsBlank(line[at]);
}

constexpr double c_framesPerSecond = 100;
// Rounds a time between two frames up, unless the difference is an error of addition.
constexpr double c_roundingSlack = 1e-4;
constexpr double c_mostLatticeFrames = 1e9;
constexpr size_t c_mostValueShown = 60;
// Refuses larger counts in a header before they cost memory.
constexpr size_t c_mostNodesOrArcs = size_t(1) << 24;
// Length of the shortest line of a node, and of an arc.
constexpr size_t c_fewestNodeBytes = 4;
constexpr size_t c_fewestArcBytes = 8;
constexpr std::string_view c_noWord = "!NULL";

double FrameOf(double seconds)
{
    return std::floor(seconds * c_framesPerSecond + 0.5 + c_roundingSlack);
}

class SlfParser
{
public:
    SlfParser(const PiecewiseFile& file, size_t offset, const SlfUtterance& utterance)
        : m_file(file), m_begin(offset), m_utterance(utterance), m_lines(file, offset)
    {
    }

    Lattice Parse()
    {
        std::string_view line;
        while (!m_hasSizes || m_lattice.arcs.size() < m_isArcThere.size())
        {
            if (!m_lines.Next(line))
                FailAtEnd();
            Split(line);
            const SlfField& first = m_fields.Fields().front();
            if (first.name == "I")
                ParseNode();
            else if (first.name == "J")
                ParseArc();
            else if (!m_hasSizes)
                ParseHeaderLine();
            else
                FailHere("'", Shown(first.name), "=', expected a node (I=...) or an arc (J=...); ", SizesText());
        }
        if (m_nodesRead < m_nodes.size())
            FailHere("all arcs were read, but not all nodes;  ", SizesText());
        // Ensures that the next line begins another lattice, or that the file ends.
        if (m_lines.Next(line) && (line.starts_with("I=") || line.starts_with("J=")))
            FailHere("'", line.substr(0, line.find_first_of(" \t\r")), "', but the lattice is complete; ", SizesText());
        const std::string problem = OrderLattice(m_lattice, m_first, m_last);
        if (!problem.empty())
            FailAtOffset(m_begin, problem);
        if (m_lattice.frames != m_utterance.frames)
            FailAtOffset(m_begin, "the lattice", m_name.empty() ? "" : " (UTTERANCE=" + m_name + ")", " has ",
                         Counted(m_lattice.frames, "frame"), ", but the utterance has ", m_utterance.frames);
        return std::move(m_lattice);
    }

private:
    struct Node
    {
        double seconds = 0;
        bool isThere = false;
        bool isWord = false;
    };

    // ---- messages

    template <class... Parts>
    [[noreturn]] void FailAtOffset(size_t offset, const Parts&... parts) const
    {
        Fail(ErrorKind::Data, m_file.Path(), ":", LineCounter().LineOf(m_file, offset), ": utterance '",
             m_utterance.key, "': ", parts...);
    }
    template <class... Parts>
    [[noreturn]] void FailHere(const Parts&... parts) const
    {
        FailAtOffset(m_lines.Offset(), parts...);
    }
    [[noreturn]] void FailForNoLattice() const
    {
        FailHere("byte ", m_begin,
                 " does not begin a lattice in HTK's Standard Lattice Format (VERSION=..., then N=... L=...). Binary "
                 "archives of CNTK v1.1 are not supported: write the lattices in HTK's format, with the states and "
                 "their times (d=)");
    }
    [[noreturn]] void FailAtEnd() const
    {
        if (!m_hasFields)
            FailForNoLattice();
        if (m_lines.IsTooLong())
            FailHere("the line is longer than any of a lattice");
        FailHere("the file ends within the lattice; ",
                 m_hasSizes ? SizesText() : std::string("expected its nodes and arcs, N=... and L=..."));
    }
    static std::string_view Shown(std::string_view text) { return text.substr(0, c_mostValueShown); }
    // Returns "N=3 and L=2 say how many there are, 1 node and no arc were read".
    std::string SizesText() const
    {
        return Concat("N=", m_nodes.size(), " and L=", m_isArcThere.size(), " say how many there are, and ",
                      Counted(m_nodesRead, "node"), " and ", Counted(m_lattice.arcs.size(), "arc"), " were read");
    }

    // ---- fields

    void Split(std::string_view line)
    {
        const bool isWhole = m_fields.Split(line);
        const std::vector<SlfField>& fields = m_fields.Fields();
        const auto isLetter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
        const bool isField = !fields.empty() && fields[0].hasValue && !fields[0].name.empty() &&
                             std::all_of(fields[0].name.begin(), fields[0].name.end(), isLetter);
        if (!m_hasFields && (!isField || line.find('\0') != std::string_view::npos))
            FailForNoLattice();
        m_hasFields = true;
        if (!isWhole)
            FailHere("a value in quotes does not end with the quote and a blank; a quote that belongs to a word is "
                     "written \\' or \\\"");
        // Texts in a header may contain blanks.
        const size_t checked = m_hasSizes || fields[0].name == "I" || fields[0].name == "J" ? fields.size() : 1;
        for (size_t i = 0; i < checked; ++i)
            if (!fields[i].hasValue)
                FailHere("'", Shown(fields[i].name), "' is not a field, expected name=value");
    }

    double Number(const SlfField& field, const char* what) const
    {
        std::string_view text = field.value;
        if (text.starts_with('+') && !text.starts_with("+-"))
            text.remove_prefix(1);
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
            FailHere("'", field.name, "=", Shown(field.value), "': expected ", what);
        return number;
    }

    uint32_t Index(const SlfField& field, size_t limit, const char* what) const
    {
        uint32_t index = 0;
        const std::string_view text = field.value;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
        if (error != std::errc() || end != text.data() + text.size() || index >= limit)
            FailHere("'", field.name, "=", Shown(text), "': expected ", what, " from 0 to ", limit - 1);
        return index;
    }

    // ---- header

    void ParseHeaderLine()
    {
        for (const SlfField& field : m_fields.Fields())
        {
            if (field.Is("N", "NODES"))
                m_nodeCount = Size(field, "nodes", c_fewestNodeBytes);
            else if (field.Is("L", "LINKS"))
                m_arcCount = Size(field, "arcs", c_fewestArcBytes);
            else if (field.Is("S", "SUBLAT"))
                FailForSubLattice();
            else if (field.Is("U", "UTTERANCE"))
                m_name = Shown(field.value);
            else if (field.name == "base")
                SetBase(field);
            else if (field.name == "tscale")
                SetTimeScale(field);
            else if (field.name == "start")
                m_first = Index(field, UINT32_MAX, "a node");
            else if (field.name == "end")
                m_last = Index(field, UINT32_MAX, "a node");
        }
    }

    [[noreturn]] void FailForSubLattice() const
    {
        FailHere("the lattice has sub-lattices, which are not read; expand them (HTK's HLRescore does so)");
    }

    size_t Size(const SlfField& field, const char* what, size_t fewestBytes) const
    {
        const auto size = ParseSize(field.value);
        if (!size || *size == 0 || *size > c_mostNodesOrArcs)
            FailHere("'", field.name, "=", Shown(field.value), "': expected the number of ", what, ", from 1 to ",
                     c_mostNodesOrArcs);
        if (*size > m_lines.BytesLeft() / fewestBytes)
            FailHere("'", field.name, "=", Shown(field.value), "': the file cannot have that many ", what, ", it ends ",
                     Counted(m_lines.BytesLeft(), "byte"), " on");
        return *size;
    }

    void SetBase(const SlfField& field)
    {
        const double base = Number(field, "the base of logarithms, or 0 for no logarithms");
        if (base < 0 || base == 1)
            FailHere("'base=", Shown(field.value), "': a logarithm cannot have that base");
        m_logOfBase = base == 0 ? 0 : std::log(base);
    }

    void SetTimeScale(const SlfField& field)
    {
        m_timeScale = Number(field, "what times are multiplied by");
        if (m_timeScale <= 0)
            FailHere("'tscale=", Shown(field.value), "': expected what times are multiplied by, more than 0");
    }

    // The first node or arc ends the header.
    void RequireSizes()
    {
        if (m_hasSizes)
            return;
        if (!m_nodeCount || !m_arcCount)
            FailHere("nodes and arcs begin, expected their numbers (N=... L=...) before; a lattice begins with its "
                     "header");
        for (const auto& end : {m_first, m_last})
            if (end && *end >= *m_nodeCount)
                FailHere("start= or end= is node ", *end, ", expected one from 0 to ", *m_nodeCount - 1);
        m_nodes.resize(*m_nodeCount);
        m_isArcThere.resize(*m_arcCount);
        m_lattice.nodeFrames.resize(*m_nodeCount);
        m_lattice.arcs.reserve(*m_arcCount);
        m_hasSizes = true;
    }

    // ---- nodes

    void ParseNode()
    {
        RequireSizes();
        const std::vector<SlfField>& fields = m_fields.Fields();
        const uint32_t index = Index(fields[0], m_nodes.size(), "a node");
        Node& node = m_nodes[index];
        if (node.isThere)
            FailHere("node ", index, " occurs twice");
        bool hasTime = false;
        for (const SlfField& field : fields)
        {
            if (field.Is("t", "time"))
            {
                node.seconds = Number(field, "a time in seconds") * m_timeScale;
                hasTime = true;
            }
            else if (field.Is("W", "WORD"))
                node.isWord = IsWord(field.value);
            else if (field.Is("L", "SUBLAT"))
                FailForSubLattice();
        }
        const double frame = FrameOf(node.seconds);
        if (!hasTime || frame < 0 || !(frame < c_mostLatticeFrames))
            FailHere("node ", index, hasTime ? Concat(" is at ", node.seconds, " s") : std::string(" has no time"),
                     ", expected t=, seconds from the beginning of the utterance");
        m_lattice.nodeFrames[index] = uint32_t(frame);
        node.isThere = true;
        ++m_nodesRead;
    }

    static bool IsWord(std::string_view word) { return !word.empty() && word != c_noWord; }

    uint32_t NodeOf(const SlfField& field) const
    {
        const uint32_t index = Index(field, m_nodes.size(), "a node");
        if (!m_nodes[index].isThere)
            FailHere("'", field.name, "=", index,
                     "': that node does not exist; expected nodes before the arcs that use them");
        return index;
    }

    // ---- arcs

    void ParseArc()
    {
        RequireSizes();
        const std::vector<SlfField>& fields = m_fields.Fields();
        const uint32_t index = Index(fields[0], m_isArcThere.size(), "an arc");
        if (m_isArcThere[index])
            FailHere("arc ", index, " occurs twice");
        std::optional<uint32_t> from, to;
        std::optional<bool> isWord;
        std::string_view segments;
        LatticeArc arc;
        for (const SlfField& field : fields)
        {
            if (field.Is("S", "START"))
                from = NodeOf(field);
            else if (field.Is("E", "END"))
                to = NodeOf(field);
            else if (field.Is("W", "WORD"))
                isWord = IsWord(field.value);
            else if (field.Is("l", "language"))
                arc.languageScore = LanguageScore(field);
            else if (field.Is("d", "div"))
                segments = field.value;
        }
        if (!from || !to)
            FailHere("arc ", index, " lacks a node, expected S= and E=, where it begins and ends");
        arc.from = *from;
        arc.to = *to;
        arc.firstSegment = uint32_t(m_lattice.segments.size());
        arc.isWord = isWord.value_or(m_nodes[*to].isWord);
        AddSegments(index, arc, segments);
        m_lattice.arcs.push_back(arc);
        m_isArcThere[index] = true;
    }

    double LanguageScore(const SlfField& field) const
    {
        const double score = Number(field, "a score of the language model");
        if (m_logOfBase == 0 && score <= 0)
            FailHere("'", field.name, "=", Shown(field.value), "': expected a probability, more than 0 (base=0)");
        return m_logOfBase == 0 ? std::log(score) : score * m_logOfBase;
    }

    // Parses ":s1,0.02:s2,0.03,-12.3:": state, seconds, and a likelihood that is not used.
    void AddSegments(uint32_t index, const LatticeArc& arc, std::string_view segments)
    {
        const uint32_t begin = m_lattice.nodeFrames[arc.from];
        const uint32_t end = m_lattice.nodeFrames[arc.to];
        if (end < begin)
            FailHere("arc ", index, " ends before it begins: node ", arc.from, " is at ", m_nodes[arc.from].seconds,
                     " s, node ", arc.to, " at ", m_nodes[arc.to].seconds, " s");
        double seconds = m_nodes[arc.from].seconds;
        uint32_t frame = begin;
        bool isEmpty = true;
        for (size_t at = 0; at < segments.size();)
        {
            const size_t colon = std::min(segments.find(':', at), segments.size());
            const std::string_view segment = segments.substr(at, colon - at);
            at = colon + 1;
            if (segment.empty())
                continue;
            isEmpty = false;
            const size_t comma = segment.find(',');
            const std::string_view duration = comma == std::string_view::npos
                                                  ? ""
                                                  : segment.substr(comma + 1, segment.find(',', comma + 1) - comma - 1);
            const uint32_t state = StateOf(index, segment.substr(0, comma));
            seconds += Duration(index, segment, duration);
            const double segmentEnd = std::min(FrameOf(seconds), c_mostLatticeFrames);
            if (segmentEnd > frame)
                m_lattice.segments.push_back({uint32_t(segmentEnd), state});
            frame = std::max(frame, uint32_t(segmentEnd));
        }
        if (isEmpty && end > begin)
            FailHere("arc ", index, " lasts ", Counted(end - begin, "frame"),
                     " and has no states (d=); lattices must be written with the states and their times, as "
                     "d=:state,seconds:state,seconds:");
        if (frame != end)
            FailHere("the states of arc ", index, " (d=) end at ", seconds, " s, frame ", frame, ", but its node ",
                     arc.to, " is at ", m_nodes[arc.to].seconds, " s, frame ", end);
    }

    double Duration(uint32_t index, std::string_view segment, std::string_view text) const
    {
        double seconds = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
        if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(seconds) || seconds < 0)
            FailHere("'", Shown(segment), "' in d= of arc ", index,
                     ": expected a state, a comma and its duration in "
                     "seconds");
        return seconds * m_timeScale;
    }

    uint32_t StateOf(uint32_t index, std::string_view name) const
    {
        const int64_t state = m_utterance.states.Find(name);
        if (state < 0)
            FailHere("state '", Shown(name), "' of arc ", index, " is not in the state list '",
                     m_utterance.states.Path(), "', which has ", Counted(m_utterance.states.Size(), "state"),
                     DidYouMean(Shown(name), m_utterance.states.Names()));
        if (size_t(state) >= m_utterance.classes)
            FailHere("the class id of state '", name, "' of arc ", index, " is ", state,
                     ", expected less than labelDim=", m_utterance.classes);
        return uint32_t(state);
    }

    const PiecewiseFile& m_file;
    size_t m_begin;
    const SlfUtterance& m_utterance;
    SlfLines m_lines;
    SlfFields m_fields;
    bool m_hasFields = false; // the first line had fields
    // Fields of the header.
    std::string m_name; // for messages
    std::optional<size_t> m_nodeCount;
    std::optional<size_t> m_arcCount;
    std::optional<uint32_t> m_first;
    std::optional<uint32_t> m_last;
    double m_logOfBase = 1; // 0: probabilities
    double m_timeScale = 1;
    bool m_hasSizes = false; // the header has ended

    std::vector<Node> m_nodes;
    std::vector<bool> m_isArcThere;
    size_t m_nodesRead = 0;
    Lattice m_lattice; // in the order of the file
};

} // namespace

Lattice ReadSlf(const PiecewiseFile& file, size_t offset, const SlfUtterance& utterance)
{
    return SlfParser(file, offset, utterance).Parse();
}

} // namespace cntk
