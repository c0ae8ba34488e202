// The SGD block: defaults, forms, and the message for each contradiction.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "SGD/TrainingOptions.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

SgdOptions Read(const std::string& text, DataType precision = DataType::Float32)
{
    const auto root = ConfigParameters::Parse(text, "exp.cntk");
    const ConfigParameters* train = root->FindBlock("Train");
    return ReadSgdOptions((train ? *train : *root).RequireBlock("SGD"), precision);
}

std::string MessageOf(const std::string& text, DataType precision = DataType::Float32)
{
    return cntk::MessageOf(ErrorKind::Config, [&] { Read(text, precision); });
}

} // namespace

TEST(TrainingOptions, ARateInTheSingularIsOneAsTheBookHasIt)
{
    EXPECT_EQ(Read("SGD=[maxEpochs=1;learningRatePerSample=0.1]").learningRatesPerSample[0], 0.1f);
    EXPECT_EQ(Read("SGD=[maxEpochs=1;learningRatePerMB=0.2:0.3]").learningRatesPerMB[1], 0.3f);
}

TEST(TrainingOptions, DefaultsAreTheOriginals)
{
    const SgdOptions options = Read("SGD=[maxEpochs=3;learningRatesPerMB=0.5]");
    EXPECT_EQ(options.maxEpochs, 3u);
    EXPECT_EQ(options.minibatchSize[0], 256u);
    EXPECT_EQ(options.epochSize, 0u);
    EXPECT_EQ(options.EpochSamples(), c_wholeDataSet);
    EXPECT_EQ(options.numMBsToShowResult, 10u);
    EXPECT_TRUE(options.gradientClippingWithTruncation);
    EXPECT_FALSE(options.keepCheckPointFiles);
    EXPECT_EQ(options.dropoutRate[5], 0);
    EXPECT_TRUE(options.momentumPerMB.empty());
    EXPECT_EQ(options.autoAdjust.learnRateDecreaseFactor, 0.618);
    EXPECT_EQ(options.traceLevel, 0);
}

TEST(TrainingOptions, SchedulesNamesInAnyCaseAndOutwardLookUp)
{
    const SgdOptions options =
        Read("traceLevel=1\nTrain=[\nmodelPath=m.dnn\nminibatchSize=25\nSGD=[\n"
             "MAXEPOCHS=4\nlearningratespersample=0.1*2:0.01\nmomentumPerSample=0:0.99\ndropoutRate=0.5*3:0\n"
             "gradUpdateType=RmsProp\nAutoAdjust=[\nautoAdjustLR=AdjustAfterEpoch\nnumPrevLearnRate=7\n]\n]\n]");
    EXPECT_EQ(options.modelPath, "m.dnn");
    EXPECT_EQ(options.traceLevel, 1);
    EXPECT_EQ(options.minibatchSize[0], 25u);
    EXPECT_EQ(options.learningRatesPerSample.size(), 3u);
    EXPECT_EQ(options.learningRatesPerSample[9], 0.01f);
    EXPECT_EQ(options.momentumPerSample[1], 0.99f);
    EXPECT_EQ(options.dropoutRate[2], 0.5);
    EXPECT_EQ(options.dropoutRate[3], 0);
    EXPECT_EQ(options.gradUpdateType, GradientUpdateType::RmsProp);
    EXPECT_EQ(options.autoAdjust.autoAdjustLR, LearningRateSearch::AdjustAfterEpoch);
    EXPECT_EQ(options.autoAdjust.numPrevLearnRates, 7u);
}

TEST(TrainingOptions, AutoAdjustNamesMayStandInTheBlockItself)
{
    EXPECT_EQ(Read("SGD=[maxEpochs=1;autoAdjustLR=afterEpoch;learnRateDecreaseFactor=0.5]")
                  .autoAdjust.learnRateDecreaseFactor,
              0.5);
}

