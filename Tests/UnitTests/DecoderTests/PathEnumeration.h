// Random acceptors and language models, and the best score of each word sequence by enumeration of all paths. Shares no
// code with the search: works on the texts.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

namespace cntk
{

struct EnumeratedArc
{
    int from;
    int to;
    std::string label; // of states with brackets
    double cost;
};

struct EnumeratedTask
{
    std::vector<EnumeratedArc> arcs; // node 0 is the start
    std::map<int, double> finals;
    std::map<std::string, std::pair<double, double>> transitions; // by label
    std::map<std::string, double> lookahead;
    std::map<std::string, std::pair<double, double>> ngrams; // "a b": base-10 logarithms of probability and back-off
    int order = 2;
    double silenceCost = 0;
    std::vector<std::map<std::string, double>> scores; // by frame and label

    std::string AcceptorText() const;
    std::string TransitionText() const;
    std::string LookaheadText() const;
    std::string ArpaText() const;
    // [p] is a phone of its own; [q] and [r] are the states of a silence.
    static std::string ModelText() { return "phone p\nsil q r\n"; }
};

EnumeratedTask RandomTask(std::mt19937& random, bool hasLookahead, int order);

// The best score of each word sequence, "<s> a b </s>".
std::map<std::string, double> EnumerateSentences(const EnumeratedTask& task, double acweight);

} // namespace cntk
