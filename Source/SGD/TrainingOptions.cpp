// The parameters of the SGD block, and the rules that hold between them.
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
constexpr Range c_positive{.min = 0, .minOpen = true};
constexpr Range c_belowOne{.min = 0, .max = 1, .maxOpen = true};

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
               "automatic control of the learning rate, for epochs that the list of rates does not cover. "
               "searchBeforeEpoch needs momentumPerMB=0: its trials begin with the momentum of the epoch before, as in "
               "CNTK v1.1, and may then reject every rate, which ends the training"),
        Opt("reduceLearnRateIfImproveLessThan", &S::reduceLearnRateIfImproveLessThan,
            "adjustAfterEpoch: reduce the rate when the criterion improves by no more than this fraction"),
        Opt("continueReduce", &S::continueReduce,
            "adjustAfterEpoch: once reduced, reduce after every epoch; stop at the second insufficient improvement"),
        Opt("learnRateAdjustInterval", &S::learnRateAdjustInterval, "adjustAfterEpoch: look every so many epochs",
            c_atLeastOne),
        Opt("learnRateDecreaseFactor", &S::learnRateDecreaseFactor, "adjustAfterEpoch: the rate is multiplied by this",
            Range{.min = 0, .max = 1, .minOpen = true}),
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
               "searchBeforeEpoch: the rate that the search chooses after these epochs. sufficient: the largest that "
               "promises "
               "to improve on the last epoch's criterion; improvement: the largest that does better than rate 0; best: "
               "the "
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

const char* NameOf(ParallelizationMethod method)
{
    switch (method)
    {
    case ParallelizationMethod::DataParallelSGD:
        return "DataParallelSGD";
    case ParallelizationMethod::ModelAveragingSGD:
        return "ModelAveragingSGD";
    case ParallelizationMethod::BlockMomentumSGD:
        return "BlockMomentumSGD";
    case ParallelizationMethod::None:
        break;
    }
    return "none";
}

OptionTable<ParallelTrainOptions> ParallelTrainOptions::Options()
{
    using S = ParallelTrainOptions;
    return {
        Choice("parallelizationMethod", &S::parallelizationMethod,
               {{NameOf(ParallelizationMethod::None), ParallelizationMethod::None},
                {NameOf(ParallelizationMethod::DataParallelSGD), ParallelizationMethod::DataParallelSGD},
                {NameOf(ParallelizationMethod::ModelAveragingSGD), ParallelizationMethod::ModelAveragingSGD},
                {NameOf(ParallelizationMethod::BlockMomentumSGD), ParallelizationMethod::BlockMomentumSGD}},
               "how several workers share the training; without workers it counts as none"),
        Opt("parallelizationStartEpoch", &S::parallelizationStartEpoch, "first epoch (from 1) that is shared",
            c_atLeastOne),
        Opt("distributedMBReading", &S::distributedMBReading, "each worker reads its share of the data only"),
        Opt("syncPerfStats", &S::syncPerfStats,
            "DataParallelSGD: print every so many minibatches how long the exchange took; 0: never (traceLevel=1 "
            "prints it "
            "after each epoch)"),
        Nested("DataParallelSGD", &S::dataParallel, "exchange of gradients").Here(),
        Nested("ModelAveragingSGD", &S::modelAveraging, "averages of models").Here(),
        Nested("BlockMomentumSGD", &S::blockMomentum, "steps of all workers, smoothed over blocks of data").Here(),
    };
}

size_t FirstSharedEpoch(const ParallelTrainOptions& options)
{
    return std::max(options.parallelizationStartEpoch, options.dataParallel.parallelizationStartEpoch) - 1;
}

