// Dumps of nodes and DOT graphs. CNTK v1.1's text writer put a blank in front of every token; both layouts keep that.
#include "ComputationNetwork/Files/NetworkReport.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <cstdio>
#include <functional>
#include <regex>
#include <set>

namespace cntk
{

namespace
{

constexpr size_t c_ruleWidth = 68;
constexpr size_t c_flushAt = size_t(1) << 20;

class NodeDumper
{
public:
    NodeDumper(const DumpOptions& options, const std::string& path) : m_options(options), m_file(path) {}

    void Write(const ComputationNode& node)
    {
        if (m_options.printMetadata)
            WriteHeader(node);
        const Matrix* values = m_options.printValues ? StoredValues(node) : nullptr;
        if (!values)
            return;
        m_text += " \n";
        if (values->IsAllocated())
            WriteValues(*values);
        if (m_options.printMetadata)
            m_text += " " + std::string(c_ruleWidth, '#');
    }
    void Commit()
    {
        Flush();
        m_file.Commit();
    }

private:
    void WriteHeader(const ComputationNode& node)
    {
        m_text += " \n" + node.Name() + "=" + node.TypeName();
        if (node.InputCount() > 0)
        {
            m_text += " (";
            for (size_t i = 0; i < node.InputCount(); i++)
                m_text += (i > 0 ? " , " : " ") + (node.Input(i) ? node.Input(i)->Name() : std::string("NULL"));
            m_text += " )";
        }
        if (const std::string fields = node.DescribeFields(); !fields.empty())
            m_text += " " + fields;
    }

    void WriteValues(const Matrix& matrix)
    {
        const char* format = matrix.Type() == DataType::Float32 ? " %.9g" : " %.17g";
        const std::vector<double> values = matrix.ToHost();
        for (size_t row = 0; row < matrix.Rows(); row++)
        {
            for (size_t column = 0; column < matrix.Columns(); column++)
            {
                char number[40];
                std::snprintf(number, sizeof(number), format, values[column * matrix.Rows() + row]);
                m_text += number;
            }
            m_text += " \n";
            if (m_text.size() >= c_flushAt)
                Flush();
        }
    }

    void Flush()
    {
        m_file.Write(m_text);
        m_text.clear();
    }

    DumpOptions m_options;
    AtomicFile m_file;
    std::string m_text;
};

// ---- DOT ----

std::string Quoted(std::string_view text)
{
    std::string quoted = "\"";
    for (const char c : text)
    {
        if (c == '"' || c == '\\')
            quoted += '\\';
        quoted += c;
    }
    return quoted + "\"";
}

bool IsPast(const ComputationNode& node)
{
    return node.Type().traits.isDelay && node.Type().traits.delayDirection > 0;
}

bool IsFuture(const ComputationNode& node)
{
    return node.Type().traits.isDelay && node.Type().traits.delayDirection < 0;
}

class DotWriter
{
public:
    explicit DotWriter(const ComputationNetwork& network) : m_network(network), m_nodes(network.Nodes()) {}

    std::string Write()
    {
        m_text = " strict digraph {\n rankdir = BT ;  \n // special nodes \n";
        WriteStyles();
        m_text += " \n// add labels and operation name\n";
        for (const ComputationNodePtr& node : m_nodes)
            m_text += "  " + Quoted(node->Name()) + " [ label = \"" + Escaped(node->Name()) + " " +
                      ShapeInWords(*node) + "\\n" + node->TypeName() + "\" ] ;\n";
        WriteRanks();
        WriteArcs();
        m_text += " \n}\n";
        return std::move(m_text);
    }

private:
    static std::string Escaped(const std::string& text)
    {
        const std::string quoted = Quoted(text);
        return quoted.substr(1, quoted.size() - 2);
    }

