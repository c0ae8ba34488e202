// What must hold between the rows of the SGD block, and which of them have no effect beside others.
#include "Common/Error.h"
#include "Common/Text.h"
#include "SGD/TrainingOptions.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

// A momentum that single precision makes 1: no gradient would ever count.
std::optional<OptionProblem> FindEndlessMomentum(const SgdOptions& options)
{
    const auto problemOf = [](const char* name, const std::string& what, const char* expected)
    {
        return OptionProblem{
            name, Concat(name, what, " 1 in single precision, with which nothing is learned; expected ", expected)};
    };
    const auto isEndless = [](float momentum) { return momentum >= 1; };
    const auto& perMB = options.momentumPerMB.values;
    const auto& perSample = options.momentumPerSample.values;
    if (std::any_of(perMB.begin(), perMB.end(), isEndless))
        return problemOf("momentumPerMB", " is", "a number below 0.9999999");
    if (std::any_of(perSample.begin(), perSample.end(), isEndless))
        return problemOf("momentumPerSample", " is", "a number below 0.9999999");
    for (const float samples : options.momentumAsTimeConstant.values)
        if (samples > 0 && isEndless(float(std::exp(-1 / double(samples)))))
            return problemOf("momentumAsTimeConstant", " " + PrintNumber(double(samples)) + " makes a momentum of",
                             "at most 3e7 samples");
    return std::nullopt;
}

// Infinite numbers, which no range of a row refuses. Those that mean something are not here: no clipping, no increase
// of the rate, statistics of batch normalization that never fade.
std::optional<OptionProblem> FindInfinite(const SgdOptions& options)
{
    const AutoAdjustOptions& adjust = options.autoAdjust;
    const std::pair<const char*, double> numbers[] = {
        {"gaussianNoiseInjectStd", options.gaussianNoiseInjectStd},
        {"rms_wgt_inc", options.rmsWgtInc},
        {"rms_wgt_dec", options.rmsWgtDec},
        {"rms_wgt_max", options.rmsWgtMax},
        {"rms_wgt_min", options.rmsWgtMin},
        {"adam_epsilon", options.adamEpsilon},
        {"L2RegWeight", options.l2RegWeight},
        {"L1RegWeight", options.l1RegWeight},
        {"earlyStopMinImprovement", options.earlyStopMinImprovement},
        {"saveEveryMinutes", options.saveEveryMinutes},
        {"seqGammarAMF", options.seqGammarAMF},
        {"seqGammarLMF", options.seqGammarLMF},
        {"seqGammarBMMIFactor", options.seqGammarBMMIFactor},
        {"seqGammarWordPen", options.seqGammarWordPen},
        {"blockLearningRate", options.parallelTrain.blockMomentum.blockLearningRate},
        {"reduceLearnRateIfImproveLessThan", adjust.reduceLearnRateIfImproveLessThan},
        {"learnRateIncreaseFactor", adjust.learnRateIncreaseFactor},
        {"minibatchSearchCriterionErrorMargin", adjust.minibatchSearchCriterionErrorMargin},
    };
    const auto problemOf = [](const char* name, double number, const char* expected) {
        return OptionProblem{name, Concat(name, " is ", PrintNumber(number), "; expected ", expected)};
    };
    for (const auto& [name, number] : numbers)
        if (!std::isfinite(number))
            return problemOf(name, number, "a finite number");
    const auto find = [&](const char* name, const auto& values) -> std::optional<OptionProblem>
    {
        const auto found =
            std::find_if(values.begin(), values.end(), [](auto number) { return !std::isfinite(number); });
        if (found == values.end())
            return std::nullopt;
        return problemOf(name, double(*found), "finite numbers, in single precision below 3.4e38");
    };
    const BlockMomentumOptions& blocks = options.parallelTrain.blockMomentum;
    for (const auto& [name, number] :
         {std::pair("blockMomentumAsTimeConstant", blocks.blockMomentumAsTimeConstant),
          std::pair("blockMomentumAsTimeConstantPerWorker", blocks.blockMomentumAsTimeConstantPerWorker)})
        if (!std::isfinite(number.value_or(0)))
            return problemOf(name, *number, "a finite number of samples");
    if (auto problem = find("learningRatesPerMB", options.learningRatesPerMB.values))
        return problem;
    return find("learningRatesPerSample", options.learningRatesPerSample.values);
}