TEST(TrainingOptions, AutoAdjustMayStandAroundTheBlock)
{
    const std::string around = "AutoAdjust=[autoAdjustLR=afterEpoch;learnRateDecreaseFactor=0.5]\n";
    EXPECT_EQ(Read(around + "SGD=[maxEpochs=1;learnRateDecreaseFactor=0.25]").autoAdjust.learnRateDecreaseFactor, 0.5);
    EXPECT_EQ(
        Read(around + "SGD=[maxEpochs=1;AutoAdjust=[autoAdjustLR=afterEpoch]]").autoAdjust.learnRateDecreaseFactor,
        0.618);
}

TEST(TrainingOptions, Contradictions)
{
    EXPECT_NE(MessageOf("SGD=[learningRatesPerMB=0.1]").find("maxEpochs"), std::string::npos);
    EXPECT_EQ(MessageOf("SGD=[maxEpochs=1]"),
              "block 'exp.cntk:SGD': no learning rate is given; expected learningRatesPerMB or learningRatesPerSample "
              "(or an AutoAdjust block with autoAdjustLR)");
    EXPECT_EQ(
        MessageOf("SGD=[maxEpochs=1;learningRatesPerMB=0.1;learningRatesPerSample=0.1]"),
        "block 'exp.cntk:SGD': learningRatesPerMB and learningRatesPerSample are both given; expected one of them "
        "(the other one may be given as 'default', which means none)");
    EXPECT_EQ(MessageOf("SGD=[maxEpochs=1;learningRatesPerMB=0.1;momentumPerMB=0.9;momentumPerSample=0.99]"),
              "block 'exp.cntk:SGD': momentum is given in more than one form; expected one of momentumPerMB, "
              "momentumPerSample and momentumAsTimeConstant");
    EXPECT_EQ(MessageOf("SGD=[maxEpochs=2;learningRatesPerMB=0.1;epochSize=10;minibatchSize=5:20]"),
              "block 'exp.cntk:SGD': epochSize 10 is smaller than minibatchSize 20 of epoch 2; expected at least one "
              "minibatch an epoch, or 0 for the whole data set");
    EXPECT_EQ(MessageOf("SGD=[maxEpochs=1;learningRatesPerMB=0.1;gradientcheck=true]"),
              "block 'exp.cntk:SGD': gradientcheck needs precision=double, but precision is float");
    EXPECT_EQ(MessageOf("SGD=[maxEpochs=1;learningRatesPerMB=0.1;executionEngine=lazy]"),
              "block 'exp.cntk:SGD': unknown executionEngine 'lazy'; expected synchronous");
}

TEST(TrainingOptions, AMomentumThatSinglePrecisionMakesOneIsRefused)
{
    const std::string start = "SGD=[maxEpochs=2;learningRatesPerMB=0.1;";
    const std::string isOne = " 1 in single precision, with which nothing is learned; expected ";
    for (const std::string name : {"momentumPerMB", "momentumPerSample"})
        EXPECT_EQ(MessageOf(start + name + "=0.9:0.99999999]"),
                  "block 'exp.cntk:SGD': " + name + " is" + isOne + "a number below 0.9999999");
    for (const std::string samples : {"1e+09", "inf", "3.4e+07"})
        EXPECT_EQ(MessageOf(start + "momentumAsTimeConstant=0:" + samples + "]"),
                  "block 'exp.cntk:SGD': momentumAsTimeConstant " + samples + " makes a momentum of" + isOne +
                      "at most 3e7 samples");
    EXPECT_EQ(Read(start + "momentumAsTimeConstant=0:3e7]").momentumAsTimeConstant[1], 3e7);
    EXPECT_LT(Read(start + "momentumPerSample=0.9999999]").momentumPerSample[0], 1);
}

