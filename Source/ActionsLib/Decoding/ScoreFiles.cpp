// Scores that stand in HTK files.
#include "ActionsLib/Decoding/FeatureFiles.h"
#include "ActionsLib/Decoding/ScoreSources.h"
#include "Common/Error.h"

namespace cntk
{

namespace
{

class ScoreFiles final : public ScoreSource
{
public:
    ScoreFiles(const std::string& list, const std::string& prefix) : m_files(list, prefix) {}

    size_t Utterances() const override { return m_files.Count(); }
    size_t Rows() const override { return 0; }

    bool Next(UtteranceScores& scores) override
    {
        if (m_next == m_files.Count())
            return false;
        m_frames.values = std::move(scores.values);
        scores = UtteranceScores();
        scores.name = m_files.NameOf(m_next);
        try
        {
            m_files.Read(m_next, m_frames);
            scores.rows = m_frames.rows;
            scores.frames = m_frames.count;
            scores.framePeriod = m_frames.period;
        }
        catch (const Error& error)
        {
            scores.problem = error.Report();
        }
        scores.values = std::move(m_frames.values);
        ++m_next;
        return true;
    }

private:
    FeatureFiles m_files;
    Frames m_frames;
    size_t m_next = 0;
};

} // namespace

std::unique_ptr<ScoreSource> MakeScoreFiles(const DecodeOptions& options)
{
    return std::make_unique<ScoreFiles>(options.infiles, options.prefixPathInScp);
}

} // namespace cntk
