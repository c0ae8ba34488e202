// Leaves: initial values (the original's), text files, parameters, the reader's data, the model file's fields.
#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetworkTests/Files/FieldBytes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <tuple>

namespace cntk::Testing
{

namespace
{

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

std::shared_ptr<LearnableParameterNode> AddParameter(TestNetwork& net, const TensorShape& shape)
{
    return std::dynamic_pointer_cast<LearnableParameterNode>(net.network.AddParameter("W", shape));
}

NodeParameters ParametersOf(std::initializer_list<std::pair<const char*, const char*>> values)
{
    NodeParameters parameters;
    for (const auto& [name, value] : values)
        parameters.Set(name, value);
    return parameters;
}

std::string WriteText(const std::string& name, const std::string& text)
{
    const std::string path = testing::TempDir() + name;
    std::ofstream(path) << text;
    return path;
}

// ---- initial values ----

// The first numbers of what the original draws for initValueScale 3 and 2 (uniform 5 x 3, Gaussian 7 x 3, seed 1).
TEST(LearnableParameterTest, DrawsTheOriginalsInitialValues)
{
    TestNetwork net;
    auto uniform = AddParameter(net, {5, 3});
    uniform->InitUniform(1, 3);
    std::vector<double> values = uniform->Values().ToHost();
    EXPECT_NEAR(values[0], -0.11053866532552624, 1e-15);
    EXPECT_NEAR(values[1], -0.012404960577882373, 1e-15);

    TestNetwork other;
    auto gaussian = AddParameter(other, {7, 3});
    gaussian->InitGaussian(1, 2);
    values = gaussian->Values().ToHost();
    EXPECT_NEAR(values[0], -0.028166791742147805, 1e-15);
    EXPECT_NEAR(values[1], -0.2509898799058155, 1e-15);
}

TEST(LearnableParameterTest, InitialisationWaitsForTheShape)
{
    TestNetwork net;
    net.SetFrames(2);
    const auto weights = net.network.Add<LearnableParameterNode>(
        "Parameter", "W", {}, ParametersOf({{"rows", "4"}, {"cols", "0"}, {"init", "gaussian"}, {"randomSeed", "7"}}));
    net.Add("Times", "y", {weights, net.Input("x", {3})});
    net.network.Validate();
    EXPECT_EQ(weights->SampleLayout(), (TensorShape{4, 3}));

    TestNetwork direct;
    const auto expected = AddParameter(direct, {4, 3});
    expected->InitGaussian(7, 1);
    EXPECT_EQ(weights->Values().ToHost(), expected->Values().ToHost());
}

TEST(LearnableParameterTest, ValuesStayWhenTheShapeIsOnlyRedeclared)
{
    TestNetwork net;
    auto weights = AddParameter(net, {2, 6});
    weights->InitUniform(3, 1);
    const std::vector<double> before = weights->Values().ToHost();
    weights->SetParameterShape({2, 1, 2, 3});
    EXPECT_EQ(weights->Values().ToHost(), before);
    weights->SetParameterShape({3, 4});
    EXPECT_EQ(weights->Values().ToHost(), std::vector<double>(12, 0.0));
}

TEST(LearnableParameterTest, UnknownDimensionsAreAnError)
{
    TestNetwork net;
    AddParameter(net, {3, 0});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "the dimensions [3 x 0] of parameter 'W' are not known: no node that uses it determines them; give them");
}

// ---- parameters ----

TEST(LearnableParameterTest, TakesParameters)
{
    TestNetwork net;
    const auto add = [&](const char* name, std::initializer_list<std::pair<const char*, const char*>> parameters)
    { return net.network.Add<LearnableParameterNode>("LearnableParameter", name, {}, ParametersOf(parameters)); };
    const auto constant =
        add("c", {{"rows", "2"}, {"cols", "2"}, {"init", "fixedValue"}, {"value", "0.5"}, {"needGradient", "false"}});
    EXPECT_THAT(constant->Values().ToHost(), ElementsAre(0.5, 0.5, 0.5, 0.5));
    EXPECT_FALSE(constant->IsTrainableLeaf());
    EXPECT_EQ(constant->DescribeFields(), "[2,2]   learningRateMultiplier=0.000000  NeedsGradient=false");
    EXPECT_EQ(add("v", {{"rows", "3"}})->SampleLayout(), (TensorShape{3}));
    EXPECT_EQ(add("t", {{"dims", "2:3:4"}})->SampleLayout(), (TensorShape{2, 3, 4}));
    EXPECT_THAT(add("z", {{"rows", "2"}, {"init", "zero"}})->Values().ToHost(), ElementsAre(0, 0));
    EXPECT_FLOAT_EQ(add("m", {{"rows", "2"}, {"learningRateMultiplier", "0.25"}})->LearningRateMultiplier(), 0.25f);
}

TEST(LearnableParameterTest, RefusesWrongParameters)
{
    TestNetwork net;
    const auto message = [&](std::initializer_list<std::pair<const char*, const char*>> parameters)
    { return MessageOf([&] { net.network.Add("Parameter", "p", {}, ParametersOf(parameters)); }); };
    EXPECT_EQ(message({{"rows", "2"}, {"init", "gausian"}}),
              "parameter 'init' is 'gausian'; expected uniform, gaussian, fixedValue, zero or fromFile; did you mean "
              "'gaussian'?");
    EXPECT_EQ(message({{"rows", "-2"}}), "parameter 'rows' is -2; expected 0 (to be inferred) or more");
    EXPECT_EQ(message({{"dims", "2:x"}}), "parameter 'dims' is '2:x'; expected dimensions like {3, 4, 5}");
    EXPECT_EQ(message({{"dims", "1:1:1:1:1:1:1:1:1:1:1:1:1"}}),
              "parameter 'dims' is '1:1:1:1:1:1:1:1:1:1:1:1:1'; at most 12 dimensions are possible");
    EXPECT_EQ(message({{"rows", "2"}, {"learningRateMultiplier", "-1"}}),
              "parameter 'learningRateMultiplier' is '-1'; expected 0 or more, at most 3.4e38");
}

// ---- text files ----

TEST(LearnableParameterTest, ReadsATextFileRowByRow)
{
    const std::string path = WriteText("weights.txt", "1 2 3\r\n\n  4\t5e0 -6  \n");
    TestNetwork net;
    auto weights = AddParameter(net, {2, 3});
    weights->InitFromFile(path);
    EXPECT_THAT(weights->Values().ToHost(), ElementsAre(1, 4, 2, 5, 3, -6));
    TestNetwork other;
    auto inferred = AddParameter(other, {0, 0});
    inferred->InitFromFile(path);
    EXPECT_EQ(inferred->SampleLayout(), (TensorShape{2, 3}));
}

TEST(LearnableParameterTest, ReadsInfinityFromATextFile)
{
    TestNetwork net(DataType::Float32);
    auto weights = AddParameter(net, {1, 3});
    weights->InitFromFile(WriteText("masks.txt", "-1e50 0 1#INF\n"));
    constexpr double infinity = std::numeric_limits<double>::infinity();
    EXPECT_THAT(weights->Values().ToHost(), ElementsAre(-infinity, 0, infinity));
}

// The lines of the file are its first dimension; the numbers of a line, all others one after another.
TEST(LearnableParameterTest, ATextFileTellsTheFirstDimensionOfATensor)
{
    const std::string path = WriteText("tensor.txt", "1 2 3 4\n5 6 7 8\n9 10 11 12\n");
    TestNetwork net;
    const auto tensor = AddParameter(net, {0, 2, 2});
    tensor->InitFromFile(path);
    EXPECT_EQ(tensor->SampleLayout(), (TensorShape{3, 2, 2}));
    EXPECT_THAT(tensor->Values().ToHost(), ElementsAre(1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12));
}

TEST(LearnableParameterTest, RefusesAMalformedTextFile)
{
    TestNetwork net;
    auto weights = AddParameter(net, {2, 2});
    const auto message = [&](const std::string& text)
    {
        const std::string path = WriteText("bad.txt", text);
        std::string found = MessageOf([&] { weights->InitFromFile(path); });
        if (const size_t at = found.find(path); at != std::string::npos)
            found.replace(at, path.size(), "bad.txt");
        return found;
    };
    EXPECT_EQ(message("1 2\n3 4x\n"), "file 'bad.txt', line 2, column 3: '4x' is not a number");
    EXPECT_EQ(message("1 2\n\n3\n"), "file 'bad.txt', line 3: 1 number, but the lines before have 2; all rows of a "
                                     "matrix have the same length");
    EXPECT_EQ(message("1 2\n3 nan\n"), "file 'bad.txt', line 2, column 3: found nan, expected a number");
    EXPECT_EQ(message("\n"), "file 'bad.txt' holds no numbers; expected a matrix, one row a line");
    EXPECT_EQ(message("1 2 3\n4 5 6\n"), "file 'bad.txt' holds 2 rows of 3 numbers, but parameter 'W' is [2 x 2]; "
                                         "expected 2 lines of 2 numbers");
    EXPECT_THAT(MessageOf([&] { weights->InitFromFile(testing::TempDir() + "no-such-file.txt"); }),
                testing::HasSubstr("no-such-file.txt"));
}

// ---- the reader's data ----

TEST(InputValueTest, ConvertsWhatTheReaderGives)
{
    TestNetwork net;
    net.SetFrames(2);
    auto dense = std::dynamic_pointer_cast<InputValueNode>(net.network.AddInput("dense", {3}));
    auto sparse = std::dynamic_pointer_cast<InputValueNode>(net.network.AddInput("sparse", {3}, true));
    net.network.Validate();
    const std::vector<float> values = {0, 2, 0, 4, 0, 6};
    dense->SetDense(values.data(), 3, 2);
    EXPECT_THAT(ValueOf(dense), ElementsAre(0, 2, 0, 4, 0, 6));
    sparse->SetDense(values.data(), 3, 2);
    EXPECT_TRUE(sparse->IsSparse());
    EXPECT_EQ(sparse->SparseValue(FrameRange::All()).nonZeros, 3u);

    const std::vector<float> nonZeros = {5, 7};
    const std::vector<int32_t> rows = {2, 0}, starts = {0, 1, 2};
    dense->SetSparse(nonZeros.data(), rows.data(), starts.data(), 3, 2);
    EXPECT_THAT(ValueOf(dense), ElementsAre(0, 0, 5, 7, 0, 0));
    sparse->SetSparse(nonZeros.data(), rows.data(), starts.data(), 3, 2);
    EXPECT_EQ(sparse->SparseValue(FrameRange::All()).nonZeros, 2u);
    EXPECT_EQ(sparse->DescribeFields(), "[ 3 ]");
}

// Dense labels whose data come as words: criteria read the words, and the dense form is made for those who read that.
struct Words
{
    Words()
    {
        net.SetFrames(3);
        labels = std::dynamic_pointer_cast<InputValueNode>(net.network.AddInput("labels", {4}));
        z = std::dynamic_pointer_cast<InputValueNode>(net.network.AddInput("z", {4}));
        z->SetDense(predictions.data(), 4, 3);
    }
    void Set(const std::vector<int32_t>& words) { labels->SetSparse(ones.data(), words.data(), starts.data(), 4, 3); }

