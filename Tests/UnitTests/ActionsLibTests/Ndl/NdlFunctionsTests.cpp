// The functions of the language: each of the original's names, in any case, and the type of node that it makes.
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace cntk
{
namespace
{

const NodeRegistry& Standard()
{
    return NodeRegistry::Standard();
}

// The names in the braces of a signature: of each form of the call together.
std::set<std::string> NamesInBraces(const std::string& signature)
{
    std::set<std::string> names;
    for (size_t open = signature.find('{'); open != std::string::npos; open = signature.find('{', open + 1))
        for (const std::string_view part :
             Split(std::string_view(signature).substr(open + 1, signature.find('}', open) - open - 1), ','))
            names.emplace(Trim(part.substr(0, part.find('='))));
    return names;
}

// A call with as many positional arguments as it must have, less those that a named one stands for; start values with
// the kind of start that takes them.
NdlExpression CallOf(const std::string& name, const NdlFunction& function, const std::string& parameter)
{
    const bool isShape = EqualsIgnoreCase(parameter, "rows") || EqualsIgnoreCase(parameter, "dims");
    size_t positional = function.form == NdlFunction::Form::Dimensions && isShape ? 0 : 1;
    if (function.form == NdlFunction::Form::Image)
        positional = 3;
    else if (function.form == NdlFunction::Form::Inputs || function.form == NdlFunction::Form::NodeLast)
    {
        positional = function.type->inputs.min;
        for (const NodeParameterInfo& info : function.type->parameters)
            positional += info.positional && info.required && !EqualsIgnoreCase(info.name, parameter) &&
                          std::none_of(info.aliases.begin(), info.aliases.end(),
                                       [&](const std::string& alias) { return EqualsIgnoreCase(alias, parameter); });
    }
    NdlExpression call;
    call.kind = NdlExpression::Kind::Call;
    call.text = name;
    NdlExpression one;
    one.kind = NdlExpression::Kind::Number;
    one.text = "1";
    call.arguments.assign(positional, {"", {}, one});
    NdlExpression word;
    word.kind = NdlExpression::Kind::Name;
    word.text = EqualsIgnoreCase(parameter, "value") ? "fixedValue" : "fromFile";
    if (EqualsIgnoreCase(parameter, "value") || EqualsIgnoreCase(parameter, "initFromFilePath"))
        call.arguments.push_back({"init", {}, word});
    word.text = EqualsIgnoreCase(parameter, "imageLayout") ? "CHW" : "1";
    call.arguments.push_back({parameter, {}, word});
    return call;
}

// Returns true if the parameter can be given by name: it arrives, without a warning.
bool IsTaken(const std::string& name, const std::string& parameter)
{
    const NdlFunction function = FindNdlFunction(Standard(), name);
    bool isWarned = false;
    const auto text = [](const NdlExpression& expression) { return expression.text; };
    const NdlBinding binding{text, text, text, [&](const SourcePos&, const std::string&) { isWarned = true; }};
    const NdlExpression call = CallOf(name, function, parameter);
    const NdlBoundCall bound = BindNdlCall(function, call, binding);
    if (function.form == NdlFunction::Form::Image && EqualsIgnoreCase(parameter, "imageLayout"))
        return !isWarned;
    for (const NodeParameterInfo& info : function.type->parameters)
        if (EqualsIgnoreCase(info.name, parameter) ||
            std::any_of(info.aliases.begin(), info.aliases.end(),
                        [&](const std::string& alias) { return EqualsIgnoreCase(alias, parameter); }))
            return !isWarned && bound.parameters.Has(info.name) &&
                   bound.parameters.Text(info.name) == call.arguments.back().value.text;
    return false;
}

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

// Functions accept every parameter that their signature shows in braces. The signature shows every accepted parameter.
TEST(NdlFunctionsTest, SignaturesShowWhatIsAccepted)
{
    std::set<std::string> all{"imageLayout"};
    for (const NodeType& type : Standard().Types())
        for (const NodeParameterInfo& parameter : type.parameters)
        {
            all.insert(parameter.name);
            all.insert(parameter.aliases.begin(), parameter.aliases.end());
        }
    for (const std::string& name : NdlFunctionNames(Standard()))
    {
        const NdlFunction function = FindNdlFunction(Standard(), name);
        const std::string signature = NdlSignature(Standard(), name, NamedParameters::Shown);
        EXPECT_EQ(signature.find(name + "("), 0u) << signature;
        const std::set<std::string> shown = NamesInBraces(signature);
        std::set<std::string> expected = shown;
        for (const NodeParameterInfo& parameter : NdlNamedParameters(function))
        {
            EXPECT_FALSE(parameter.doc.empty()) << name << ", " << parameter.name;
            const bool isShown = shown.contains(parameter.name);
            EXPECT_TRUE(isShown || parameter.positional || parameter.name == "dims") << name << ", " << parameter.name;
            expected.insert(parameter.name);
            expected.insert(parameter.aliases.begin(), parameter.aliases.end());
            // With its default.
            const bool hasDefault = isShown && !parameter.defaultText.empty();
            EXPECT_TRUE(!hasDefault ||
                        signature.find(Concat(parameter.name, "=", parameter.defaultText)) != std::string::npos)
                << signature;
        }
        for (const std::string& parameter : all)
            EXPECT_EQ(IsTaken(name, parameter), expected.contains(parameter)) << name << ", " << parameter;
    }
}

// The parameters that the original knows.
TEST(NdlFunctionsTest, TheOriginalsParametersAreThere)
{
    const std::vector<std::string> parameter = {
        "needGradient", "needsGradient",    "computeGradient", "init",       "initValueScale",
        "value",        "initFromFilePath", "initOnCPUOnly",   "randomSeed", "learningRateMultiplier"};
    std::vector<std::string> imageParameter = parameter;
    imageParameter.emplace_back("imageLayout");
    const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> functions = {
        {{"InputValue", "Input", "SparseInputValue", "SparseInput"}, {"dynamicAxis"}},
        {{"ImageInput", "Image", "SparseImageInput", "SparseImage"}, {"imageLayout"}},
        {{"LearnableParameter", "Parameter", "SparseLearnableParameter", "SparseParameter"}, parameter},
        {{"ImageParameter"}, imageParameter},
        {{"Constant", "Const"}, {"rows", "cols"}},
        {{"Reshape"}, {"imageWidth", "imageHeight", "imageChannels", "imageLayout"}},
        {{"PastValue", "Delay", "FutureValue"}, {"timeStep", "delayTime", "defaultHiddenActivity", "defaultPastValue"}},
        {{"BatchNormalization"},
         {"spatial", "normalizationTimeConstant", "blendTimeConstant", "epsilon", "engine", "eval", "imageLayout"}},
        {{"Convolution", "Convolve"},
         {"zeroPadding", "maxTempMemSizeInSamples", "imageLayout", "mapCount", "stride", "sharing", "autoPadding",
          "lowerPad", "upperPad"}},
        {{"MaxPooling", "AveragePooling"}, {"imageLayout"}},
        {{"Pooling"}, {"stride", "autoPadding", "lowerPad", "upperPad", "imageLayout"}}};
    for (const auto& [names, parameters] : functions)
        for (const std::string& name : names)
            for (const std::string& each : parameters)
                EXPECT_TRUE(IsTaken(name, each)) << name << ", " << each;
}

TEST(NdlFunctionsTest, FunctionsOfOneTypeHaveTheirOwnSignatures)
{
    const auto signature = [](const char* name) { return NdlSignature(Standard(), name, NamedParameters::Shown); };
    EXPECT_EQ(signature("Reshape"),
              "Reshape(x, numRows, {imageWidth=0, imageHeight=0, imageChannels=0, imageLayout=HWC})");
    EXPECT_EQ(signature("ImageParameter"),
              "ImageParameter([out, ...], width, height, channels, {imageLayout=HWC, needGradient=true, "
              "learningRateMultiplier=1, "
              "init=uniform, initValueScale=1, value=0, initFromFilePath, initOnCPUOnly=false, randomSeed=-1})");
    EXPECT_EQ(signature("ImageInput"),
              "ImageInput(width, height, channels, [numImages] (without effect), {imageLayout=HWC, dynamicAxis})");
    EXPECT_EQ(signature("Const"), "Const(value, [rows=1], [cols=1])");
    EXPECT_EQ(signature("RowSlice"), "RowSlice(startRow, numRows, x, {axis=1})");
    EXPECT_EQ(signature("Slice"), "Slice(x, startRow, numRows, {axis=1})");
    EXPECT_EQ(signature("Scale"), "Scale(scalar, m)");
    EXPECT_EQ(NdlSignature(Standard(), "Convolve", NamedParameters::LeftOut),
              "Convolve(w, image, kernelWidth, kernelHeight, outputChannels, horizontalSubsample, verticalSubsample) "
              "or Convolve(w, image, kernelShape)");
}

} // namespace
} // namespace cntk
