// The functions of the language: each of the original's names, in any case, and the type of node that it makes.
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Text.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(NdlFunctionsTest, EveryFunctionIsCallableUnderAllItsNames)
{
    // name, other name, type where it differs from the name
    const struct
    {
        const char* name;
        const char* alias;
        const char* type;
    } functions[] = {
        {"InputValue", "Input", ""},
        {"SparseInputValue", "SparseInput", ""},
        {"ImageInput", "Image", "InputValue"},
        {"SparseImageInput", "SparseImage", "SparseInputValue"},
        {"LearnableParameter", "Parameter", ""},
        {"SparseLearnableParameter", "SparseParameter", "LearnableParameter"},
        {"ImageParameter", "", "LearnableParameter"},
        {"Constant", "Const", "LearnableParameter"},
        {"RectifiedLinear", "ReLU", ""},
        {"Sigmoid", "", ""},
        {"Tanh", "", ""},
        {"Log", "", ""},
        {"Exp", "", ""},
        {"Cosine", "Cos", ""},
        {"Abs", "", ""},
        {"Sqrt", "", ""},
        {"Reciprocal", "", ""},
        {"Sin", "", ""},
        {"Hardmax", "", ""},
        {"Negate", "", ""},
        {"Softmax", "", ""},
        {"LogSoftmax", "", ""},
        {"Dropout", "", ""},
        {"SumElements", "", ""},
        {"SumColumnElements", "", ""},
        {"Plus", "", ""},
        {"Minus", "", ""},
        {"ElementTimes", "", ""},
        {"RowElementTimes", "ColumnElementTimes", "ElementTimes"},
        {"Scale", "", "ElementTimes"},
        {"Times", "", ""},
        {"TransposeTimes", "", ""},
        {"DiagTimes", "", ""},
        {"StrideTimes", "", ""},
        {"KhatriRaoProduct", "ColumnwiseCrossProduct", ""},
        {"CosDistance", "CosDist", ""},
        {"CosDistanceWithNegativeSamples", "CosWithNegSamples", ""},
        {"Reshape", "", "LegacyReshape"},
        {"RowSlice", "", "Slice"},
        {"RowRepeat", "", ""},
        {"RowStack", "Parallel", ""},
        {"Transpose", "", "TransposeDimensions"},
        {"Diagonal", "", ""},
        {"PastValue", "Delay", ""},
        {"FutureValue", "", ""},
        {"TimeReverse", "", ""},
        {"Mean", "", ""},
        {"InvStdDev", "", ""},
        {"PerDimMeanVarNormalization", "PerDimMVNorm", ""},
        {"PerDimMeanVarDeNormalization", "PerDimMVDeNorm", ""},
        {"BatchNormalization", "", ""},
        {"Convolution", "Convolve", ""},
        {"MaxPooling", "", ""},
        {"AveragePooling", "", ""},
        {"Pooling", "", ""},
        {"SquareError", "SE", ""},
        {"CrossEntropyWithSoftmax", "CEWithSM", ""},
        {"CrossEntropy", "", ""},
        {"ClassBasedCrossEntropyWithSoftmax", "CBCEWithSM", ""},
        {"Logistic", "", ""},
        {"CRF", "", ""},
        {"DummyCriterion", "", ""},
        {"GMMLogLikelihood", "GMMLL", ""},
        {"MatrixL1Reg", "L1Reg", ""},
        {"MatrixL2Reg", "L2Reg", ""},
        {"ErrorPrediction", "ClassificationError", ""},
        {"LookupTable", "", ""},
    };
    const NodeRegistry& registry = NodeRegistry::Standard();
    for (const auto& function : functions)
    {
        const std::string type = *function.type == '\0' ? function.name : function.type;
        for (const std::string& name : {std::string(function.name), std::string(function.alias)})
        {
            if (name.empty())
                continue;
            for (const std::string& spelled : {name, ToLower(name)})
            {
                const NdlFunction found = FindNdlFunction(registry, spelled);
                ASSERT_NE(found.form, NdlFunction::Form::None) << spelled;
                EXPECT_EQ(found.type->name, type) << spelled;
            }
        }
    }
    EXPECT_EQ(FindNdlFunction(registry, "RowSlicete").form, NdlFunction::Form::None); // the book's misprint
}

} // namespace
} // namespace cntk
