// The contract of cntk.h, call by call.
#include "EvalLibraryTests/EvalModels.h"

#include <thread>

namespace cntk::Testing
{

namespace
{

std::vector<double> Values(const cntk_model* model, const char* name)
{
    std::vector<double> values(100);
    size_t count = 0;
    ExpectOk(cntk_model_parameter(model, name, CNTK_DOUBLE, values.data(), values.size(), &count));
    values.resize(count);
    return values;
}

// W x + b for each sample.
std::vector<double> Expected(const cntk_model* model, const std::vector<double>& data)
{
    const std::vector<double> w = Values(model, "W"), b = Values(model, "b");
    std::vector<double> z;
    for (size_t n = 0; n < data.size() / 3; n++)
        for (size_t i = 0; i < 2; i++)
            z.push_back(b[i] + w[i] * data[3 * n] + w[2 + i] * data[3 * n + 1] + w[4 + i] * data[3 * n + 2]);
    return z;
}

} // namespace

TEST(CApi, EvaluatesFrames)
{
    Evaluation frames(FrameModel());
    const std::vector<double> data = EvalData(15);
    ExpectClose(frames.Evaluate(data, {}), Expected(frames.model, data));
    ExpectClose(frames.Evaluate(data, {2, 3}), Expected(frames.model, data)); // sequences make no difference
    ExpectClose(frames.Evaluate(data, {}, true), Expected(frames.model, data));
    ExpectClose(frames.Evaluate(EvalData(3, 7), {}, true), Expected(frames.model, EvalData(3, 7)));
    EXPECT_TRUE(frames.Evaluate({}, {}).empty());
    const void* values = nullptr;
    size_t samples = 7;
    ExpectOk(cntk_view(frames.evaluator, 0, &values, &samples));
    EXPECT_EQ(samples, 0u);
}

TEST(CApi, DescribesNodes)
{
    Evaluation frames(FrameModel());
    EXPECT_EQ(cntk_api_version(), 1);
    EXPECT_STRNE(cntk_version(), "");
    const size_t counts[] = {2, 1, 1, 1, 2, 8};
    for (int group = CNTK_INPUTS; group <= CNTK_ALL; group++)
        EXPECT_EQ(cntk_model_count(frames.model, cntk_group(group)), counts[group]) << group;
    EXPECT_EQ(cntk_model_count(frames.model, cntk_group(6)), 0u);
    EXPECT_EQ(cntk_model_count(nullptr, CNTK_ALL), 0u);

    cntk_node_info info = {};
    info.struct_size = sizeof info;
    ExpectOk(cntk_model_node(frames.model, CNTK_PARAMETERS, 0, &info));
    EXPECT_STREQ(info.name, "b");
    ExpectOk(cntk_model_find(frames.model, "w", &info)); // any case
    EXPECT_STREQ(info.name, "W");
    EXPECT_STREQ(info.type, "LearnableParameter");
    EXPECT_EQ(info.rank, 2u);
    EXPECT_EQ(info.dims[0], 2u);
    EXPECT_EQ(info.dims[1], 3u);
    EXPECT_EQ(info.elements, 6u);
    EXPECT_EQ(info.has_samples, 0);

    ASSERT_EQ(cntk_evaluator_input_count(frames.evaluator), 1u); // no labels
    ExpectOk(cntk_evaluator_input(frames.evaluator, 0, &info));
    EXPECT_STREQ(info.name, "features");
    EXPECT_EQ(info.has_samples, 1);
    EXPECT_EQ(info.is_sparse, 0);
    EXPECT_EQ(info.elements, 3u);

    // A program that was built with a shorter structure.
    info = {};
    info.struct_size = offsetof(cntk_node_info, dims);
    ExpectOk(cntk_evaluator_output(frames.evaluator, 0, &info));
    EXPECT_STREQ(info.type, "Plus");
    EXPECT_EQ(info.dims, nullptr);
}

TEST(CApi, StateOfRecurrentNetworksIsCarriedFromCallToCall)
{
    for (const std::string& bytes : {RecurrentModel(), LstmModel()})
    {
        Evaluation whole(bytes), chunks(bytes);
        const std::vector<double> data = EvalData(3 * 11);
        const std::vector<double> expected = whole.Evaluate(data, {11});
        std::vector<double> joined;
        size_t begin = 0;
        for (const size_t length : {1, 1, 2, 0, 4, 1, 2}) // shorter and longer than the delays
        {
            const std::vector<double> part(data.begin() + 3 * ptrdiff_t(begin),
                                           data.begin() + 3 * ptrdiff_t(begin + length));
            const std::vector<double> output = chunks.Evaluate(part, {length}, true);
            joined.insert(joined.end(), output.begin(), output.end());
            begin += length;
        }
        ExpectClose(joined, expected);
        cntk_reset(chunks.evaluator);
        ExpectClose(chunks.Evaluate(data, {11}, true), expected);
        ExpectClose(chunks.Evaluate(data, {11}), expected); // begins
    }
}

TEST(CApi, SequencesMayAdvanceByDifferentSteps)
{
    for (const std::string& bytes : {RecurrentModel(), LstmModel()})
    {
        Evaluation alone(bytes), together(bytes);
        const std::vector<std::vector<size_t>> chunks = {{2, 1, 3}, {1, 4, 0}, {0, 2, 1}, {5, 1, 1}, {1, 1, 1}};
        std::vector<std::vector<double>> data, outputs(3);
        std::vector<size_t> done(3);
        for (unsigned s = 0; s < 3; s++)
            data.push_back(EvalData(3 * 9, 5 + s));
        for (const std::vector<size_t>& lengths : chunks)
        {
            std::vector<double> part;
            for (size_t s = 0; s < 3; s++)
                part.insert(part.end(), data[s].begin() + 3 * ptrdiff_t(done[s]),
                            data[s].begin() + 3 * ptrdiff_t(done[s] + lengths[s]));
            const std::vector<double> output = together.Evaluate(part, lengths, true);
            size_t position = 0;
            for (size_t s = 0; s < 3; s++)
            {
                outputs[s].insert(outputs[s].end(), output.begin() + ptrdiff_t(position),
                                  output.begin() + ptrdiff_t(position + 2 * lengths[s]));
                position += 2 * lengths[s];
                done[s] += lengths[s];
            }
        }
        for (size_t s = 0; s < 3; s++)
        {
            data[s].resize(3 * done[s]);
            ExpectClose(outputs[s], alone.Evaluate(data[s], {done[s]}));
        }
    }
}

TEST(CApi, PacksSequencesOfNetworksThatLookAhead)
{
    Evaluation ahead(RecurrentModel(DataType::Float64, "FutureValue"));
    const std::vector<double> data = EvalData(3 * 12);
    const std::vector<double> together = ahead.Evaluate(data, {2, 5, 1, 4});
    std::vector<double> apart;
    size_t begin = 0;
    for (const size_t length : {2, 5, 1, 4})
    {
        const std::vector<double> part(data.begin() + 3 * ptrdiff_t(begin),
                                       data.begin() + 3 * ptrdiff_t(begin + length));
        const std::vector<double> output = ahead.Evaluate(part, {length});
        apart.insert(apart.end(), output.begin(), output.end());
        begin += length;
    }
    ExpectClose(together, apart);

    ExpectOk(cntk_set_dense(ahead.evaluator, 0, CNTK_DOUBLE, data.data(), 4));
    EXPECT_EQ(
        Failure(cntk_evaluate_next(ahead.evaluator)),
        "5: sequences cannot be continued: node 'before' (FutureValue) looks ahead in time; call cntk_evaluate with "
        "whole sequences");
}

TEST(CApi, IndependentSamplesContinueAsSequences)
{
    Evaluation recurrent(RecurrentModel()), stream(RecurrentModel());
    const std::vector<double> data = EvalData(3 * 4);
    const std::vector<double> expected = recurrent.Evaluate(data, {4});
    std::vector<double> joined;
    for (size_t t = 0; t < 4; t++)
    {
        ExpectOk(cntk_set_dense(stream.evaluator, 0, CNTK_DOUBLE, data.data() + 3 * t, 1));
        ExpectOk(cntk_evaluate_next(stream.evaluator));
        const std::vector<double> output = stream.Output();
        joined.insert(joined.end(), output.begin(), output.end());
    }
    ExpectClose(joined, expected);
    ExpectOk(cntk_set_dense(stream.evaluator, 0, CNTK_DOUBLE, data.data(), 2));
    EXPECT_EQ(Failure(cntk_evaluate_next(stream.evaluator)),
              "4: the call has 2 sequences, but 1 are to be continued; give as many, or call cntk_reset first");
}

TEST(CApi, ConvertsTypes)
{
    const std::vector<double> data = EvalData(9);
    const std::vector<float> floats(data.begin(), data.end());
    for (const cntk_type type : {CNTK_FLOAT, CNTK_DOUBLE})
    {
        Evaluation frames(FrameModel(), type);
        ExpectOk(cntk_set_dense(frames.evaluator, 0, CNTK_FLOAT, floats.data(), 3));
        ExpectOk(cntk_evaluate(frames.evaluator));
        ExpectClose(frames.Output(), Expected(frames.model, data), 1e-6);
        std::vector<float> output(6);
        size_t samples = 0;
        ExpectOk(cntk_get(frames.evaluator, 0, CNTK_FLOAT, output.data(), 6, &samples));
        ExpectClose({output.begin(), output.end()}, Expected(frames.model, data), 1e-6);
    }
    // A recurrent network in float with samples in double, which are packed and converted at once.
    Evaluation single(RecurrentModel(DataType::Float32)), exact(RecurrentModel(DataType::Float32), CNTK_DOUBLE);
    ExpectClose(single.Evaluate(data, {1, 2}), exact.Evaluate(data, {1, 2}), 1e-5);
}

TEST(CApi, TakesWordsAndSparseSamples)
{
    for (const bool sparse : {false, true})
    {
        Evaluation words(FrameModel(DataType::Float64, sparse));
        const std::vector<int32_t> rows = {2, 0, 1, 2};
        ExpectOk(cntk_set_words(words.evaluator, 0, rows.data(), 4));
        ExpectOk(cntk_evaluate(words.evaluator));
        ExpectClose(words.Output(), Expected(words.model, {0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}));

        const std::vector<double> values = {0.5, 2, -1};
        const std::vector<int32_t> elements = {0, 2, 1}, starts = {0, 2, 2, 3};
        ExpectOk(cntk_set_sparse(words.evaluator, 0, CNTK_DOUBLE, values.data(), elements.data(), starts.data(), 3));
        ExpectOk(cntk_evaluate(words.evaluator));
        ExpectClose(words.Output(), Expected(words.model, {0.5, 0, 2, 0, 0, 0, 0, -1, 0}));

        const std::vector<int32_t> nothing = {0, 0};
        ExpectOk(cntk_set_sparse(words.evaluator, 0, CNTK_DOUBLE, nullptr, nullptr, nothing.data(), 1));
        ExpectOk(cntk_evaluate(words.evaluator));
        ExpectClose(words.Output(), Expected(words.model, {0, 0, 0}));

        const int32_t wrong = 3;
        ExpectOk(cntk_set_words(words.evaluator, 0, &wrong, 1));
        EXPECT_EQ(Failure(cntk_evaluate(words.evaluator)),
                  "4: input 'features' has 3 rows, but the data name row 3 (rows are counted from 0)");
        const std::vector<int32_t> descending = {2, 0, 1};
        EXPECT_EQ(Failure(cntk_set_sparse(words.evaluator, 0, CNTK_DOUBLE, values.data(), descending.data(),
                                          starts.data(), 3)),
                  "4: the rows of sample 0 of input 'features' do not ascend: 0 follows 2");
    }
}

TEST(CApi, SparseSamplesOfSequences)
{
    EvalNetwork net;
    const auto x = net.network.AddInput("features", {3}, true);
    const auto before = net.Delay("PastValue", "before", 1);
    const auto h = net.Add("Plus", "h", {net.Add("Times", "Wx", {net.Parameter("W", {1, 3}), x}), before});
    net.network.SetInputs(before, {h});
    net.Output(h);
    Evaluation sums(net.Bytes());
    const std::vector<double> w = Values(sums.model, "W");
    const std::vector<int32_t> rows = {0, 1, 2, 2, 1};
    const std::vector<size_t> lengths = {2, 3};
    ExpectOk(cntk_set_sequences(sums.evaluator, lengths.data(), 2));
    ExpectOk(cntk_set_words(sums.evaluator, 0, rows.data(), 5));
    ExpectOk(cntk_evaluate(sums.evaluator));
    ExpectClose(sums.Output(),
                {0.25 + w[0], 0.25 + w[0] + w[1], 0.25 + w[2], 0.25 + w[2] + w[2], 0.25 + w[2] + w[2] + w[1]});
}

// Statistics are parameters that no training may change.
TEST(CApi, EvaluatesBatchNormalization)
{
    EvalNetwork net;
    const auto x = net.network.AddInput("features", {3});
    const auto statistic = [&](const std::string& name)
    {
        const ComputationNodePtr node = net.Parameter(name, {3});
        std::static_pointer_cast<LearnableParameterNode>(node)->SetLearningRateMultiplier(0);
        return node;
    };
    net.Output(net.Add(
        "BatchNormalization", "z",
        {x, net.Parameter("scale", {3}), net.Parameter("bias", {3}), statistic("mean"), statistic("invStdDev")}));
    Evaluation frames(net.Bytes());
    const std::vector<double> data = EvalData(6), scale = Values(frames.model, "scale"),
                              bias = Values(frames.model, "bias"), mean = Values(frames.model, "mean"),
                              invStdDev = Values(frames.model, "invStdDev");
    std::vector<double> expected;
    for (size_t i = 0; i < data.size(); i++)
        expected.push_back(scale[i % 3] * (data[i] - mean[i % 3]) * invStdDev[i % 3] + bias[i % 3]);
    ExpectClose(frames.Evaluate(data, {}), expected);
}

TEST(CApi, OutputsMayBeAnyNodes)
{
    Evaluation frames(FrameModel(), CNTK_AS_FILE, {"wx", "b", "features", "Z"});
    const std::vector<double> data = EvalData(6);
    ExpectOk(cntk_set_dense(frames.evaluator, 0, CNTK_DOUBLE, data.data(), 2));
    ExpectOk(cntk_evaluate(frames.evaluator));
    ExpectClose(frames.Output(1), Values(frames.model, "b"));
    ExpectClose(frames.Output(2), data);
    ExpectClose(frames.Output(3), Expected(frames.model, data));

    Evaluation criterion(FrameModel(), CNTK_AS_FILE, {"err"});
    ASSERT_EQ(cntk_evaluator_input_count(criterion.evaluator), 2u);
}

TEST(CApi, FailsWithMessages)
{
    cntk_model* model = reinterpret_cast<cntk_model*>(8);
    EXPECT_EQ(Failure(cntk_model_load("missing.dnn", CNTK_AS_FILE, &model)),
              "5: model file 'missing.dnn' does not exist");
    EXPECT_EQ(model, nullptr);
    EXPECT_EQ(Failure(cntk_model_load(nullptr, CNTK_AS_FILE, &model)), "2: path is NULL");
    EXPECT_EQ(Failure(cntk_model_load("x", cntk_type(5), &model)),
              "2: type is 5; expected CNTK_AS_FILE (0), CNTK_FLOAT (1) or CNTK_DOUBLE (2)");
    EXPECT_EQ(Failure(cntk_model_load("x", CNTK_AS_FILE, nullptr)), "2: model is NULL");
    EXPECT_EQ(Failure(cntk_model_load_memory("BCN", 3, CNTK_AS_FILE, &model)).substr(0, 11), "5: 'memory'");
    EXPECT_EQ(Failure(cntk_model_open("modelpath=missing.dnn; precision=half", &model)),
              "3: config:1:34: 'precision' is 'half', expected float or double");
    EXPECT_EQ(Failure(cntk_model_open("deviceId=cpu", &model)).substr(0, 2), "3:");

    Evaluation frames(FrameModel());
    cntk_node_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(Failure(cntk_model_find(frames.model, "features2", &info)),
              "5: the model has no node 'features2'; did you mean 'features'?");
    EXPECT_EQ(info.struct_size, sizeof info);
    ExpectOk(cntk_model_find(frames.model, "FEATURES", &info));
    EXPECT_STREQ(info.name, "features");
    EXPECT_EQ(Failure(cntk_model_node(frames.model, CNTK_OUTPUTS, 1, &info)),
              "2: the group has no node 1; it has 1 node, counted from 0");
    EXPECT_EQ(info.name, nullptr); // nothing is left of the node before
    EXPECT_EQ(info.dims, nullptr);
    EXPECT_EQ(info.rank, 0u);
    info.struct_size = 0;
    EXPECT_EQ(Failure(cntk_evaluator_input(frames.evaluator, 0, &info)),
              "2: struct_size of cntk_node_info is 0; set it to sizeof(cntk_node_info) before the call");
    EXPECT_EQ(Failure(cntk_set_dense(frames.evaluator, 1, CNTK_FLOAT, &info, 1)),
              "2: there is no input 1; the evaluator has 1 input, counted from 0");
    EXPECT_EQ(Failure(cntk_set_dense(frames.evaluator, 0, CNTK_FLOAT, nullptr, 1)),
              "2: values of input 'features' is NULL");
    EXPECT_EQ(Failure(cntk_evaluate(frames.evaluator)),
              "2: input 'features' has no samples; call cntk_set_dense, cntk_set_words or cntk_set_sparse before each "
              "evaluation");
    double values[6] = {};
    size_t samples = 9;
    EXPECT_EQ(Failure(cntk_get(frames.evaluator, 0, CNTK_DOUBLE, values, 6, &samples)),
              "2: output 'z' has no values; call cntk_evaluate or cntk_evaluate_next first");
    EXPECT_EQ(samples, 0u);
    const size_t length = 3;
    ExpectOk(cntk_set_sequences(frames.evaluator, &length, 1));
    ExpectOk(cntk_set_dense(frames.evaluator, 0, CNTK_DOUBLE, values, 2));
    EXPECT_EQ(Failure(cntk_evaluate(frames.evaluator)),
              "4: input 'features' has 2 samples, but the sequences have 3 together");
    ExpectOk(cntk_set_sequences(frames.evaluator, nullptr, 0));
    ExpectOk(cntk_evaluate(frames.evaluator)); // the samples are still there
    EXPECT_EQ(Failure(cntk_get(frames.evaluator, 0, CNTK_DOUBLE, values, 3, &samples)),
              "4: 'z' has 4 values, but there is room for 3");
    EXPECT_EQ(samples, 2u);
    EXPECT_EQ(Failure(cntk_get(frames.evaluator, 0, CNTK_DOUBLE, nullptr, 4, &samples)), "2: values is NULL");
    EXPECT_EQ(samples, 0u);
    size_t count = 0;
    EXPECT_EQ(Failure(cntk_model_parameter(frames.model, "W", CNTK_FLOAT, nullptr, 6, &count)), "2: values is NULL");
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(Failure(cntk_model_parameter(frames.model, "W", CNTK_FLOAT, nullptr, 0, &count)),
              "4: 'W' has 6 values, but there is room for 0");
    EXPECT_EQ(count, 6u);
    EXPECT_EQ(Failure(cntk_model_parameter(frames.model, "z", CNTK_FLOAT, values, 6, &count)),
              "5: node 'z' has the type Plus, whose values the model does not store; expected a parameter");
    EXPECT_EQ(Failure(cntk_set_axis_sequences(frames.evaluator, "words", &length, 1)),
              "2: no input has the dynamic axis 'words'; expected one of \"\" (the default axis)");
    cntk_evaluator* evaluator = nullptr;
    const char* const name = "q";
    EXPECT_EQ(Failure(cntk_evaluator_create(frames.model, &name, 1, &evaluator)), "5: the model has no node 'q'");
    EXPECT_EQ(Failure(cntk_evaluate(nullptr)), "2: evaluator is NULL");
    cntk_model_release(nullptr);
    cntk_evaluator_release(nullptr);
    cntk_reset(nullptr);
}

TEST(CApi, OpensModelsByConfig)
{
    const std::string path =
        (std::filesystem::temp_directory_path() / ("CApi" + std::to_string(getpid()) + ".dnn")).string();
    AtomicFile file(path);
    file.Write(FrameModel());
    file.Commit();
    cntk_model* model = nullptr;
    ExpectOk(cntk_model_open(
        ("modelPath=\"" + path + "\"; precision=float; numCPUThreads=1; outputNodeNames=Wx:z").c_str(), &model));
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(cntk_model_count(model, CNTK_OUTPUTS), 2u);
    cntk_model_release(model);
    ExpectOk(cntk_model_open(("modelPath=" + path + "\ndeviceId=-1\nsomethingElse=1\n").c_str(), &model));
    cntk_model_release(model);
    ExpectOk(cntk_model_load(path.c_str(), CNTK_AS_FILE, &model));
    cntk_model_release(model);
    RemoveFile(path);
}

TEST(CApi, EvaluatorsOfOneModelRunOnSeveralThreads)
{
    const std::string bytes = RecurrentModel();
    cntk_model* model = nullptr;
    ExpectOk(cntk_model_load_memory(bytes.data(), bytes.size(), CNTK_AS_FILE, &model));
    Evaluation alone(bytes);
    const std::vector<double> data = EvalData(3 * 20);
    const std::vector<double> expected = alone.Evaluate(data, {20});
    std::vector<std::thread> threads;
    std::vector<std::vector<double>> outputs(4, std::vector<double>(expected.size()));
    for (size_t i = 0; i < outputs.size(); i++)
        threads.emplace_back(
            [&, i]
            {
                cntk_evaluator* evaluator = nullptr;
                cntk_evaluator_create(model, nullptr, 0, &evaluator);
                for (int repeat = 0; repeat < 50; repeat++)
                {
                    const size_t length = 20;
                    size_t samples = 0;
                    cntk_set_sequences(evaluator, &length, 1);
                    cntk_set_dense(evaluator, 0, CNTK_DOUBLE, data.data(), length);
                    cntk_evaluate(evaluator);
                    cntk_get(evaluator, 0, CNTK_DOUBLE, outputs[i].data(), outputs[i].size(), &samples);
                }
                cntk_evaluator_release(evaluator);
            });
    for (std::thread& thread : threads)
        thread.join();
    cntk_model_release(model);
    for (const std::vector<double>& output : outputs)
        ExpectClose(output, expected, 0);
}

TEST(CApi, EvaluatorsShareParameters)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer keeps several bytes for each byte that a thread reads";
#endif
    EvalNetwork net(DataType::Float32);
    const auto x = net.network.AddInput("features", {1000});
    net.Output(net.Add("Times", "z", {net.Parameter("W", {4000, 1000}), x})); // 16 MB
    const std::string bytes = net.Bytes();
    const auto resident = []
    {
        size_t pages = 0, own = 0;
        std::ifstream("/proc/self/statm") >> pages >> own;
        return own * size_t(sysconf(_SC_PAGESIZE));
    };
    Evaluation first(bytes);
    const size_t before = resident();
    std::vector<cntk_evaluator*> evaluators(4);
    const std::vector<float> data(1000, 1);
    for (cntk_evaluator*& evaluator : evaluators)
    {
        ExpectOk(cntk_evaluator_create(first.model, nullptr, 0, &evaluator));
        ExpectOk(cntk_set_dense(evaluator, 0, CNTK_FLOAT, data.data(), 1));
        ExpectOk(cntk_evaluate(evaluator));
    }
    EXPECT_LT(resident() - before, size_t(12) << 20);
    for (cntk_evaluator* evaluator : evaluators)
        cntk_evaluator_release(evaluator);
}

} // namespace cntk::Testing
