// The rows of the SGD block. TrainingOptionChecks.cpp has what must hold between them.
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
               "automatic control of the learning rate, for epochs that the list of rates does not cover; "
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
        // ---- sequence training: the criterion SequenceWithSoftmax
        Opt("hSmoothingWeight", &S::hSmoothingWeight,
            "of SequenceWithSoftmax: weight of the lattices in the gradient, beside the cross entropy of the frames",
            Range{0, 1}),
        Opt("frameDropThresh", &S::frameDropThresh,
            "of SequenceWithSoftmax: frames whose state is less probable than this in the lattice are left out; not "
            "with seqGammarUsesMBR",
            Range{0, 1}),
        Opt("doReferenceAlign", &S::doReferenceAlign,
            "of SequenceWithSoftmax: align the reference anew; only false is there: the labels are the reference"),
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
    });
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
