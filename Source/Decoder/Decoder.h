// The decoder as a whole (book, chapter 6): loads graph, language models and tables once, then turns each matrix of
// scores into words, states and lattices, and writes the result files in the order of the utterances.
#pragma once

#include "Common/Log.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/ScoreSource.h"

#include <cstddef>
#include <memory>
#include <string>

namespace cntk
{

// Counts and sums over all utterances of a run.
struct DecodeSummary
{
    size_t utterances = 0;
    size_t failed = 0;  // without a result
    size_t partial = 0; // no token was in a final state
    double seconds = 0; // of speech
    size_t frames = 0;
    double score = 0;
    double searchSeconds = 0; // of all threads together
    std::string firstFailure; // "utterance 'x': reason"
};

class Decoder
{
public:
    // Loads and checks all input files but the scores. Fails (Data) with file and line or byte.
    Decoder(const DecodeOptions& options, Log& log);
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    // Rows that a matrix of scores needs at least: the largest row of the state map plus one.
    size_t RequiredRows() const;
    // Decodes all utterances by options.threads threads and writes the result files. Fails (Model) before the first
    // utterance if the source has too few rows. Utterances that fail are logged and counted.
    DecodeSummary Decode(ScoreSource& source);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace cntk
