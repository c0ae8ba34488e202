// The SGD block (book 3.3.1) as plain data: one member and one row of a table for each parameter. The learner itself
// never sees a config object.
#pragma once

#include "Common/Config/Options.h"
#include "Common/ReaderInterface.h"
#include "Math/DataType.h"
#include "SGD/Files/KeptModels.h"
#include "SGD/NodeTracing.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

enum class GradientUpdateType
{
    None, // plain, with momentum
    AdaGrad,
    RmsProp,
    FSAdaGrad,
    Adam
};

enum class LearningRateSearch
{
    None,
    SearchBeforeEpoch,
    AdjustAfterEpoch
};

// Goal of searchBeforeEpoch in epochs beyond numBestSearchEpoch.
enum class RateSearchGoal
{
    Sufficient,  // the largest rate that is good enough for a whole epoch
    Improvement, // the largest rate that is better than rate 0
    Best         // the best rate over the trial run
};

enum class AdaptationRegularization
{
    None,
    KL
};

enum class ParallelizationMethod
{
    None,
    DataParallelSGD,
    ModelAveragingSGD,
    BlockMomentumSGD
};

// Returns the name that users write.
const char* NameOf(ParallelizationMethod method);

// AutoAdjust=[...]
struct AutoAdjustOptions
{
    LearningRateSearch autoAdjustLR = LearningRateSearch::None;
    double reduceLearnRateIfImproveLessThan = 0;
    bool continueReduce = false;
    size_t learnRateAdjustInterval = 1;
    double learnRateDecreaseFactor = 0.618;
    double increaseLearnRateIfImproveMoreThan = std::numeric_limits<double>::infinity();
    double learnRateIncreaseFactor = 1.382;
    bool loadBestModel = true;
    bool useCVSetControlLRIfCVExists = true;
    bool useEvalCriterionControlLR = false;
    Schedule<size_t> numMiniBatch4LRSearch = 500;
    size_t numPrevLearnRates = 5;
    size_t numBestSearchEpoch = 1;
    RateSearchGoal learnRateSearchGoal = RateSearchGoal::Sufficient;
    bool autoAdjustMinibatch = false;
    size_t minibatchSizeTuningFrequency = 1;
    size_t minibatchSizeTuningMax = 1048576;
    double minibatchSearchCriterionErrorMargin = 1;

    static OptionTable<AutoAdjustOptions> Options();
};

// ParallelTrain=[DataParallelSGD=[...]]
struct DataParallelOptions
{
    size_t parallelizationStartEpoch = 1;
    std::optional<size_t> gradientBits;
    bool useZeroThresholdFor1BitQuantization = true;
    bool useBufferedAsyncGradientAggregation = false;

    static OptionTable<DataParallelOptions> Options();
};

// ParallelTrain=[ModelAveragingSGD=[...]]
struct ModelAveragingOptions
{
    size_t syncFrequencyInFrames = 40000;

    static OptionTable<ModelAveragingOptions> Options();
};

// ParallelTrain=[BlockMomentumSGD=[...]]
struct BlockMomentumOptions
{
    std::optional<size_t> syncPeriod, syncPeriodPerWorker;
    std::optional<double> blockMomentumAsTimeConstant, blockMomentumAsTimeConstantPerWorker;
    double blockLearningRate = 1;
    bool useNesterovMomentum = true;
    bool resetSGDMomentum = true;

    static OptionTable<BlockMomentumOptions> Options();
};

// ParallelTrain=[...]
struct ParallelTrainOptions
{
    ParallelizationMethod parallelizationMethod = ParallelizationMethod::None;
    size_t parallelizationStartEpoch = 1; // from 1, as in the config
    bool distributedMBReading = false;
    size_t syncPerfStats = 0;
    DataParallelOptions dataParallel;
    ModelAveragingOptions modelAveraging;
    BlockMomentumOptions blockMomentum;

    static OptionTable<ParallelTrainOptions> Options();
};

// Counted from 0.
size_t FirstSharedEpoch(const ParallelTrainOptions& options);
struct SgdOptions;
// Returns the bits of each gradient value that workers exchange.
size_t GradientBits(const SgdOptions& options, DataType type);

