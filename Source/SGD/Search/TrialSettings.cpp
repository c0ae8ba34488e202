// Kept as name=number, with exact numbers and a blank behind each.
#include "SGD/Search/TrialSettings.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "SGD/CheckpointExtra.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace cntk
{
namespace
{

std::pair<std::string, double> MomentumOf(const SgdOptions& options, size_t epoch)
{
    if (!options.momentumPerSample.empty())
        return {"momentumPerSample", double(options.momentumPerSample[epoch])};
    if (!options.momentumAsTimeConstant.empty())
        return {"momentumAsTimeConstant", double(options.momentumAsTimeConstant[epoch])};
    return {"momentumPerMB", options.momentumPerMB.empty() ? double(0.9f) : double(options.momentumPerMB[epoch])};
}

std::string Shown(double value)
{
    std::ostringstream text;
    text << value;
    return text.str();
}

} // namespace

TrialSettings TrialSettingsOf(const SgdOptions& options, size_t epoch)
{
    return {MomentumOf(options, epoch),
            {"useNAG", double(options.useNAG)},
            {"L1RegWeight", options.l1RegWeight},
            {"L2RegWeight", options.l2RegWeight},
            {"dropoutRate", options.dropoutRate[epoch]},
            {"batchNormalizationTimeConstant", options.batchNormalizationTimeConstant[epoch]},
            {"batchNormalizationBlendTimeConstant", options.batchNormalizationBlendTimeConstant[epoch]},
            {"clippingThresholdPerSample", options.clippingThresholdPerSample},
            {"gradientClippingWithTruncation", double(options.gradientClippingWithTruncation)},
            {"gaussianNoiseInjectStd", options.gaussianNoiseInjectStd},
            {"adaptationRegWeight", options.adaptationRegWeight},
            {"rms_wgt_inc", options.rmsWgtInc},
            {"rms_wgt_dec", options.rmsWgtDec},
            {"rms_wgt_max", options.rmsWgtMax},
            {"rms_wgt_min", options.rmsWgtMin},
            {"rms_gamma", options.rmsGamma},
            {"adam_beta2", options.adamBeta2},
            {"adam_epsilon", options.adamEpsilon},
            {"normWithAveMultiplier", double(options.normWithAveMultiplier)},
            {"hSmoothingWeight", options.hSmoothingWeight},
            {"frameDropThresh", options.frameDropThresh},
            {"seqGammarUsesMBR", double(options.seqGammarUsesMBR)},
            {"seqGammarAMF", options.seqGammarAMF},
            {"seqGammarLMF", options.seqGammarLMF},
            {"seqGammarBMMIFactor", options.seqGammarBMMIFactor},
            {"seqGammarWordPen", options.seqGammarWordPen}};
}

std::string TextOfSettings(const TrialSettings& settings)
{
    std::string text;
    for (const auto& [name, value] : settings)
        text += name + "=" + ExactText(value) + " ";
    return text;
}

std::string DifferenceFrom(const std::string& text, const TrialSettings& now)
{
    std::vector<std::string> differences;
    std::istringstream words(text);
    for (std::string word; words >> word;)
    {
        const size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const double before = equals == std::string::npos ? 0 : std::strtod(word.c_str() + equals + 1, nullptr);
        const auto found =
            std::find_if(now.begin(), now.end(), [&name](const auto& setting) { return setting.first == name; });
        if (found == now.end()) // momentum was said by another of its names
            differences.push_back(
                Concat(name, "=", Shown(before), " (now ", now.front().first, "=", Shown(now.front().second), ")"));
        else if (found->second != before)
            differences.push_back(Concat(name, "=", Shown(before), " (now ", Shown(found->second), ")"));
    }
    return Join(differences, ", ");
}

} // namespace cntk
