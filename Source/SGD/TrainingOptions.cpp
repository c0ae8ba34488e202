// The rows of the SGD block and the checks between them.
#include "SGD/TrainingOptions.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

constexpr double c_infinity = std::numeric_limits<double>::infinity();
constexpr Range c_notNegative{0, c_infinity};
constexpr Range c_atLeastOne{1, c_infinity};
constexpr Range c_belowOne{0, 1, false, true};

} // namespace

OptionTable<AutoAdjustOptions> AutoAdjustOptions::Options()
{
    using S = AutoAdjustOptions;
    return {
        Choice("autoAdjustLR", &S::autoAdjustLR,
               {{"none", LearningRateSearch::None},
                {"false", LearningRateSearch::None},
                {"searchBeforeEpoch", LearningRateSearch::SearchBeforeEpoch},
                {"beforeEpoch", LearningRateSearch::SearchBeforeEpoch},
                {"before", LearningRateSearch::SearchBeforeEpoch},
                {"adjustAfterEpoch", LearningRateSearch::AdjustAfterEpoch},
                {"afterEpoch", LearningRateSearch::AdjustAfterEpoch},
                {"after", LearningRateSearch::AdjustAfterEpoch}},
               "automatic control of the learning rate, for epochs that the list of rates does not cover"),
        Opt("reduceLearnRateIfImproveLessThan", &S::reduceLearnRateIfImproveLessThan,
            "adjustAfterEpoch: reduce the rate when the criterion improves by no more than this fraction"),
        Opt("continueReduce", &S::continueReduce,
            "adjustAfterEpoch: once reduced, reduce after every epoch; stop at the second insufficient improvement"),
        Opt("learnRateAdjustInterval", &S::learnRateAdjustInterval, "adjustAfterEpoch: look every so many epochs",
            c_atLeastOne),
        Opt("learnRateDecreaseFactor", &S::learnRateDecreaseFactor, "adjustAfterEpoch: the rate is multiplied by this",
            Range{0, 1, true, false}),
        Opt("increaseLearnRateIfImproveMoreThan", &S::increaseLearnRateIfImproveMoreThan,
            "adjustAfterEpoch: increase the rate when the criterion improves by more than this fraction"),
        Opt("learnRateIncreaseFactor", &S::learnRateIncreaseFactor, "adjustAfterEpoch: the rate is multiplied by this",
            c_atLeastOne),
        Opt("loadBestModel", &S::loadBestModel,
            "adjustAfterEpoch: go back to the earlier model when the criterion became worse"),
        Opt("UseCVSetControlLRIfCVExists", &S::useCVSetControlLRIfCVExists,
            "adjustAfterEpoch: let the cross-validation set decide if there is a cvReader; searchBeforeEpoch: let its "
            "criterion stand for the last epoch's"),
        Opt("UseEvalCriterionControlLR", &S::useEvalCriterionControlLR,
            "adjustAfterEpoch: let the first evaluation node decide instead of the training criterion; "
            "earlyStopPatience: let it say which epoch is the best"),
        Opt("numMiniBatch4LRSearch", &S::numMiniBatch4LRSearch,
            "searchBeforeEpoch: minibatches of a trial run, per epoch", c_atLeastOne),
        Opt("numPrevLearnRates", &S::numPrevLearnRates,
            "searchBeforeEpoch: start from the largest of so many earlier rates", c_notNegative, {"numPrevLearnRate"}),
        Opt("numBestSearchEpoch", &S::numBestSearchEpoch, "searchBeforeEpoch: epochs whose rate is refined"),
        Choice("learnRateSearchGoal", &S::learnRateSearchGoal,
               {{"sufficient", RateSearchGoal::Sufficient},
                {"improvement", RateSearchGoal::Improvement},
                {"best", RateSearchGoal::Best}},
               "searchBeforeEpoch: the rate looked for after these epochs; sufficient: the largest that promises to go "
               "on from the last epoch's criterion; improvement: the largest that does better than rate 0; best: the "
               "best over the trial run"),
        Opt("autoAdjustMinibatch", &S::autoAdjustMinibatch,
            "search for the minibatch size in epochs that the list of sizes does not cover"),
        Opt("minibatchSizeTuningFrequency", &S::minibatchSizeTuningFrequency,
            "autoAdjustMinibatch: search every so many epochs", c_atLeastOne),
        Opt("minibatchSizeTuningMax", &S::minibatchSizeTuningMax, "autoAdjustMinibatch: largest size tried",
            c_atLeastOne),
        Opt("minibatchSearchCriterionErrorMargin", &S::minibatchSearchCriterionErrorMargin,
            "autoAdjustMinibatch: percent by which the criterion may be worse than that of the smallest size",
            c_notNegative),
    };
}