TEST(TrainingOptions, RmsPropsLargestStepIsNotBelowItsSmallest)
{
    const std::string start = "SGD=[maxEpochs=1;learningRatesPerMB=0.1;rms_wgt_min=0.5;rms_wgt_max=0.25";
    EXPECT_EQ(MessageOf(start + ";gradUpdateType=rmsProp]"),
              "block 'exp.cntk:SGD': rms_wgt_max is 0.25, below rms_wgt_min 0.5; expected at least that");
    EXPECT_EQ(MessageOf(start + "]"), "no error"); // nobody looks at them
    EXPECT_EQ(MessageOf("SGD=[maxEpochs=1;learningRatesPerMB=0.1;rms_wgt_min=2;rms_wgt_max=2;gradUpdateType=rmsProp]"),
              "no error");
}

std::string IgnoredIn(const std::string& rest)
{
    std::string names;
    for (const OptionProblem& problem : FindIgnored(Read("SGD=[maxEpochs=2;learningRatesPerMB=0.1;" + rest + "]")))
        names += problem.parameter + ": " + problem.message + "\n";
    return names;
}

TEST(TrainingOptions, NumbersOfOtherRulesAreNamed)
{
    const std::string others = "rms_wgt_inc=2;rms_wgt_dec=0.5;rms_wgt_max=5;rms_wgt_min=0.2;rms_gamma=0.9;";
    const std::string noRms = "rms_wgt_inc: rms_wgt_inc, rms_wgt_dec, rms_wgt_max, rms_wgt_min, rms_gamma have no "
                              "effect: only gradUpdateType=rmsProp reads them\n";
    for (const char* rule : {"none", "adam", "fsAdagrad", "adagrad"})
        EXPECT_EQ(IgnoredIn(others + "gradUpdateType=" + rule), noRms) << rule;
    EXPECT_EQ(IgnoredIn(others + "gradUpdateType=rmsProp"), "");
    EXPECT_EQ(IgnoredIn(others + "gradUpdateType=rmsProp;useAdagrad=true"),
              "gradUpdateType: gradUpdateType has no effect: useAdagrad=true makes it adagrad\n" + noRms);
    EXPECT_EQ(IgnoredIn("rms_gamma=0.9"), "rms_gamma: rms_gamma has no effect: only gradUpdateType=rmsProp reads it\n");
    EXPECT_EQ(IgnoredIn("adam_beta2=0.99;gradUpdateType=adagrad"),
              "adam_beta2: adam_beta2 has no effect: only gradUpdateType=adam reads it\n");
    EXPECT_EQ(IgnoredIn("adam_beta2=0.99;adam_epsilon=1e-4;gradUpdateType=adam"), "");
    for (const char* rule : {"none", "adam"})
        EXPECT_EQ(IgnoredIn(std::string("normWithAveMultiplier=false;gradUpdateType=") + rule),
                  "normWithAveMultiplier: normWithAveMultiplier has no effect: only gradUpdateType=adagrad or rmsProp "
                  "reads it\n")
            << rule;
    for (const char* rule : {"rmsProp", "adagrad", "fsAdagrad"}) // of the last one sparse gradients
        EXPECT_EQ(IgnoredIn(std::string("normWithAveMultiplier=false;gradUpdateType=") + rule), "") << rule;
    // Old configs list all of them as they are anyway.
    EXPECT_EQ(IgnoredIn("rms_wgt_inc=1.2;rms_wgt_dec=0.75;rms_wgt_max=10;rms_wgt_min=0.1;rms_gamma=0.99;"
                        "normWithAveMultiplier=true;gaussianNoiseInjectStd=0;gradientClippingWithTruncation=true;"
                        "adaptationRegWeight=0"),
              "");
}