    // Writes a group. An empty group is an empty token, of which only the blank remains.
    void WriteGroup(std::string_view style, const std::vector<ComputationNodePtr>& nodes)
    {
        m_text += " ";
        if (nodes.empty())
            return;
        m_text += style;
        for (const ComputationNodePtr& node : nodes)
            m_text += Quoted(node->Name()) + " ";
        m_text += "; \n";
    }
    std::vector<ComputationNodePtr> Select(const std::function<bool(const ComputationNode&)>& isWanted) const
    {
        std::vector<ComputationNodePtr> selected;
        for (const ComputationNodePtr& node : m_nodes)
            if (isWanted(*node))
                selected.push_back(node);
        return selected;
    }

    // Users compare these files byte for byte: the blanks within each style and the missing semicolons are CNTK v1.1's.
    void WriteStyles()
    {
        WriteGroup("node [ shape = box     , color = gray , style = \"filled, rounded\"  ]; ",
                   Select([](const ComputationNode& node) { return node.TypeName() == "LearnableParameter"; }));
        WriteGroup("node [ shape = ellipse , color = red  , fillcolor = white ]; ",
                   m_network.Group(NodeGroup::Feature));
        WriteGroup("node [ shape = diamond, color = brown, style = bold ] ;  ", m_network.Group(NodeGroup::Label));
        WriteGroup("node [ shape = doublecircle , color =  red , fillcolor = white  ]; ",
                   m_network.Group(NodeGroup::Criterion));
        WriteGroup("node [ shape = box    , color = black, style = \"dashed, filled\",  fillcolor= limegreen ] ;",
                   Select([](const ComputationNode& node) { return node.IsPrecomputed(); }));
        WriteGroup("node [ shape = box3d  , color = lightgray, style = \"filled\" , fillcolor = white ] ",
                   Select(IsPast));
        WriteGroup("node [ shape = box3d  , color = red, style = \"filled\" , fillcolor = white ] ", Select(IsFuture));
        m_text += " node [ shape = ellipse, color = blue, fillcolor = white, style = solid ];  \n";
    }

    void WriteRanks()
    {
        const auto write = [&](std::string_view rank, std::initializer_list<NodeGroup> groups)
        {
            m_text += Concat(" subgraph {\n \t\t rank=", rank, " ;  ");
            for (const NodeGroup group : groups)
                for (const ComputationNodePtr& node : m_network.Group(group))
                    m_text += Quoted(node->Name()) + " ";
            m_text += " \n}\n";
        };
        write("source", {NodeGroup::Feature});
        write("sink", {NodeGroup::Criterion, NodeGroup::Output, NodeGroup::Evaluation});
    }

    // Writes the arcs depth-first from the groups and follows the last input first. CNTK v1.1 draws no arcs of nodes
    // that no group reaches. A network without criteria and outputs is drawn as a whole.
    void WriteArcs()
    {
        std::vector<ComputationNodePtr> stack, roots;
        for (const NodeGroup group : {NodeGroup::Criterion, NodeGroup::Evaluation, NodeGroup::Output})
            for (const ComputationNodePtr& node : m_network.Group(group))
                roots.push_back(node);
        if (roots.empty())
            roots = m_nodes;
        std::set<const ComputationNode*> seen;
        for (const ComputationNodePtr& root : roots)
        {
            stack.push_back(root);
            while (!stack.empty())
            {
                const ComputationNodePtr node = stack.back();
                stack.pop_back();
                if (!seen.insert(node.get()).second)
                    continue;
                for (const ComputationNodePtr& input : node->Inputs())
                    if (input)
                    {
                        WriteArc(*input, *node);
                        stack.push_back(input);
                    }
            }
        }
    }

