// Setting what nodes of images take from the training.
#include "SGD/Schedules/ImageSettings.h"

#include "Common/Log.h"
#include "Common/Workers.h"
#include "SGD/Files/CheckpointExtra.h"

#include <span>

namespace cntk
{

ImageSettings::ImageSettings(const EvaluationPlan& plan)
{
    for (const ComputationNodePtr& node : plan.NodesInOrder())
    {
        if (auto convolution = std::dynamic_pointer_cast<ConvolutionNode>(node))
            m_convolutions.push_back(std::move(convolution));
        if (auto normalization = std::dynamic_pointer_cast<BatchNormalizationNode>(node))
            m_normalizations.push_back(std::move(normalization));
    }
}

void ImageSettings::LimitTemporaryMemory(uint64_t samples, Log& log)
{
    if (samples == 0)
        return;
    log.Print("Set Max Temp Mem Size For Convolution Nodes to %llu samples.\n",
              static_cast<unsigned long long>(samples));
    if (m_convolutions.empty())
        log.Print("WARNING: there is no convolution node.\n");
    for (const auto& node : m_convolutions)
        node->SetMaxTempMemSizeInSamples(samples);
}

void ImageSettings::SetTimeConstants(double normalization, double blend, Log& log)
{
    if (normalization != m_normalization)
    {
        log.Print("Setting batch normalization time constant to %.8g.\n", normalization);
        for (const auto& node : m_normalizations)
            node->SetNormalizationTimeConstant(normalization);
    }
    if (blend != m_blend)
    {
        log.Print("Setting batch normalization blend time constant to %.8g.\n", blend);
        for (const auto& node : m_normalizations)
            node->SetBlendTimeConstant(blend);
    }
    if ((normalization != m_normalization || blend != m_blend) && m_normalizations.empty())
        log.Print("WARNING: there is no batch normalization node.\n");
    m_normalization = normalization;
    m_blend = blend;
}

void ImageSettings::SaveExtra(std::map<std::string, std::string>& extra) const
{
    if (!m_normalizations.empty())
        extra[c_timeConstantsKey] = ExactTexts({m_normalization, m_blend});
}

void ImageSettings::TakeCounts(Workers& workers, size_t rank)
{
    for (const auto& node : m_normalizations)
    {
        uint64_t minibatches = node->Minibatches();
        workers.Take(rank, std::as_writable_bytes(std::span(&minibatches, 1)));
        node->SetMinibatches(minibatches);
    }
}

void ImageSettings::RestoreExtra(const std::map<std::string, std::string>& extra)
{
    const std::vector<double> constants = NumbersOf(extra, c_timeConstantsKey);
    if (constants.size() != 2)
        return;
    m_normalization = constants[0];
    m_blend = constants[1];
}

} // namespace cntk