TEST(TrainingOptions, MomentumThatARuleDoesNotHaveIsNamed)
{
    for (const std::string rule : {"adagrad", "rmsProp"})
    {
        const std::string chosen = "gradUpdateType=" + rule;
        const std::string end = " has no effect: " + chosen + " has no momentum\n";
        EXPECT_EQ(IgnoredIn("momentumPerMB=0.9:0.5;" + chosen), "momentumPerMB: momentumPerMB" + end);
        EXPECT_EQ(IgnoredIn("momentumPerSample=0.9;" + chosen), "momentumPerSample: momentumPerSample" + end);
        EXPECT_EQ(IgnoredIn("momentumAsTimeConstant=100;" + chosen),
                  "momentumAsTimeConstant: momentumAsTimeConstant" + end);
        EXPECT_EQ(IgnoredIn("momentumPerMB=0:0.9;" + chosen), "");
        EXPECT_EQ(IgnoredIn("momentumAsTimeConstant=0;" + chosen), "");
    }
    for (const std::string rule : {"none", "fsAdagrad", "adam"})
        EXPECT_EQ(IgnoredIn("momentumPerMB=0.5;gradUpdateType=" + rule), "") << rule;
}

TEST(TrainingOptions, WhatOthersLeaveWithoutEffectIsNamed)
{
    const auto ignored = IgnoredIn;
    const std::string nag = "useNAG: useNAG has no effect: only gradUpdateType=none has Nesterov's momentum\n";
    for (const char* rule : {"adam", "rmsProp", "fsAdagrad", "adagrad"})
        EXPECT_EQ(ignored(std::string("useNAG=true;gradUpdateType=") + rule), nag) << rule;
    EXPECT_EQ(ignored("useNAG=true;useAdagrad=true"), nag);
    EXPECT_EQ(ignored("useNAG=true"), "");
    EXPECT_EQ(ignored("gradUpdateType=rmsProp;useAdagrad=true"),
              "gradUpdateType: gradUpdateType has no effect: useAdagrad=true makes it adagrad\n");
    EXPECT_EQ(ignored("gradUpdateType=adagrad;useAdagrad=true"), "");
    EXPECT_EQ(ignored("useAdagrad=true"), "");
    EXPECT_EQ(ignored("earlyStopMinImprovement=0.1"),
              "earlyStopMinImprovement: earlyStopMinImprovement has no effect: earlyStopPatience is 0, which stops "
              "nothing\n");
    EXPECT_EQ(ignored("earlyStopMinImprovement=0.1;earlyStopPatience=1"), "");
    EXPECT_EQ(ignored("gradientClippingWithTruncation=false"),
              "gradientClippingWithTruncation: gradientClippingWithTruncation has no effect: "
              "clippingThresholdPerSample is not given, and no gradient is clipped\n");
    EXPECT_EQ(ignored("gradientClippingWithTruncation=false;clippingThresholdPerSample=1"), "");
    EXPECT_EQ(ignored("adaptationRegWeight=0.5"),
              "adaptationRegWeight: adaptationRegWeight has no effect: adaptationRegType is none; expected KL with "
              "it\n");
    EXPECT_EQ(ignored("adaptationRegWeight=0.5;adaptationRegType=KL"), "");
    EXPECT_EQ(ignored("AutoAdjust=[autoAdjustLR=searchBeforeEpoch]"), "");
    EXPECT_EQ(
        ignored("AutoAdjust=[autoAdjustLR=searchBeforeEpoch];learningRatesPerMB=0.1:0.2"),
        "autoAdjustLR: autoAdjustLR=searchBeforeEpoch has no effect: the list of learning rates says that of each "
        "epoch (2 for maxEpochs=2)\n");
}