// The same number for each worker and for all of them.
std::optional<OptionProblem> FindTwice(const BlockMomentumOptions& options)
{
    const auto problemOf = [](const char* name)
    {
        return OptionProblem{name, Concat(name, " and ", name,
                                          "PerWorker are both given; expected one of them, in samples "
                                          "of all workers or of each")};
    };
    if (options.syncPeriod && options.syncPeriodPerWorker)
        return problemOf("syncPeriod");
    if (options.blockMomentumAsTimeConstant && options.blockMomentumAsTimeConstantPerWorker)
        return problemOf("blockMomentumAsTimeConstant");
    return std::nullopt;
}

// "a, b have no effect: only <readers> reads them"
OptionProblem Unread(const std::vector<std::string>& names, const std::string& readers)
{
    const bool isOne = names.size() == 1;
    return {names.front(), Concat(Join(names, ", "), isOne ? " has" : " have", " no effect: only ", readers, " reads ",
                                  isOne ? "it" : "them")};
}

// Numbers of update rules that are not the chosen one. Old configs list them at their defaults, which say nothing.
void FindNumbersOfOtherRules(const SgdOptions& options, GradientUpdateType rule, std::vector<OptionProblem>& ignored)
{
    const SgdOptions defaults;
    const auto differ = [&](const std::vector<std::pair<const char*, double SgdOptions::*>>& numbers)
    {
        std::vector<std::string> names;
        for (const auto& [name, number] : numbers)
            if (options.*number != defaults.*number)
                names.emplace_back(name);
        return names;
    };
    const auto add = [&](const std::vector<std::string>& names, const char* readers)
    {
        if (!names.empty())
            ignored.push_back(Unread(names, readers));
    };
    using S = SgdOptions;
    if (rule != GradientUpdateType::RmsProp)
        add(differ({{"rms_wgt_inc", &S::rmsWgtInc},
                    {"rms_wgt_dec", &S::rmsWgtDec},
                    {"rms_wgt_max", &S::rmsWgtMax},
                    {"rms_wgt_min", &S::rmsWgtMin},
                    {"rms_gamma", &S::rmsGamma}}),
            "gradUpdateType=rmsProp");
    if (rule != GradientUpdateType::Adam)
        add(differ({{"adam_beta2", &S::adamBeta2}, {"adam_epsilon", &S::adamEpsilon}}), "gradUpdateType=adam");
    // Sparse gradients of fsAdagrad are adagrad's.
    if (!options.normWithAveMultiplier && (rule == GradientUpdateType::None || rule == GradientUpdateType::Adam))
        add({"normWithAveMultiplier"}, "gradUpdateType=adagrad or rmsProp");
}

// The same of momentum: 0 is what these rules have, 0.9 the default.
void FindMomentumWithoutUse(const SgdOptions& options, GradientUpdateType rule, std::vector<OptionProblem>& ignored)
{
    if (rule != GradientUpdateType::AdaGrad && rule != GradientUpdateType::RmsProp)
        return;
    const char* const ruleName = rule == GradientUpdateType::AdaGrad ? "adagrad" : "rmsProp";
    const auto add = [&](const char* name, const Schedule<float>& schedule, float usual)
    {
        const auto isMeant = [usual](float momentum) { return momentum != 0 && momentum != usual; };
        if (std::any_of(schedule.values.begin(), schedule.values.end(), isMeant))
            ignored.push_back({name, Concat(name, " has no effect: gradUpdateType=", ruleName, " has no momentum")});
    };
    add("momentumPerMB", options.momentumPerMB, 0.9f);
    add("momentumPerSample", options.momentumPerSample, 0);
    add("momentumAsTimeConstant", options.momentumAsTimeConstant, 0);
}

} // namespace