size_t GradientBits(const SgdOptions& options, DataType type)
{
    return options.parallelTrain.dataParallel.gradientBits.value_or(8 * SizeOf(type));
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

OptionTable<BlockMomentumOptions> BlockMomentumOptions::Options()
{
    using S = BlockMomentumOptions;
    return {
        Opt("syncPeriod", &S::syncPeriod,
            "samples of all workers together between two exchanges (a block); not given: 120000", c_atLeastOne,
            {"blockSize"}),
        Opt("syncPeriodPerWorker", &S::syncPeriodPerWorker, "the same, samples of each worker", c_atLeastOne,
            {"blockSizePerWorker"}),
        Opt("blockMomentumAsTimeConstant", &S::blockMomentumAsTimeConstant,
            "samples of all workers together after which a block's step counts 1/e; 0: no block momentum; not given: "
            "the "
            "block momentum is 1 - 1/workers",
            c_notNegative),
        Opt("blockMomentumAsTimeConstantPerWorker", &S::blockMomentumAsTimeConstantPerWorker,
            "the same, samples of each worker", c_notNegative),
        Opt("blockLearningRate", &S::blockLearningRate, "factor of the steps that all workers have made in a block",
            c_notNegative),
        Opt("useNesterovMomentum", &S::useNesterovMomentum, "start each block where the block momentum leads"),
        Opt("resetSGDMomentum", &S::resetSGDMomentum,
            "workers forget their smoothed gradients after each block; false: they continue with the mean"),
    };
}

namespace
{

OptionTable<SgdOptions> ScheduleRows()
{
    using S = SgdOptions;
    return {
        // ---- files and nodes
        Opt("modelPath", &S::modelPath, "final model; modelPath.N after epoch N; may stand around the block"),
        Opt("keepCheckPointFiles", &S::keepCheckPointFiles, "keep the .ckp files of earlier epochs"),
        Opt("keepModels", &S::keepModels,
            "models of finished epochs that stay. all; last or last:N: the N newest; every:N: each Nth epoch; best: "
            "the "
            "model with the lowest criterion so far (of the validation set where there is one), as modelPath.best. "
            "last:3:best joins two of them. The start model and the final one always stay"),
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
    };
}

OptionTable<SgdOptions> UpdateRows()
{
    using S = SgdOptions;
    return {
        // ---- gradients and update
        Opt("gradientClippingWithTruncation", &S::gradientClippingWithTruncation,
            "clip each element of a gradient; false: scale a parameter's gradient to a norm"),
        Opt("clippingThresholdPerSample", &S::clippingThresholdPerSample,
            "limit of a gradient, times the columns of the minibatch", c_positive),
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
        Opt("adam_epsilon", &S::adamEpsilon, "adam: added to the root of the mean square", c_positive),
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
    };
}

OptionTable<SgdOptions> CheckRows()
{
    using S = SgdOptions;
    return {
        // ---- checks
        Opt("gradientcheck", &S::gradientCheck, "compare gradients with differences of the criterion (double only)"),
        Opt("sigFigs", &S::sigFigs, "gradientcheck: digits that must agree"),
        Opt("earlyStopPatience", &S::earlyStopPatience,
            "end the training after so many epochs in which the criterion (of the validation set where there is one) "
            "did not fall; 0: never. The final model is then the best one, which is saved as modelPath.best meanwhile"),
        Opt("earlyStopMinImprovement", &S::earlyStopMinImprovement,
            "earlyStopPatience: how far the criterion must fall to count as progress", c_notNegative),
        Opt("saveEveryMinutes", &S::saveEveryMinutes,
            "save model and checkpoint within an epoch so often, as modelPath.N.atM (N epochs, M minibatches); a "
            "stopped training resumes there; 0: at the ends of epochs only",
            c_notNegative),
        Opt("UseAllDataForPreComputedNode", &S::useAllDataForPreComputedNode,
            "precompute means and deviations over all data; false: over one epoch"),
        Opt("unitTest", &S::unitTest, "").WithoutEffect(),
        Opt("validateAfterModelReloading", &S::validateAfterModelReloading, "").WithoutEffect(),
        // ---- sequence training: the criterion SequenceWithSoftmax
        Opt("hSmoothingWeight", &S::hSmoothingWeight,
            "of SequenceWithSoftmax: weight of the lattices in the gradient, beside the cross entropy of the frames",
            Range{0, 1}),
        Opt("frameDropThresh", &S::frameDropThresh,
            "of SequenceWithSoftmax: frames whose state is less probable than this in the lattice are left out; not "
            "with seqGammarUsesMBR",
            Range{0, 1}),
        Opt("doReferenceAlign", &S::doReferenceAlign,
            "of SequenceWithSoftmax: align the reference anew; only false is supported: the labels are the reference"),
        Opt("seqGammarUsesMBR", &S::seqGammarUsesMBR,
            "of SequenceWithSoftmax: false: maximum mutual information; true: minimum Bayes risk of states"),
        Opt("seqGammarAMF", &S::seqGammarAMF,
            "of SequenceWithSoftmax: scores of lattices are divided by it, those of the network as well as of the "
            "language model (1 / the acoustic scale)",
            c_positive),
        Opt("seqGammarLMF", &S::seqGammarLMF, "of SequenceWithSoftmax: language model scores are multiplied by it"),
        Opt("seqGammarBMMIFactor", &S::seqGammarBMMIFactor,
            "of SequenceWithSoftmax: boosted MMI: paths lose this much for each frame that agrees with the reference"),
        Opt("seqGammarWordPen", &S::seqGammarWordPen,
            "of SequenceWithSoftmax: added to the score of each word of a lattice, before seqGammarAMF divides it"),
        // ---- blocks
        Nested("AutoAdjust", &S::autoAdjust, "automatic control of the learning rate and the minibatch size"),
        Nested("ParallelTrain", &S::parallelTrain, "training by several workers"),
    };
}

} // namespace

OptionTable<SgdOptions> SgdOptions::Options()
{
    OptionTable<SgdOptions> table = ScheduleRows();
    for (const OptionTable<SgdOptions>& rows : {UpdateRows(), CheckRows()})
        table.insert(table.end(), rows.begin(), rows.end());
    return WithTraceOptions(std::move(table));
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

namespace
{

// Finds a momentum that is 1 in single precision: no gradient would ever count.
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

// Finds infinite values, which the ranges of rows accept. Does not report those with a meaning: no clipping, no
// increase of the rate, statistics of batch normalization that never fade.
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

// Finds a number that is given both for each worker and for all workers.
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

// Returns "a, b have no effect: only <readers> reads them".
OptionProblem Unread(const std::vector<std::string>& names, const std::string& readers)
{
    const bool isOne = names.size() == 1;
    return {names.front(), Concat(Join(names, ", "), isOne ? " has" : " have", " no effect: only ", readers, " reads ",
                                  isOne ? "it" : "them")};
}

// Finds numbers of other update rules than the chosen one. Ignores defaults, which old configs list.
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