TEST(TrainingOptions, KeysThatNoModeReadsAreNamed)
{
    const auto unread = [](const std::string& inSgd, const std::string& inAutoAdjust)
    {
        const auto root = ConfigParameters::Parse("SGD=[maxEpochs=2;learningRatesPerMB=0.1;" + inSgd + ";AutoAdjust=[" +
                                                  inAutoAdjust + "]]");
        const ConfigParameters& sgd = root->RequireBlock("SGD");
        std::string names;
        for (const OptionProblem& problem :
             FindUnread(ReadSgdOptions(sgd, DataType::Float32), sgd.RequireBlock("AutoAdjust")))
            names += problem.parameter + ": " + problem.message + "\n";
        return names;
    };
    const std::string adjusting = "reduceLearnRateIfImproveLessThan=0.1;continueReduce=true;learnRateDecreaseFactor="
                                  "0.5;increaseLearnRateIfImproveMoreThan=1#INF;learnRateIncreaseFactor=2;"
                                  "loadBestModel=true;";
    const std::string searching = "numPrevLearnRate=3;numBestSearchEpoch=2;learnRateSearchGoal=best;";
    const std::string sizing =
        "minibatchSizeTuningFrequency=2;minibatchSizeTuningMax=64;minibatchSearchCriterionErrorMargin=2;";
    const std::string both = "learnRateAdjustInterval=1;UseCVSetControlLRIfCVExists=true;";
    const std::string all = adjusting + searching + sizing + both + "numMiniBatch4LRSearch=3;";
    const std::string noAdjusting =
        "reduceLearnRateIfImproveLessThan: reduceLearnRateIfImproveLessThan, continueReduce, learnRateDecreaseFactor, "
        "increaseLearnRateIfImproveMoreThan, learnRateIncreaseFactor, loadBestModel have no effect: only "
        "autoAdjustLR=adjustAfterEpoch reads them\n";
    const std::string noSearching = "numPrevLearnRate: numPrevLearnRate, numBestSearchEpoch, learnRateSearchGoal have "
                                    "no effect: only autoAdjustLR=searchBeforeEpoch reads them\n";
    const std::string noSizing =
        "minibatchSizeTuningFrequency: minibatchSizeTuningFrequency, minibatchSizeTuningMax, "
        "minibatchSearchCriterionErrorMargin have no effect: only autoAdjustMinibatch=true reads them\n";
    const std::string noBoth = "learnRateAdjustInterval: learnRateAdjustInterval, UseCVSetControlLRIfCVExists have no "
                               "effect: only autoAdjustLR=adjustAfterEpoch or searchBeforeEpoch reads them\n";
    const std::string noTrials = "numMiniBatch4LRSearch: numMiniBatch4LRSearch has no effect: only "
                                 "autoAdjustLR=searchBeforeEpoch or autoAdjustMinibatch=true reads it\n";
    EXPECT_EQ(unread("", all), noAdjusting + noBoth + noSearching + noTrials + noSizing);
    EXPECT_EQ(unread("", all + "autoAdjustLR=after"), noSearching + noTrials + noSizing);
    EXPECT_EQ(unread("", all + "autoAdjustLR=before"), noAdjusting + noSizing);
    EXPECT_EQ(unread("", all + "autoAdjustMinibatch=true"), noAdjusting + noBoth + noSearching);
    EXPECT_EQ(unread("", all + "autoAdjustLR=after;autoAdjustMinibatch=true"), noSearching);
    const std::string byErrors = "UseEvalCriterionControlLR=true;";
    EXPECT_EQ(unread("", byErrors + "autoAdjustLR=before"),
              "UseEvalCriterionControlLR: UseEvalCriterionControlLR has no effect: only autoAdjustLR=adjustAfterEpoch, "
              "or a training with earlyStopPatience, reads it\n");
    EXPECT_EQ(unread("earlyStopPatience=2", byErrors), "");
    EXPECT_EQ(unread("", byErrors + "autoAdjustLR=after"), "");
    // Only what stands there: not what is inherited.
    EXPECT_EQ(unread("loadBestModel=true", ""), "");
}

