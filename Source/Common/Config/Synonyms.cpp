// The table of words.
#include "Common/Config/Synonyms.h"

#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

namespace
{

std::string WithoutSeparators(std::string_view word)
{
    std::string text = ToLower(word);
    std::erase_if(text, [](char c) { return c == '_' || c == '-'; });
    return text;
}

} // namespace

std::span<const Synonym> Synonyms()
{
    static const std::vector<Synonym> table = {
        {{"epochs", "epoch", "numEpochs", "nEpochs"},
         {"maxEpochs", "epochSize", "earlyStopPatience"},
         "An epoch is one pass over the training data, or epochSize samples of it."},
        {{"batch", "batchSize", "minibatch", "mbSize"},
         {"minibatchSize"},
         "A minibatch is the number of samples between two updates of the parameters."},
        {{"lr", "learningRate", "learningRates", "rate", "stepSize"},
         {"learningRatesPerMB", "learningRatesPerSample", "AutoAdjust"},
         "learningRatesPerMB=0.1 with minibatchSize=32 is the rate 0.1 of programs that average the gradient over a "
         "minibatch. A list such as 0.1*10:0.01 is a schedule."},
        {{"optimizer", "optimiser", "optim", "solver"},
         {"gradUpdateType", "SGD", "momentumPerMB", "useNAG"},
         "The block SGD (also called optimizer) trains; gradUpdateType chooses the update rule."},
        {{"momentum"}, {"momentumPerMB", "momentumAsTimeConstant", "momentumPerSample"}, "Momentum of the updates."},
        {{"weightDecay", "l2", "regularization"}, {"L2RegWeight", "L1RegWeight", "dropoutRate"}, "Regularization."},
        {{"shuffle", "shuffling"},
         {"randomize"},
         "Readers shuffle the training data by default. Test and write keep the order of the data where they can."},
        {{"accuracy", "metric", "metrics"},
         {"evalCriterion", "ErrorPrediction", "test"},
         "The accuracy is 1 - ErrorPrediction, the share of wrong classes."},
        {{"confusion", "confusionMatrix", "precisionRecall", "recall", "f1", "f1Score"},
         {"confusion", "predictions", "test", "report"},
         "confusion=FILE in the block of action=test writes how often each class is taken for which, with precision, "
         "recall and F1; predictions=FILE has a line for each sample."},
        {{"normalize", "normalise", "normalization", "standardize", "scaling", "batchNorm"},
         {"applyMeanVarNorm", "PerDimMeanVarNormalization", "Scale", "BatchNormalization"},
         "Inputs are not normalised by themselves. cntk --new writes configs that do it."},
        {{"resume", "restart", "checkpoint", "checkpoints", "overwrite"},
         {"makeMode", "saveEveryMinutes", "keepModels", "keepCheckPointFiles"},
         "The same command resumes an interrupted training. makeMode=false trains anew."},
        {{"predict", "prediction", "predictions", "inference", "forward"},
         {"write", "outputNodeNames", "outputPath", "predictions"},
         "action=write computes outputs of a model, such as the probabilities of classes, for each record. New data "
         "need no labels."},
        {{"dropout"},
         {"dropoutRate", "addDropoutNodes", "Dropout"},
         "Nodes Dropout in the network, and their rate in SGD."},
        {{"embedding", "embeddings", "wordVectors"},
         {"lookupTableOrder", "LookupTable"},
         "A LookupTable node embeds words; lookupTableOrder=1 adds one to a standard network."},
        {{"configFile", "config"},
         {"command"},
         "cntk FILE.cntk or configFile=FILE.cntk runs a config; a+b reads file b after file a, and name=value after "
         "the files overrides values."},
        {{"action", "actions"},
         {"train", "test", "write", "cv", "edit", "dumpnode"},
         "action= in the block of a command says what the command does; without it, the command trains. cntk --help "
         "lists all actions."},
        {{"readerType", "writerType"},
         {"UCIFastReader", "ImageReader", "CNTKTextFormatReader", "LMSequenceReader", "HTKMLFReader"},
         "readerType= in a reader block names the library that reads the data. cntk --help lists all of them."},
        {{"loss", "objective", "costFunction"},
         {"trainingCriterion", "CrossEntropyWithSoftmax", "SquareError"},
         "The training minimises a criterion."},
        {{"validation", "valid", "dev", "validationData", "valReader", "validReader"},
         {"cvReader", "earlyStopPatience", "cv"},
         "The block cvReader describes the validation data, which are evaluated after each epoch."},
        {{"earlyStopping", "patience"}, {"earlyStopPatience", "earlyStopMinImprovement"}, "Ends a training early."},
        {{"gpu", "cuda", "device", "gpus"}, {"deviceId", "precision"}, "The machine that computes."},
        {{"seed", "randomState"}, {"trainingSeed", "randomSeedOffset"}, "Random numbers."},
        {{"hidden", "hiddenSize", "layers", "units"},
         {"layerSizes", "SimpleNetworkBuilder", "NDLNetworkBuilder"},
         "layerSizes=4:16:3 has 4 inputs, 16 hidden units and 3 outputs."},
        {{"activation", "nonlinearity", "activationFunction"},
         {"layerTypes", "RectifiedLinear", "Sigmoid", "Tanh"},
         "Non-linear functions of layers."},
        {{"gradientClipping", "clip", "clipping", "maxGradNorm"},
         {"clippingThresholdPerSample", "gradientClippingWithTruncation"},
         "Limits of gradients."},
        {{"scheduler", "lrDecay", "decay"},
         {"learningRatesPerMB", "AutoAdjust"},
         "A schedule is a list, 0.1*10:0.01; AutoAdjust lowers the rate when the training stands still."},
        {{"logFile", "output", "verbose"},
         {"stderr", "traceLevel", "numMBsToShowResult"},
         "What is printed, and where."},
        {{"threads", "workers", "numWorkers", "cpus"}, {"numCPUThreads", "ParallelTrain"}, "Cores and machines."},
        {{"saveModel", "model", "modelFile", "save"}, {"modelPath", "keepModels"}, "The file of the trained network."},
        {{"csv", "table", "delimiter", "separator"},
         {"UCIFastReader", "customDelimiter", "header"},
         "UCIFastReader reads tables; cntk --new TABLE writes a config for one."},
        {{"csvReader", "tableReader", "textReader"}, {"UCIFastReader"}, "UCIFastReader reads tables."},
    };
    return table;
}

const Synonym* FindSynonym(std::string_view word)
{
    const std::string wanted = WithoutSeparators(word);
    for (const Synonym& synonym : Synonyms())
        if (std::any_of(synonym.words.begin(), synonym.words.end(),
                        [&](const std::string& known) { return WithoutSeparators(known) == wanted; }))
            return &synonym;
    return nullptr;
}

} // namespace cntk
