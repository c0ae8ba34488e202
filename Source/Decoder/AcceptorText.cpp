// Parsing of acceptors.
#include "Decoder/AcceptorText.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Decoder/InputText.h"
#include "Decoder/StateTables.h"

namespace cntk
{

namespace
{

class AcceptorParser
{
public:
    explicit AcceptorParser(const std::string& path) : m_text(path, "acceptor") { m_acceptor.path = path; }

    Acceptor Parse()
    {
        while (m_text.Next())
        {
            if (m_text.Count() <= 2)
                ReadFinal();
            else if (m_text.Count() <= 4)
                ReadArc();
            else
                m_text.FailHere(
                    "'", m_text.Line(), "' has ", m_text.Count(),
                    " fields, expected from, to, label and perhaps a cost (an arc), or a state and perhaps a "
                    "cost (a final state)");
        }
        if (m_acceptor.nodeNames.empty())
            Fail(ErrorKind::Data, "acceptor '", m_text.Path(),
                 "' is empty: it has no start; expected lines of from, to, label and perhaps a cost");
        if (m_acceptor.finalCosts.empty())
            m_text.FailHere("the file ends without a final state; expected a line with a state alone");
        return std::move(m_acceptor);
    }

private:
    uint32_t NodeAt(size_t field)
    {
        const std::string_view name = m_text[field];
        if (!ParseSize(name))
            m_text.FailHere("'", name, "' is no number of a state, expected from, to, label and perhaps a cost");
        const auto [place, isNew] = m_nodes.try_emplace(std::string(name), uint32_t(m_acceptor.nodeNames.size()));
        if (isNew)
        {
            m_acceptor.nodeNames.emplace_back(name);
            m_acceptor.nodeLines.push_back(uint32_t(m_text.LineNumber()));
        }
        return place->second;
    }

    void ReadFinal()
    {
        const uint32_t node = NodeAt(0);
        const double cost = m_text.Count() == 2 ? CostAt(1) : 0;
        const auto [place, isNew] = m_acceptor.finalCosts.try_emplace(node, float(cost));
        if (!isNew)
            m_text.FailHere("state ", m_text[0], " is final twice");
    }

    double CostAt(size_t field) const { return m_text.Number(field, "cost: a negative natural logarithm"); }

    void ReadArc()
    {
        AcceptorArc arc{};
        arc.from = NodeAt(0);
        arc.to = NodeAt(1);
        const std::string_view label = m_text[2];
        if (label == "<eps>" || label == "<epsilon>" || label == "0")
            m_text.FailHere("the label '", label,
                            "' is an epsilon; epsilons are not allowed: fstrmepsilon removes them");
        const std::string_view state = WithoutBrackets(label);
        arc.isWord = state.size() == label.size();
        arc.label = arc.isWord ? Number(m_wordNumbers, m_acceptor.words, label)
                               : Number(m_stateNumbers, m_acceptor.states, state);
        arc.cost = m_text.Count() == 4 ? float(CostAt(3)) : 0.0F;
        arc.line = uint32_t(m_text.LineNumber());
        m_acceptor.arcs.push_back(arc);
    }

    static uint32_t Number(std::unordered_map<std::string, uint32_t>& numbers, std::vector<std::string>& names,
                           std::string_view name)
    {
        const auto [place, isNew] = numbers.try_emplace(std::string(name), uint32_t(names.size()));
        if (isNew)
            names.emplace_back(name);
        return place->second;
    }

    InputText m_text;
    Acceptor m_acceptor;
    std::unordered_map<std::string, uint32_t> m_nodes;
    std::unordered_map<std::string, uint32_t> m_stateNumbers;
    std::unordered_map<std::string, uint32_t> m_wordNumbers;
};

} // namespace

std::string Acceptor::NodeText(uint32_t node) const
{
    return Concat("state ", nodeNames[node], " (", path, ":", nodeLines[node], ")");
}

Acceptor ReadAcceptor(const std::string& path)
{
    return AcceptorParser(path).Parse();
}

} // namespace cntk