// SGD=[...]. Rates and momenta are single precision, as in CNTK v1.1; they are widened when used.
struct SgdOptions : NodesToTrace
{
    std::string modelPath;
    bool keepCheckPointFiles = false;
    KeptModels keepModels;
    std::string trainCriterionNodeName;
    std::string evalCriterionNodeName;

    Schedule<float> learningRatesPerMB;
    Schedule<float> learningRatesPerSample;
    std::string executionEngine = "synchronous";
    Schedule<size_t> minibatchSize = 256;
    bool truncated = false;
    size_t maxSamplesInRAM = std::numeric_limits<size_t>::max();
    size_t numSubminibatches = 1;
    size_t epochSize = 0; // 0: the whole data set
    size_t maxEpochs = 0;

    Schedule<float> momentumPerMB; // 0.9 if none of the three is given
    Schedule<float> momentumPerSample;
    Schedule<float> momentumAsTimeConstant;
    bool useNAG = false;

    size_t maxTempMemSizeInSamplesForCNN = 0;
    int traceLevel = 0;
    size_t numMBsToShowResult = 10;
    size_t firstMBsToShowResult = 0;
    size_t numMBsToCUDAProfile = 0;

    bool gradientClippingWithTruncation = true;
    double clippingThresholdPerSample = std::numeric_limits<double>::infinity();
    Schedule<double> dropoutRate = 0.0;
    Schedule<double> batchNormalizationTimeConstant = 0.0;
    Schedule<double> batchNormalizationBlendTimeConstant = 0.0;

    GradientUpdateType gradUpdateType = GradientUpdateType::None;
    bool useAdagrad = false; // old switch for gradUpdateType=adagrad
    double gaussianNoiseInjectStd = 0;
    double rmsWgtInc = 1.2;
    double rmsWgtDec = 0.75;
    double rmsWgtMax = 10;
    double rmsWgtMin = 0.1;
    double rmsGamma = 0.99;
    double adamBeta2 = 0.999;
    double adamEpsilon = 1e-8;
    bool normWithAveMultiplier = true;
    double l2RegWeight = 0;
    double l1RegWeight = 0;

    AdaptationRegularization adaptationRegType = AdaptationRegularization::None;
    double adaptationRegWeight = 0;
    bool gradientCheck = false;
    size_t sigFigs = 6;
    size_t earlyStopPatience = 0;
    double earlyStopMinImprovement = 0;
    double saveEveryMinutes = 0;
    bool useAllDataForPreComputedNode = true;
    bool unitTest = false;
    bool validateAfterModelReloading = true;

    double hSmoothingWeight = 0.95;
    double frameDropThresh = 1e-10;
    bool doReferenceAlign = false;
    bool seqGammarUsesMBR = false;
    double seqGammarAMF = 14;
    double seqGammarLMF = 14;
    double seqGammarBMMIFactor = 0;
    double seqGammarWordPen = 0;

    AutoAdjustOptions autoAdjust;
    ParallelTrainOptions parallelTrain;

    static OptionTable<SgdOptions> Options();

    // Returns epochSize in the form that readers expect.
    size_t EpochSamples() const { return epochSize == 0 ? c_wholeDataSet : epochSize; }
};

// Reads the SGD block with its AutoAdjust and ParallelTrain blocks (AutoAdjust's names are accepted in SGD itself too),
// and checks what the rows cannot check alone. modelPath may stand in the block or around it.
SgdOptions ReadSgdOptions(const ConfigParameters& sgd, DataType precision);

// A contradiction between parameters, or a value that this program cannot serve.
struct OptionProblem
{
    std::string parameter; // for the position in the message
    std::string message;
};
// Checks rules between several parameters. ReadSgdOptions calls it and points at the place; Train calls it for options
// that were filled by hand.
std::optional<OptionProblem> FindProblem(const SgdOptions& options, DataType precision);
// Returns parameters that have no effect because of others.
std::vector<OptionProblem> FindIgnored(const SgdOptions& options);
// Does the same for parameters of the AutoAdjust block that no active mode reads.
std::vector<OptionProblem> FindUnread(const SgdOptions& options, const ConfigParameters& autoAdjust);

} // namespace cntk
