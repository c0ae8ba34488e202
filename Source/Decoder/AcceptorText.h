// A weighted acceptor as AT&T text, as fstprint --acceptor prints it: lines "from to label [cost]" and "state [cost]".
// The state of the first line is the start. A label in square brackets is an HMM state, any other label a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace cntk
{

struct AcceptorArc
{
    uint32_t from; // nodes, numbered in the order of their first use; node 0 is the start
    uint32_t to;
    uint32_t label; // number of the state or word
    bool isWord;
    float cost;
    uint32_t line;
};

struct Acceptor
{
    std::string path;
    std::vector<AcceptorArc> arcs;
    std::unordered_map<uint32_t, float> finalCosts; // by node
    std::vector<std::string> nodeNames;             // numbers of the text
    std::vector<uint32_t> nodeLines;                // line of the first use
    std::vector<std::string> states;                // names without brackets, in the order of their first use
    std::vector<std::string> words;

    // "state 12 (word.txt:34)"
    std::string NodeText(uint32_t node) const;
};

// Fails (Data) with file and line.
Acceptor ReadAcceptor(const std::string& path);

} // namespace cntk