    // An arc from a delay node starts at a copy of that node, which keeps the picture free of cycles.
    void WriteArc(const ComputationNode& input, const ComputationNode& node)
    {
        std::string from = input.Name();
        m_text += " ";
        if (input.Type().traits.isDelay)
        {
            from += ".dummy";
            m_text += Concat("node [ shape = box3d  , color = ", IsPast(input) ? "lightgray" : "red",
                             ", style = \"filled\" , label = \"", Escaped(input.Name()), "\\n(", input.TypeName(),
                             ")\" ] ; ", Quoted(from), "\n");
        }
        m_text += Quoted(from) + " -> " + Quoted(node.Name()) + " ; \n";
    }

    const ComputationNetwork& m_network;
    std::vector<ComputationNodePtr> m_nodes;
    std::string m_text;
};

// Compiles the expression for the library's breadth-first matching. The default matching backtracks and may take
// exponential time for an expression like (a+)+b. It is used only for back references (\1).
std::regex CompileRegex(const std::string& expression, std::regex::flag_type flags = std::regex::ECMAScript)
{
#ifdef __GLIBCXX__
    try
    {
        return std::regex(expression, flags | std::regex_constants::__polynomial);
    }
    catch (const std::regex_error& error)
    {
        if (error.code() != std::regex_constants::error_complexity)
            throw;
    }
#endif
    return std::regex(expression, flags);
}

std::regex NodeRegex(const std::string& expression)
{
    try
    {
        return CompileRegex(expression);
    }
    catch (const std::regex_error& error)
    {
        // The library's message for a leading star wrongly reports unbalanced brackets.
        if (expression.starts_with('*'))
            Fail(ErrorKind::Config, "'", expression,
                 "' is no valid regular expression: '*' repeats what stands before it; ", "any text is '.*', as in '.",
                 expression, "'");
        Fail(ErrorKind::Config, "'", expression, "' is no valid regular expression: ", error.what());
    }
}

} // namespace

void RequireNodeRegex(const std::string& expression)
{
    NodeRegex(expression);
}

std::vector<ComputationNodePtr> FindNodesByRegex(const ComputationNetwork& network, const std::string& expression)
{
    const std::regex regex = NodeRegex(expression);
    std::vector<ComputationNodePtr> found;
    for (const ComputationNodePtr& node : network.Nodes())
        if (std::regex_match(node->Name(), regex))
            found.push_back(node);
    return found;
}

std::string NearRegexHint(const ComputationNetwork& network, const std::string& expression)
{
    const std::regex regex = CompileRegex(expression, std::regex::ECMAScript | std::regex::icase);
    std::vector<std::string> whole, within;
    for (const ComputationNodePtr& node : network.Nodes())
    {
        if (std::regex_match(node->Name(), regex))
            whole.push_back(node->Name());
        if (std::regex_search(node->Name(), regex))
            within.push_back(node->Name());
    }
    std::vector<std::string> near = !whole.empty() ? whole : within;
    if (near.empty())
        near = network.NearestNames(expression);
    if (near.empty())
        return {};
    const size_t most = 3, others = near.size() - std::min(near.size(), most);
    near.resize(near.size() - others);
    return Concat("; did you mean '", Join(near, "', '"), "'", others > 0 ? ", ..." : "", "?");
}

void DumpNodes(const std::vector<ComputationNodePtr>& nodes, const DumpOptions& options, const std::string& path)
{
    if (!options.printValues && !options.printMetadata)
        Fail(ErrorKind::Config, "printValues and printMetadata are both false; there is nothing to print");
    NodeDumper dumper(options, path);
    for (const ComputationNodePtr& node : nodes)
        dumper.Write(*node);
    dumper.Commit();
}

std::string ShapeInWords(const ComputationNode& node)
{
    std::string text = node.SampleLayout().ToString();
    if (node.HasMBLayout())
        text += text.empty() ? "*" : " x *";
    return "[" + text + "]";
}

std::string DotGraph(const ComputationNetwork& network)
{
    return DotWriter(network).Write();
}

void WriteDotGraph(const ComputationNetwork& network, const std::string& path)
{
    AtomicFile file(path);
    file.Write(DotGraph(network));
    file.Commit();
}

} // namespace cntk