OptionTable<ParallelTrainOptions> ParallelTrainOptions::Options()
{
    using S = ParallelTrainOptions;
    return {
        Choice("parallelizationMethod", &S::parallelizationMethod,
               {{"none", ParallelizationMethod::None},
                {"DataParallelSGD", ParallelizationMethod::DataParallelSGD},
                {"ModelAveragingSGD", ParallelizationMethod::ModelAveragingSGD},
                {"BlockMomentumSGD", ParallelizationMethod::BlockMomentumSGD}},
               "how several workers share the training; without workers it counts as none"),
        Opt("parallelizationStartEpoch", &S::parallelizationStartEpoch, "first epoch (from 1) that is shared",
            c_atLeastOne),
        Opt("distributedMBReading", &S::distributedMBReading, "each worker reads its share of the data only"),
        Opt("syncPerfStats", &S::syncPerfStats, "print times every so many minibatches"),
        Nested("DataParallelSGD", &S::dataParallel, "exchange of gradients").WithoutEffect().Here(),
        Nested("ModelAveragingSGD", &S::modelAveraging, "averages of models").WithoutEffect().Here(),
    };
}

OptionTable<DataParallelOptions> DataParallelOptions::Options()
{
    using S = DataParallelOptions;
    return {
        Opt("parallelizationStartEpoch", &S::parallelizationStartEpoch,
            "where configs of 2015 have it; the same as in ParallelTrain", c_atLeastOne),
        Opt("gradientBits", &S::gradientBits, "bits of each number that is exchanged; not given: all", Range{1, 64}),
        Opt("useZeroThresholdFor1BitQuantization", &S::useZeroThresholdFor1BitQuantization,
            "1 bit: the threshold is 0, not the mean"),
        Opt("useBufferedAsyncGradientAggregation", &S::useBufferedAsyncGradientAggregation,
            "exchange while the next minibatch is computed"),
    };
}

OptionTable<ModelAveragingOptions> ModelAveragingOptions::Options()
{
    using S = ModelAveragingOptions;
    return {Opt("syncFrequencyInFrames", &S::syncFrequencyInFrames, "samples between two averages", c_atLeastOne)};
}