std::optional<OptionProblem> FindProblem(const SgdOptions& options, DataType precision)
{
    if (auto problem = FindTwice(options.parallelTrain.blockMomentum))
        return problem;
    if (options.maxEpochs == 0)
        return OptionProblem{"maxEpochs", "maxEpochs is missing; expected the number of epochs to train"};
    if (options.minibatchSize.empty())
        return OptionProblem{"minibatchSize", "minibatchSize is an empty list; expected at least one size"};
    if (!options.learningRatesPerMB.empty() && !options.learningRatesPerSample.empty())
        return OptionProblem{"learningRatesPerSample",
                             "learningRatesPerMB and learningRatesPerSample are both given; expected one of them "
                             "(the other one may be given as 'default', which means none)"};
    if (options.learningRatesPerMB.empty() && options.learningRatesPerSample.empty() &&
        options.autoAdjust.autoAdjustLR == LearningRateSearch::None)
        return OptionProblem{"learningRatesPerSample",
                             "no learning rate is given; expected learningRatesPerMB or learningRatesPerSample "
                             "(or an AutoAdjust block with autoAdjustLR)"};
    const int momenta = int(!options.momentumPerMB.empty()) + int(!options.momentumPerSample.empty()) +
                        int(!options.momentumAsTimeConstant.empty());
    if (momenta > 1)
        return OptionProblem{options.momentumPerSample.empty() ? "momentumAsTimeConstant" : "momentumPerSample",
                             "momentum is given in more than one form; expected one of momentumPerMB, "
                             "momentumPerSample and momentumAsTimeConstant"};
    if (auto problem = FindInfinite(options))
        return problem;
    if (auto problem = FindEndlessMomentum(options))
        return problem;
    if (options.epochSize != 0)
    {
        for (size_t i = 0; i < options.minibatchSize.size() && i < options.maxEpochs; ++i)
        {
            if (options.epochSize < options.minibatchSize[i])
                return OptionProblem{"epochSize",
                                     Concat("epochSize ", options.epochSize, " is smaller than minibatchSize ",
                                            options.minibatchSize[i], " of epoch ", i + 1,
                                            "; expected at least one minibatch an epoch, or 0 for the whole data set")};
        }
    }
    if (options.gradUpdateType == GradientUpdateType::RmsProp && options.rmsWgtMax < options.rmsWgtMin)
        return OptionProblem{"rms_wgt_max", Concat("rms_wgt_max is ", options.rmsWgtMax, ", below rms_wgt_min ",
                                                   options.rmsWgtMin, "; expected at least that")};
    const size_t bits = precision == DataType::Float64 ? 64 : 32;
    if (options.parallelTrain.dataParallel.gradientBits.value_or(1) > bits)
        return OptionProblem{"gradientBits",
                             Concat("gradientBits is ", *options.parallelTrain.dataParallel.gradientBits,
                                    "; expected 1 to ", bits, ", the bits of a ", NameOf(precision))};
    if (const size_t given = options.parallelTrain.dataParallel.gradientBits.value_or(1); (given & (given - 1)) != 0)
        return OptionProblem{"gradientBits",
                             Concat("gradientBits is ", given, "; expected a power of two, 1 to ", bits)};
    if (!EqualsIgnoreCase(options.executionEngine, "synchronous"))
        return OptionProblem{"executionEngine",
                             Concat("unknown executionEngine '", options.executionEngine, "'; expected synchronous")};
    if (options.gradientCheck && precision != DataType::Float64)
        return OptionProblem{"gradientcheck", "gradientcheck needs precision=double, but precision is float"};
    if (options.gradientCheck && (options.sigFigs < 1 || options.sigFigs > 15))
        return OptionProblem{"sigFigs", Concat("sigFigs is ", options.sigFigs, "; expected 1 to 15 digits")};
    for (size_t epoch = 0; options.gradientCheck && epoch < options.maxEpochs; ++epoch)
        if (options.dropoutRate[epoch] > 0)
            return OptionProblem{"gradientcheck",
                                 Concat("gradientcheck cannot tell anything of a network with dropout, whose masks "
                                        "change from one evaluation to the next, but dropoutRate is ",
                                        options.dropoutRate[epoch], " in epoch ", epoch + 1)};
    return std::nullopt;
}

