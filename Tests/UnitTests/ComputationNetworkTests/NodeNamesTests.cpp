// The names of node types that model files and scripts of the original have, and the types that they are here.
#include "ComputationNetwork/NodeRegistry.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace cntk::Testing
{

namespace
{

// All that the original stores but the type of lattices.
TEST(NodeNamesTest, EveryStoredTypeLoads)
{
    const std::vector<std::string> stored = {"Abs",
                                             "AveragePooling",
                                             "BatchNormalization",
                                             "ClassBasedCrossEntropyWithSoftmax",
                                             "Convolution",
                                             "CosDistance",
                                             "CosDistanceWithNegativeSamples",
                                             "Cosine",
                                             "CRF",
                                             "CrossEntropy",
                                             "CrossEntropyWithSoftmax",
                                             "Diagonal",
                                             "DiagTimes",
                                             "Dropout",
                                             "DummyCriterion",
                                             "DynamicAxis",
                                             "ElementTimes",
                                             "EnvironmentInput",
                                             "ErrorPrediction",
                                             "Exp",
                                             "FutureValue",
                                             "GatherPacked",
                                             "GMMLogLikelihood",
                                             "Hardmax",
                                             "InputValue",
                                             "InvStdDev",
                                             "KhatriRaoProduct",
                                             "LearnableParameter",
                                             "LegacyReshape",
                                             "Log",
                                             "Logistic",
                                             "LogSoftmax",
                                             "LookupTable",
                                             "LSTM",
                                             "MatrixL1Reg",
                                             "MatrixL2Reg",
                                             "MaxPooling",
                                             "Mean",
                                             "Minus",
                                             "NCEBasedCrossEntropyWithSoftmax",
                                             "Negate",
                                             "PackedIndex",
                                             "Pass",
                                             "PastValue",
                                             "PerDimMeanVarDeNormalization",
                                             "PerDimMeanVarNormalization",
                                             "Plus",
                                             "Pooling",
                                             "Reciprocal",
                                             "ReconcileDynamicAxis",
                                             "RectifiedLinear",
                                             "ReduceElements",
                                             "Reshape",
                                             "RowRepeat",
                                             "RowStack",
                                             "ScatterPacked",
                                             "SequenceDecoderNode",
                                             "Sigmoid",
                                             "Sin",
                                             "Slice",
                                             "Softmax",
                                             "SparseInputValue",
                                             "Sqrt",
                                             "SquareError",
                                             "StrideTimes",
                                             "SumColumnElements",
                                             "SumElements",
                                             "Tanh",
                                             "TimeReverse",
                                             "Times",
                                             "Trace",
                                             "TransposeDimensions",
                                             "TransposeTimes",
                                             "Where"};
    for (const std::string& name : stored)
    {
        const NodeType* type = NodeRegistry::Standard().Find(name);
        ASSERT_NE(type, nullptr) << name;
        EXPECT_EQ(type->name, name);
    }
}

TEST(NodeNamesTest, OldAndShortNamesAreTheTypesOfToday)
{
    const std::vector<std::pair<std::string, std::string>> names = {
        {"CBCEWithSM", "ClassBasedCrossEntropyWithSoftmax"},
        {"CEWithSM", "CrossEntropyWithSoftmax"},
        {"ClassificationError", "ErrorPrediction"},
        {"ColumnElementTimes", "ElementTimes"},
        {"ColumnwiseCrossProduct", "KhatriRaoProduct"},
        {"Convolve", "Convolution"},
        {"Cos", "Cosine"},
        {"CosDist", "CosDistance"},
        {"CosWithNegSamples", "CosDistanceWithNegativeSamples"},
        {"Delay", "PastValue"},
        {"GMMLL", "GMMLogLikelihood"},
        {"Input", "InputValue"},
        {"L1Reg", "MatrixL1Reg"},
        {"L2Reg", "MatrixL2Reg"},
        {"Parallel", "RowStack"},
        {"Parameter", "LearnableParameter"},
        {"PerDimMeanVarDeNormalizationNode", "PerDimMeanVarDeNormalization"},
        {"PerDimMeanVarNormalizationNode", "PerDimMeanVarNormalization"},
        {"PerDimMVDeNorm", "PerDimMeanVarDeNormalization"},
        {"PerDimMVNorm", "PerDimMeanVarNormalization"},
        {"ReconcileMBLayout", "ReconcileDynamicAxis"},
        {"ReLU", "RectifiedLinear"},
        {"RowElementTimes", "ElementTimes"},
        {"RowSlice", "Slice"},
        {"Scale", "ElementTimes"},
        {"SE", "SquareError"},
        {"SparseInput", "SparseInputValue"},
        {"SparseLearnableParameter", "LearnableParameter"},
        {"SparseParameter", "LearnableParameter"},
        {"Transpose", "TransposeDimensions"},
    };
    for (const auto& [name, typeName] : names)
    {
        const NodeType* type = NodeRegistry::Standard().Find(name);
        ASSERT_NE(type, nullptr) << name;
        EXPECT_EQ(type->name, typeName) << name;
    }
}

} // namespace

} // namespace cntk::Testing