OptionTable<SgdOptions> SgdOptions::Options()
{
    using S = SgdOptions;
    return WithTraceOptions<S>({
        // ---- files and nodes
        Opt("modelPath", &S::modelPath, "final model; modelPath.N after epoch N; may stand around the block"),
        Opt("keepCheckPointFiles", &S::keepCheckPointFiles, "keep the .ckp files of earlier epochs"),
        Opt("trainCriterionNodeName", &S::trainCriterionNodeName, "the node to minimise, instead of the network's"),
        Opt("evalCriterionNodeName", &S::evalCriterionNodeName, "the node to report, instead of the network's"),
        // ---- schedules
        Opt("learningRatesPerMB", &S::learningRatesPerMB,
            "learning rate per minibatch of minibatchSize samples, per epoch; divided by minibatchSize", c_notNegative,
            {"learningRatePerMB"}),
        Opt("learningRatesPerSample", &S::learningRatesPerSample, "learning rate per sample, per epoch", c_notNegative,
            {"learningRatePerSample"}),
        Opt("executionEngine", &S::executionEngine, "synchronous is the only one"),
        Opt("minibatchSize", &S::minibatchSize, "samples of a minibatch, per epoch (truncated: time steps)",
            c_atLeastOne),
        Opt("truncated", &S::truncated,
            "truncated back-propagation through time: learningRatesPerMB and momentumPerMB are meant for minibatchSize "
            "steps of all parallel sequences"),
        Opt("maxSamplesInRAM", &S::maxSamplesInRAM, "cut a minibatch into pieces of at most so many samples",
            c_atLeastOne),
        Opt("numSubminibatches", &S::numSubminibatches, "cut a minibatch into so many pieces", c_atLeastOne),
        Opt("epochSize", &S::epochSize, "samples of an epoch; 0: the whole data set"),
        Opt("maxEpochs", &S::maxEpochs, "epochs to train", c_atLeastOne).Required(),
        Opt("momentumPerMB", &S::momentumPerMB,
            "momentum per minibatch of minibatchSize samples, per epoch; 0.9 if no form of momentum is given",
            c_belowOne),
        Opt("momentumPerSample", &S::momentumPerSample, "momentum per sample, per epoch", c_belowOne),
        Opt("momentumAsTimeConstant", &S::momentumAsTimeConstant,
            "momentum as the number of samples after which a gradient has faded to 1/e, per epoch; 0: none",
            c_notNegative),
        Opt("useNAG", &S::useNAG, "Nesterov's accelerated gradient"),
        // ---- progress
        Opt("maxTempMemSizeInSamplesForCNN", &S::maxTempMemSizeInSamplesForCNN,
            "samples that a convolution may unroll at once; 0: as many as it likes"),
        Opt("traceLevel", &S::traceLevel, "how much to print: 0 epochs, 1 also progress lines"),
        Opt("numMBsToShowResult", &S::numMBsToShowResult, "a progress line every so many minibatches; 0: none"),
        Opt("firstMBsToShowResult", &S::firstMBsToShowResult, "a progress line for each of the first minibatches"),
        Opt("numMBsToCUDAProfile", &S::numMBsToCUDAProfile, "").WithoutEffect(),
        // ---- gradients and update
        Opt("gradientClippingWithTruncation", &S::gradientClippingWithTruncation,
            "clip each element of a gradient; false: scale a parameter's gradient to a norm"),
        Opt("clippingThresholdPerSample", &S::clippingThresholdPerSample,
            "limit of a gradient, times the columns of the minibatch", Range{0, c_infinity, true, false}),
        Opt("dropoutRate", &S::dropoutRate, "share of the outputs that dropout nodes set to 0, per epoch", c_belowOne),
        Opt("batchNormalizationTimeConstant", &S::batchNormalizationTimeConstant,
            "samples over which batch normalization averages its statistics, per epoch"),
        Opt("batchNormalizationBlendTimeConstant", &S::batchNormalizationBlendTimeConstant,
            "how much a minibatch's statistics count beside the running ones, per epoch"),
        Choice("gradUpdateType", &S::gradUpdateType,
               {{"none", GradientUpdateType::None},
                {"normal", GradientUpdateType::None},
                {"simple", GradientUpdateType::None},
                {"adagrad", GradientUpdateType::AdaGrad},
                {"rmsProp", GradientUpdateType::RmsProp},
                {"fsAdagrad", GradientUpdateType::FSAdaGrad},
                {"adam", GradientUpdateType::Adam}},
               "how a gradient changes a parameter; none: plain descent with momentum; adam: learningRatesPerMB is its "
               "alpha, the momentum its beta1"),
        Opt("useAdagrad", &S::useAdagrad, "old switch for gradUpdateType=adagrad"),
        Opt("gaussianNoiseInjectStd", &S::gaussianNoiseInjectStd, "deviation of noise added to parameters",
            c_notNegative),
        Opt("rms_wgt_inc", &S::rmsWgtInc, "rmsProp: growth of a step while the sign of the gradient stays",
            c_notNegative),
        Opt("rms_wgt_dec", &S::rmsWgtDec, "rmsProp: shrinking of a step when the sign changes", c_notNegative),
        Opt("rms_wgt_max", &S::rmsWgtMax, "rmsProp: largest step", c_notNegative),
        Opt("rms_wgt_min", &S::rmsWgtMin, "rmsProp: smallest step", c_notNegative),
        Opt("rms_gamma", &S::rmsGamma, "rmsProp: how long the variance remembers", Range{0, 1}),
        Opt("adam_beta2", &S::adamBeta2, "adam: how long the mean square of the gradient remembers, in minibatches",
            c_belowOne),
        Opt("adam_epsilon", &S::adamEpsilon, "adam: added to the root of the mean square", Range{0, c_infinity, true}),
        Opt("normWithAveMultiplier", &S::normWithAveMultiplier,
            "adagrad, rmsProp: divide by the mean of the multipliers, so that the rate keeps its meaning"),
        Opt("L2RegWeight", &S::l2RegWeight, "weight of the parameters' squares, per sample", c_notNegative),
        Opt("L1RegWeight", &S::l1RegWeight, "weight of the parameters' magnitudes, per sample", c_notNegative),
        Choice("adaptationRegType", &S::adaptationRegType,
               {{"none", AdaptationRegularization::None},
                {"KL", AdaptationRegularization::KL},
                {"KLReg", AdaptationRegularization::KL}},
               "keep an adapted network near the original one"),
        Opt("adaptationRegWeight", &S::adaptationRegWeight, "adaptation: share of the original's outputs in the labels",
            Range{0, 1}),
        // ---- checks
        Opt("gradientcheck", &S::gradientCheck, "compare gradients with differences of the criterion (double only)"),
        Opt("sigFigs", &S::sigFigs, "gradientcheck: digits that must agree"),
        Opt("earlyStopPatience", &S::earlyStopPatience,
            "end the training after so many epochs in which the criterion (of the validation set where there is one) "
            "did "
            "not fall; the final model is then the best one, which is kept as modelPath.best all the while; 0: never"),
        Opt("earlyStopMinImprovement", &S::earlyStopMinImprovement,
            "earlyStopPatience: how far the criterion must fall to count as progress", c_notNegative),
        Opt("saveEveryMinutes", &S::saveEveryMinutes,
            "save model and checkpoint within an epoch so often, as modelPath.N.atM (N epochs, M minibatches), and "
            "within trials of a search, as modelPath.N.trialT.atM; a training that is stopped goes on from there; 0: "
            "at the ends of epochs only",
            c_notNegative),
        Opt("UseAllDataForPreComputedNode", &S::useAllDataForPreComputedNode,
            "precompute means and deviations over all data; false: over one epoch"),
        Opt("unitTest", &S::unitTest, "").WithoutEffect(),
        Opt("validateAfterModelReloading", &S::validateAfterModelReloading, "").WithoutEffect(),
        // ---- sequence training, which is not there yet
        Opt("hSmoothingWeight", &S::hSmoothingWeight, "of sequence training: weight of the sequence criterion")
            .WithoutEffect(),
        Opt("frameDropThresh", &S::frameDropThresh, "of sequence training: frames below this posterior are dropped")
            .WithoutEffect(),
        Opt("doReferenceAlign", &S::doReferenceAlign, "of sequence training: align the reference anew").WithoutEffect(),
        Opt("seqGammarUsesMBR", &S::seqGammarUsesMBR, "of sequence training: state-level minimum Bayes risk")
            .WithoutEffect(),
        Opt("seqGammarAMF", &S::seqGammarAMF, "of sequence training: acoustic model factor").WithoutEffect(),
        Opt("seqGammarLMF", &S::seqGammarLMF, "of sequence training: language model factor").WithoutEffect(),
        Opt("seqGammarBMMIFactor", &S::seqGammarBMMIFactor, "of sequence training: boosting factor").WithoutEffect(),
        Opt("seqGammarWordPen", &S::seqGammarWordPen, "of sequence training: word penalty").WithoutEffect(),
        // ---- blocks
        Nested("AutoAdjust", &S::autoAdjust, "automatic control of the learning rate and the minibatch size"),
        Nested("ParallelTrain", &S::parallelTrain, "training by several workers"),
    });
}

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
    if (auto problem = find("learningRatesPerMB", options.learningRatesPerMB.values))
        return problem;
    return find("learningRatesPerSample", options.learningRatesPerSample.values);
}