std::vector<OptionProblem> FindIgnored(const SgdOptions& options)
{
    std::vector<OptionProblem> ignored;
    const auto rule = options.useAdagrad ? GradientUpdateType::AdaGrad : options.gradUpdateType;
    if (options.useAdagrad && options.gradUpdateType != GradientUpdateType::None &&
        options.gradUpdateType != GradientUpdateType::AdaGrad)
        ignored.push_back({"gradUpdateType", "gradUpdateType has no effect: useAdagrad=true makes it adagrad"});
    if (options.useNAG && rule != GradientUpdateType::None)
        ignored.push_back({"useNAG", "useNAG has no effect: only gradUpdateType=none has Nesterov's momentum"});
    if (options.earlyStopMinImprovement > 0 && options.earlyStopPatience == 0)
        ignored.push_back({"earlyStopMinImprovement",
                           "earlyStopMinImprovement has no effect: earlyStopPatience is 0, which stops nothing"});
    FindNumbersOfOtherRules(options, rule, ignored);
    FindMomentumWithoutUse(options, rule, ignored);
    if (!options.gradientClippingWithTruncation && std::isinf(options.clippingThresholdPerSample))
        ignored.push_back({"gradientClippingWithTruncation",
                           "gradientClippingWithTruncation has no effect: clippingThresholdPerSample is not given, and "
                           "no gradient is clipped"});
    if (options.adaptationRegWeight > 0 && options.adaptationRegType == AdaptationRegularization::None)
        ignored.push_back({"adaptationRegWeight",
                           "adaptationRegWeight has no effect: adaptationRegType is none; expected KL with it"});
    const size_t rates = std::max(options.learningRatesPerMB.size(), options.learningRatesPerSample.size());
    if (options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch && rates >= options.maxEpochs)
        ignored.push_back({"autoAdjustLR", Concat("autoAdjustLR=searchBeforeEpoch has no effect: the list of learning "
                                                  "rates says that of each epoch (",
                                                  rates, " for maxEpochs=", options.maxEpochs, ")")});
    return ignored;
}

std::vector<OptionProblem> FindUnread(const SgdOptions& options, const ConfigParameters& autoAdjust)
{
    const LearningRateSearch mode = options.autoAdjust.autoAdjustLR;
    const bool adjusts = mode == LearningRateSearch::AdjustAfterEpoch;
    const bool searches = mode == LearningRateSearch::SearchBeforeEpoch;
    const bool searchesSize = options.autoAdjust.autoAdjustMinibatch;
    struct Readers
    {
        bool areThere; // some mode that reads the keys is on
        const char* names;
        std::vector<const char*> keys;
    };
    const Readers groups[] = {
        {adjusts,
         "autoAdjustLR=adjustAfterEpoch",
         {"reduceLearnRateIfImproveLessThan", "continueReduce", "learnRateDecreaseFactor",
          "increaseLearnRateIfImproveMoreThan", "learnRateIncreaseFactor", "loadBestModel"}},
        {adjusts || searches,
         "autoAdjustLR=adjustAfterEpoch or searchBeforeEpoch",
         {"learnRateAdjustInterval", "UseCVSetControlLRIfCVExists"}},
        {adjusts || options.earlyStopPatience > 0,
         "autoAdjustLR=adjustAfterEpoch, or a training with earlyStopPatience,",
         {"UseEvalCriterionControlLR"}},
        {searches,
         "autoAdjustLR=searchBeforeEpoch",
         {"numPrevLearnRates", "numPrevLearnRate", "numBestSearchEpoch", "learnRateSearchGoal"}},
        {searches || searchesSize,
         "autoAdjustLR=searchBeforeEpoch or autoAdjustMinibatch=true",
         {"numMiniBatch4LRSearch"}},
        {searchesSize,
         "autoAdjustMinibatch=true",
         {"minibatchSizeTuningFrequency", "minibatchSizeTuningMax", "minibatchSearchCriterionErrorMargin"}},
    };
    std::vector<OptionProblem> unread;
    for (const Readers& readers : groups)
    {
        std::vector<std::string> given;
        for (const char* key : readers.keys)
            if (!readers.areThere && autoAdjust.ExistsHere(key))
                given.emplace_back(key);
        if (!given.empty())
            unread.push_back(Unread(given, readers.names));
    }
    return unread;
}

} // namespace cntk