TEST(TrainingOptions, InfiniteNumbersAreRefused)
{
    const std::string begin = "SGD=[\nmaxEpochs=2\n", rate = "learningRatesPerMB=0.1\n";
    const auto expect = [&](const std::string& text, const std::string& message, const std::string& place)
    {
        const std::string report = ReportOf(ErrorKind::Config, [&] { Read(begin + text + "\n]"); });
        EXPECT_NE(report.find("block 'exp.cntk:SGD': " + message), std::string::npos) << report;
        EXPECT_NE(report.find(place), std::string::npos) << report;
    };
    for (const char* name :
         {"gaussianNoiseInjectStd", "rms_wgt_inc", "rms_wgt_dec", "rms_wgt_max", "rms_wgt_min", "adam_epsilon",
          "L2RegWeight", "L1RegWeight", "earlyStopMinImprovement", "saveEveryMinutes",
          "reduceLearnRateIfImproveLessThan", "learnRateIncreaseFactor", "minibatchSearchCriterionErrorMargin"})
        for (const char* infinity : {"inf", "1#INF"})
        {
            expect(rate + name + "=" + infinity, Concat(name, " is inf; expected a finite number"), "exp.cntk:4:");
            if (std::string(name).starts_with("reduce"))
                expect(rate + "AutoAdjust=[\n" + name + "=" + infinity + "]",
                       Concat(name, " is inf; expected a finite number"), "exp.cntk:5:");
        }
    const std::string finite = " is inf; expected finite numbers, in single precision below 3.4e38";
    for (const char* name : {"learningRatesPerMB", "learningRatesPerSample"})
        for (const char* rates : {"0.1:inf", "1e39"})
            expect(Concat(name, "=", rates), name + finite, "exp.cntk:3:");
    expect("learningRatePerSample=inf", "learningRatesPerSample" + finite, "exp.cntk:3:");
    // No limit, never, and for ever.
    for (const char* legal : {"clippingThresholdPerSample=1#INF", "increaseLearnRateIfImproveMoreThan=1#INF",
                              "batchNormalizationTimeConstant=inf"})
        EXPECT_EQ(Read(begin + rate + legal + "]").maxEpochs, 2u) << legal;
}

TEST(TrainingOptions, EverySpellingOfAChoice)
{
    const auto rule = [](const std::string& word)
    { return Read("SGD=[maxEpochs=1;learningRatesPerMB=0.1;gradUpdateType=" + word + "]").gradUpdateType; };
    for (const char* word : {"None", "normal", "simple"})
        EXPECT_EQ(rule(word), GradientUpdateType::None) << word;
    for (const char* word : {"AdaGrad", "adagrad", "ADAGRAD"})
        EXPECT_EQ(rule(word), GradientUpdateType::AdaGrad) << word;
    for (const char* word : {"RmsProp", "rmsprop"})
        EXPECT_EQ(rule(word), GradientUpdateType::RmsProp) << word;
    for (const char* word : {"FSAdaGrad", "fsadagrad"})
        EXPECT_EQ(rule(word), GradientUpdateType::FSAdaGrad) << word;
    EXPECT_EQ(rule("Adam"), GradientUpdateType::Adam);

    const auto control = [](const std::string& word)
    {
        return Read("SGD=[maxEpochs=1;learningRatesPerMB=0.1;autoAdjust=[autoAdjustLR=" + word + "]]")
            .autoAdjust.autoAdjustLR;
    };
    for (const char* word : {"None", "none", "false"})
        EXPECT_EQ(control(word), LearningRateSearch::None) << word;
    for (const char* word : {"SearchBeforeEpoch", "searchbeforeepoch", "beforeEpoch", "before"})
        EXPECT_EQ(control(word), LearningRateSearch::SearchBeforeEpoch) << word;
    for (const char* word : {"AdjustAfterEpoch", "adjustafterepoch", "afterEpoch", "after"})
        EXPECT_EQ(control(word), LearningRateSearch::AdjustAfterEpoch) << word;

    for (const char* word : {"KL", "klReg"})
        EXPECT_EQ(Read(std::string("SGD=[maxEpochs=1;learningRatesPerMB=0.1;adaptationRegType=") + word + "]")
                      .adaptationRegType,
                  AdaptationRegularization::KL)
            << word;
    EXPECT_TRUE(std::isinf(
        Read("SGD=[maxEpochs=1;learningRatesPerMB=0.1;clippingThresholdPerSample=1#INF]").clippingThresholdPerSample));
}