    const std::vector<double> predictions = {0.1, 0.2, 0.3, 0.4, 0.5, 0.1, 0.1, 0.3, 0.2, 0.2, 0.5, 0.1};
    const std::vector<double> ones = {1, 1, 1};
    const std::vector<int32_t> starts = {0, 1, 2, 3};
    TestNetwork net;
    std::shared_ptr<InputValueNode> labels, z;
};

TEST(InputValueTest, WordsAreReadAsTheyCome)
{
    for (const char* type : {"CrossEntropyWithSoftmax", "CrossEntropy", "ErrorPrediction"})
    {
        Words words;
        const ComputationNodePtr criterion = words.net.Add(type, "c", {words.labels, words.z});
        const ComputationNodePtr distance = words.net.Add("SquareError", "d", {words.labels, words.z});
        words.net.network.Validate();
        const auto valueOf = [](Evaluator& evaluator, const ComputationNodePtr& root)
        {
            evaluator.Forward();
            return ValueOf(root)[0];
        };
        Evaluator dense(words.net.network, {distance});
        {
            Evaluator evaluator(words.net.network, {criterion});
            for (const std::vector<int32_t>& chosen : {std::vector<int32_t>{3, 0, 0}, {1, 0, 2}})
            {
                words.Set(chosen);
                const double value = valueOf(evaluator, criterion);
                std::vector<double> oneHot(12);
                for (size_t sample = 0; sample < 3; sample++)
                    oneHot[4 * sample + size_t(chosen[sample])] = 1;
                words.labels->SetDense(oneHot.data(), 4, 3);
                EXPECT_FALSE(words.labels->HasSparseForm());
                EXPECT_NEAR(valueOf(evaluator, criterion), value, 1e-14) << type;
            }
            words.Set({1, 0, 2});
            EXPECT_EQ(words.labels->Value().data, nullptr); // nobody reads it
            EXPECT_NEAR(valueOf(dense, distance), 1.6, 1e-14);
            words.Set({3, 1, 2}); // while the dense form is read
            EXPECT_THAT(ValueOf(words.labels), ElementsAre(0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0));
            valueOf(evaluator, criterion);
            words.Set({2, 1, 2});
        }
        EXPECT_THAT(ValueOf(words.labels), ElementsAre(0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0)) << "nobody's any more";
    }
}

TEST(InputValueTest, WordsThatAreRootsOrKeptAreDense)
{
    Words words;
    const ComputationNodePtr criterion = words.net.Add("CrossEntropyWithSoftmax", "c", {words.labels, words.z});
    words.net.network.Validate();
    Evaluator first(words.net.network, {criterion});
    EvaluatorOptions options;
    options.keepValues = {words.labels};
    Evaluator keeping(words.net.network, {criterion}, options), asRoot(words.net.network, {words.labels});
    for (Evaluator* evaluator : {&keeping, &asRoot})
    {
        words.Set({3, 0, 1});
        first.Forward();
        words.Set({3, 1, 2});
        evaluator->Forward();
        EXPECT_THAT(ValueOf(words.labels), ElementsAre(0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0));
    }
}

// The predictions come from a reader, too, which gives both as rows and values: only of labels is that form read.
TEST(InputValueTest, PredictionsThatComeAsRowsAndValuesAreDense)
{
    // In the first sample word 2 has the value ln 3, in the other two words 1 and 3. The softmaxes of the labels are
    // 1/6, 3/6 and 1/6, so two predictions are wrong. In the second minibatch word 0 of the last sample has ln 3.
    for (const auto& [type, first, second] :
         {std::tuple("ErrorPrediction", 2.0, 1.0),
          {"CrossEntropyWithSoftmax", std::log(6.0 * 2.0 * 6.0), std::log(6.0 * 2.0 * 2.0)}})
    {
        Words words;
        const ComputationNodePtr criterion = words.net.Add(type, "c", {words.labels, words.z});
        words.net.network.Validate();
        Evaluator evaluator(words.net.network, {criterion});
        words.Set({3, 1, 0});
        const std::vector<double> scores(3, std::log(3.0));
        for (const auto& [rows, expected] : {std::pair(std::vector<int32_t>{2, 1, 3}, first), {{2, 1, 0}, second}})
        {
            words.z->SetSparse(scores.data(), rows.data(), words.starts.data(), 4, 3);
            evaluator.Forward();
            EXPECT_NEAR(ValueOf(criterion)[0], expected, 1e-14) << type;
        }
    }
}

// Words of one minibatch and such of the next that are no words, since a row is named twice: nobody reads the former.
TEST(InputValueTest, RowsThatRepeatTakeThePlaceOfWords)
{
    Words words;
    const ComputationNodePtr criterion = words.net.Add("CrossEntropyWithSoftmax", "c", {words.labels, words.z});
    words.net.network.Validate();
    Evaluator evaluator(words.net.network, {criterion});
    words.Set({3, 0, 1});
    evaluator.Forward();
    const std::vector<double> halves(6, 0.5);
    const std::vector<int32_t> rows = {1, 1, 2, 2, 0, 0}, starts = {0, 2, 4, 6};
    words.labels->SetSparse(halves.data(), rows.data(), starts.data(), 4, 3);
    evaluator.Forward();
    const double repeated = ValueOf(criterion)[0];
    words.Set({1, 2, 0});
    evaluator.Forward();
    EXPECT_NEAR(repeated, ValueOf(criterion)[0], 1e-14);
}

TEST(InputValueTest, RepeatedRowsAddUp)
{
    TestNetwork net;
    net.SetFrames(1);
    auto input = std::dynamic_pointer_cast<InputValueNode>(net.network.AddInput("x", {3}));
    const std::vector<float> values = {5, 7, 1};
    const std::vector<int32_t> rows = {1, 1, 0}, starts = {0, 3};
    input->SetSparse(values.data(), rows.data(), starts.data(), 3, 1);
    EXPECT_FALSE(input->HasSparseForm());
    EXPECT_THAT(ValueOf(input), ElementsAre(1, 12, 0));
}

TEST(InputValueTest, RefusesDataOfAnotherSize)
{
    TestNetwork net;
    auto input = std::dynamic_pointer_cast<InputValueNode>(net.network.AddInput("x", {2, 3}));
    const std::vector<double> values(8);
    EXPECT_EQ(MessageOf([&] { input->SetDense(values.data(), 4, 2); }),
              "input 'x' is [2 x 3], 6 numbers a sample, but the data have 4");
    const std::vector<int32_t> rows = {6}, starts = {0, 1};
    EXPECT_EQ(MessageOf([&] { input->SetSparse(values.data(), rows.data(), starts.data(), 6, 1); }),
              "input 'x' has 6 rows, but the data name row 6 (rows are counted from 0)");
}

// ---- fields of old files ----

TEST(LearnableParameterTest, ReadsFieldsOfAllVersions)
{
    TestNetwork net;
    auto weights = AddParameter(net, {1});
    FieldBytes().Add(0.5f).Add(uint32_t(2)).Add(uint32_t(2)).Add(uint32_t(3)).DenseMatrix(2, 3).Load(*weights, 8);
    EXPECT_EQ(weights->SampleLayout(), (TensorShape{2, 3}));
    EXPECT_FLOAT_EQ(weights->LearningRateMultiplier(), 0.5f);
    EXPECT_THAT(weights->Values().ToHost(), ElementsAre(0, 1, 2, 3, 4, 5));

    FieldBytes().Add(false).Add(uint64_t(3)).Add(uint64_t(2)).DenseMatrix(3, 2).Load(*weights, 2);
    EXPECT_EQ(weights->SampleLayout(), (TensorShape{3, 2}));
    EXPECT_EQ(weights->LearningRateMultiplier(), 0);

    // Autumn 2015: a shape in place of rows and columns, or a shape and the columns.
    FieldBytes()
        .Add(true)
        .Add(uint64_t(0))
        .Add(uint64_t(0))
        .Add(uint32_t(2))
        .Add(uint32_t(2))
        .Add(uint32_t(3))
        .DenseMatrix(2, 3)
        .Load(*weights, 2);
    EXPECT_EQ(weights->SampleLayout(), (TensorShape{2, 3}));
    EXPECT_EQ(weights->LearningRateMultiplier(), 1);
    FieldBytes()
        .Add(true)
        .Add(uint64_t(0))
        .Add(uint64_t(4))
        .Add(uint32_t(2))
        .Add(uint32_t(2))
        .Add(uint32_t(3))
        .DenseMatrix(2, 12)
        .Load(*weights, 2);
    EXPECT_EQ(weights->SampleLayout(), (TensorShape{2, 3, 4}));
    FieldBytes().Add(true).Add(uint64_t(0)).Add(uint64_t(1)).Shape({2, 3}).DenseMatrix(2, 3).Load(*weights, 2);
    EXPECT_EQ(weights->SampleLayout(), (TensorShape{2, 3})) << "one column is no dimension";

    // The same elements in a matrix of other rows.
    FieldBytes().Add(1.0f).Shape({2, 3}).DenseMatrix(6, 1).Load(*weights, 8);
    EXPECT_EQ(weights->Values().Rows(), 2u);
    EXPECT_EQ(weights->Values().Columns(), 3u);
    EXPECT_THAT(weights->Values().ToHost(), ElementsAre(0, 1, 2, 3, 4, 5));

    EXPECT_EQ(MessageOf(
                  [&] {
                      FieldBytes()
                          .Add(1.0f)
                          .Add(uint32_t(2))
                          .Add(uint32_t(2))
                          .Add(uint32_t(3))
                          .DenseMatrix(2, 2)
                          .Load(*weights, 8);
                  }),
              "parameter 'W' has the dimensions [2 x 3], but its matrix is 2 x 2");
    EXPECT_EQ(MessageOf(
                  [&] {
                      FieldBytes().Add(1.0f).Shape({2, 3}).DenseMatrix(2, 4).Load(*weights, 8);
                  }),
              "parameter 'W' has the dimensions [2 x 3], but its matrix is 2 x 4");
    EXPECT_EQ(MessageOf(
                  [&] {
                      FieldBytes().Add(1.0f).Shape({2, 0}).DenseMatrix(2, 0).Load(*weights, 8);
                  }),
              "parameter 'W' has the dimensions [2 x 0]; expected dimensions of at least 1");
}

// p = W x in two networks with one storage for W.
TEST(LearnableParameterTest, SharesItsStorageWithAnotherNetwork)
{
    const std::shared_ptr<Device> device = MakeCpuDevice();
    TestNetwork first(DataType::Float64, device), second(DataType::Float64, device);
    std::vector<ComputationNodePtr> products;
    std::vector<std::shared_ptr<LearnableParameterNode>> weights;
    for (TestNetwork* net : {&first, &second})
    {
        weights.push_back(std::dynamic_pointer_cast<LearnableParameterNode>(net->Parameter("W", {1, 2})));
        products.push_back(net->Add("Times", "p", {weights.back(), net->Input("x", {2})}));
        net->network.Validate();
    }
    Evaluator ofFirst(first.network, {products[0]}), ofSecond(second.network, {products[1]});
    const auto forward = [&](TestNetwork& net, Evaluator& evaluator, const ComputationNodePtr& product)
    {
        net.SetFrames(1);
        SetInput(net.network.Require("x"), {3, 5});
        evaluator.Forward();
        return ValueOf(product);
    };
    weights[1]->ShareStorage(weights[0]->Storage(), {1, 2});
    weights[0]->Values().FromHost(std::vector<double>{2, -1});
    ExpectNear(forward(second, ofSecond, products[1]), {1});
    weights[1]->Values().FromHost(std::vector<double>{1, 1});
    ExpectNear(forward(first, ofFirst, products[0]), {8});
    ExpectNear(forward(second, ofSecond, products[1]), {8});

    EXPECT_EQ(MessageOf(
                  [&] {
                      weights[1]->ShareStorage(weights[0]->Storage(), {2, 1});
                  }),
              "the storage for parameter 'W' has another element type, device or size");
    weights[1]->SetParameterShape({3, 2});
    EXPECT_NE(weights[0]->Storage(), weights[1]->Storage()) << "another size needs a storage of its own";
    EXPECT_THAT(weights[0]->Values().ToHost(), ElementsAre(1, 1));
}

// A model file that is loaded into a parameter leaves the values of its former partners alone.
TEST(LearnableParameterTest, LoadsIntoAStorageOfItsOwn)
{
    TestNetwork net;
    auto a = std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter("A", {2, 3}));
    auto b = std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter("B", {2, 3}));
    b->ShareStorage(a->Storage(), {2, 3});
    const std::vector<double> before = a->Values().ToHost();
    FieldBytes().Add(1.0f).Shape({2, 3}).DenseMatrix(6, 1).Load(*b, 8);
    EXPECT_EQ(a->Values().ToHost(), before);
    EXPECT_THAT(b->Values().ToHost(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(InputValueTest, ReadsFieldsOfAllVersions)
{
    TestNetwork net;
    auto input = std::dynamic_pointer_cast<InputValueNode>(net.network.AddInput("x", {1}));
    const auto header = [](uint64_t rows) { return FieldBytes().Add(rows).Add(uint64_t(rows == 0 ? 0 : 1)); };
    header(0).Add(uint32_t(1)).Add(uint32_t(5)).Add(uint32_t(1)).Text("time").Load(*input, 8);
    EXPECT_EQ(input->SampleLayout(), (TensorShape{5}));
    EXPECT_EQ(input->DynamicAxis(), "time");
    header(0).Add(uint32_t(1)).Add(uint32_t(5)).Add(uint32_t(0)).Add(1.0f).Load(*input, 10);
    header(0).Add(uint32_t(2)).Add(uint32_t(3)).Add(uint32_t(2)).Load(*input, 7);
    EXPECT_EQ(input->SampleLayout(), (TensorShape{3, 2}));
    // August 2015: W, H, C as 64-bit numbers.
    header(6).Add(uint64_t(1)).Add(uint64_t(6)).Add(uint64_t(1)).Load(*input, 2);
    EXPECT_EQ(input->SampleLayout(), (TensorShape{1, 1, 6}));
    header(7).Add(uint64_t(1)).Add(uint64_t(6)).Add(uint64_t(1)).Load(*input, 2);
    EXPECT_EQ(input->SampleLayout(), (TensorShape{7}));
    EXPECT_EQ(MessageOf([&] { header(0).Add(uint32_t(1)).Add(uint32_t(5)).Add(uint32_t(2)).Load(*input, 8); }),
              "input 'x' has 2 dynamic axes; expected 0 or 1");
}

TEST(TimesFieldsTest, AreReadInAllVersions)
{
    TestNetwork net;
    const ComputationNodePtr product = net.Add("Times", "p", {net.Parameter("A", {2, 3}), net.Parameter("B", {3, 2})});
    FieldBytes().Load(*product, 2);
    FieldBytes().Add(uint64_t(1)).Load(*product, 3);
    FieldBytes().Add(uint64_t(1)).Add(int32_t(-1)).Load(*product, 12);
    EXPECT_EQ(MessageOf([&] { FieldBytes().Add(uint64_t(99)).Load(*product, 8); }),
              "the output rank is 99; at most 12 is possible");
}

} // namespace

} // namespace cntk::Testing
