// Supply of acoustic scores: one matrix for each utterance, pulled in the order of the list. Sources are files of
// scores or a network. The decoder knows neither.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cntk
{

// The acoustic scores of one utterance: rows x frames, column-major, one frame a column. Row r is the row of the state
// map, ln p(frame | state) up to a constant.
struct UtteranceScores
{
    std::string name; // without folder and extension
    size_t rows = 0;
    size_t frames = 0;
    std::vector<float> values;
    double framePeriod = 100000; // in units of 100 ns
    // Reason why the utterance has no scores, such as an unreadable file. Empty if `values` are valid.
    std::string problem;
};

// Destroyed after the last utterance. Next is called by one thread at a time, from several threads in turn.
class ScoreSource
{
public:
    virtual ~ScoreSource() = default;

    // Number of utterances of the list.
    virtual size_t Utterances() const = 0;
    // Rows of all matrices, known before the first one; 0 if each utterance tells its own.
    virtual size_t Rows() const { return 0; }
    // Replaces `scores` by those of the next utterance; false after the last utterance. The vector's memory is reused.
    // Throws only for errors that concern all utterances.
    virtual bool Next(UtteranceScores& scores) = 0;
    // Seconds spent on evaluating the network so far, for the closing line. 0 without a network.
    virtual double NetworkSeconds() const { return 0; }
};

} // namespace cntk