TEST(TrainingOptions, ParallelTrainingIsRead)
{
    const std::string start = "SGD=[maxEpochs=1;learningRatesPerMB=0.1;ParallelTrain=[";
    const SgdOptions options =
        Read(start +
             "parallelizationMethod=DataParallelSGD;parallelizationStartEpoch=2;DataParallelSGD=["
             "parallelizationStartEpoch=3;gradientBits=1;useZeroThresholdFor1BitQuantization=false];ModelAveragingSGD=["
             "syncFrequencyInFrames=1000]]]");
    EXPECT_EQ(options.parallelTrain.parallelizationMethod, ParallelizationMethod::DataParallelSGD);
    EXPECT_EQ(options.parallelTrain.parallelizationStartEpoch, 2u);
    EXPECT_EQ(options.parallelTrain.dataParallel.parallelizationStartEpoch, 3u);
    EXPECT_EQ(options.parallelTrain.dataParallel.gradientBits, 1u);
    EXPECT_FALSE(options.parallelTrain.dataParallel.useZeroThresholdFor1BitQuantization);
    EXPECT_EQ(options.parallelTrain.modelAveraging.syncFrequencyInFrames, 1000u);
    EXPECT_EQ(MessageOf(start + "DataParallelSGD=[gradientBits=33]]]"),
              "block 'exp.cntk:SGD': gradientBits is 33; expected 1 to 32, the bits of a float");
    EXPECT_EQ(MessageOf(start + "DataParallelSGD=[gradientBits=64]]]", DataType::Float64), "no error");
    EXPECT_NE(MessageOf(start + "DataParallelSGD=[gradientBits=0]]]"), "no error");
    const BlockMomentumOptions blocks =
        Read(start + "BlockMomentumSGD=[syncPeriod=1000;blockMomentumAsTimeConstantPerWorker=500;"
                     "blockLearningRate=0.5;useNesterovMomentum=false;resetSGDMomentum=false]]]")
            .parallelTrain.blockMomentum;
    EXPECT_EQ(blocks.syncPeriod, 1000u);
    EXPECT_EQ(blocks.blockMomentumAsTimeConstantPerWorker, 500);
    EXPECT_EQ(blocks.blockLearningRate, 0.5);
    EXPECT_FALSE(blocks.useNesterovMomentum || blocks.resetSGDMomentum);
    EXPECT_EQ(
        MessageOf(start + "BlockMomentumSGD=[blockSize=9;blockSizePerWorker=3]]]"),
        "block 'exp.cntk:SGD': syncPeriod and syncPeriodPerWorker are both given; expected one of them, in samples "
        "of all workers or of each");
    EXPECT_NE(MessageOf(start + "BlockMomentumSGD=[blockMomentumAsTimeConstant=inf]]]"), "no error");
}

TEST(TrainingOptions, RangesAreChecked)
{
    for (const char* option :
         {"momentumPerMB=1", "momentumPerSample=-0.1", "dropoutRate=1", "minibatchSize=0", "L2RegWeight=-1",
          "gradUpdateType=adamant", "adam_beta2=1", "adam_epsilon=0", "saveEveryMinutes=-1",
          "AutoAdjust=[learnRateIncreaseFactor=0.5]", "AutoAdjust=[learnRateDecreaseFactor=1.5]"})
        EXPECT_NE(MessageOf(std::string("SGD=[maxEpochs=1;learningRatesPerMB=0.1;") + option + "]"), "no error")
            << option;
}

TEST(TrainingOptions, EveryRowIsDocumented)
{
    for (const OptionInfo& info : DescribeOptions<SgdOptions>())
        EXPECT_FALSE(info.doc.empty()) << info.name;
    for (const OptionInfo& info : DescribeOptions<AutoAdjustOptions>())
        EXPECT_FALSE(info.doc.empty()) << info.name;
}

} // namespace cntk