std::optional<OptionProblem> FindContradiction(const SgdOptions& options, DataType precision)
{
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

} // namespace

std::optional<OptionProblem> FindProblem(const SgdOptions& options, DataType precision)
{
    return FindContradiction(options, precision);
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
        if (given.empty())
            continue;
        const bool isOne = given.size() == 1;
        unread.push_back({given[0], Concat(Join(given, ", "), isOne ? " has" : " have", " no effect: only ",
                                           readers.names, " reads ", isOne ? "it" : "them")});
    }
    return unread;
}

namespace
{

// Where the user wrote it, under whatever name.
SourcePos PlaceOf(const ConfigParameters& block, const std::string& parameter)
{
    std::vector<OptionInfo> infos = DescribeOptions<SgdOptions>();
    for (OptionInfo& info : DescribeOptions<AutoAdjustOptions>())
        infos.push_back(std::move(info));
    if (!block.Exists(parameter))
        for (const OptionInfo& info : infos)
            for (const std::string& alias : info.aliases)
                if (info.name == parameter && block.Exists(alias))
                    return block.WhereOf(alias);
    return block.WhereOf(parameter);
}

} // namespace

SgdOptions ReadSgdOptions(const ConfigParameters& sgd, DataType precision)
{
    auto options = ReadOptions<SgdOptions>(sgd);
    const ConfigParameters* autoAdjust = sgd.FindBlock("AutoAdjust");
    if (!autoAdjust)
        options.autoAdjust = ReadOptions<AutoAdjustOptions>(sgd);
    if (const auto problem = FindProblem(options, precision))
    {
        FailAt(PlaceOf(autoAdjust ? *autoAdjust : sgd, problem->parameter), ErrorKind::Config, "block '", sgd.Path(),
               "': ", problem->message);
    }
    return options;
}

} // namespace cntk
