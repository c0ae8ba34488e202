// Updates of touched columns and updates in the backward pass change parameters and states in the same way as updates
// of all columns after it.
#include "Common/Error.h"
#include "Common/Text.h"
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "Math/Operations.h"
#include "SGD/Update/Learner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>

namespace cntk
{

namespace
{

// How a minibatch updates the parameters.
enum class Update
{
    Dense,     // all columns of each gradient
    InPart,    // the touched columns of gradients that have them
    InBackward // in the backward pass after the product that computes the gradient, else as InPart
};

// Evaluator and learner of a network.
struct Trained
{
    Trained(ComputationNetwork& network, const ComputationNodePtr& root, const SgdOptions& options)
        : criterion(root), evaluator(network, {root}, {.training = true, .keepValues = {}, .backwardRoot = root}),
          learner(evaluator.Parameters(), options, network.GetDataType(), network.GetDevice())
    {
    }

    // Runs forward and backward pass, with the updates in the backward pass.
    void Backward(double rate, double momentumPerSample, size_t columns, Update update)
    {
        evaluator.Forward();
        if (update == Update::InBackward)
            learner.BeginUpdate(rate, momentumPerSample, columns);
        evaluator.Backward(criterion, update == Update::InBackward ? &learner : nullptr);
    }

    ComputationNodePtr criterion;
    Evaluator evaluator;
    Learner learner;
};

std::shared_ptr<LearnableParameterNode> AddParameter(ComputationNetwork& network, const std::string& name,
                                                     const TensorShape& shape)
{
    return std::dynamic_pointer_cast<LearnableParameterNode>(network.AddParameter(name, shape));
}

void SetDense(const ComputationNodePtr& input, const std::vector<double>& values, size_t columns)
{
    dynamic_cast<InputValueNode&>(*input).SetDense(values.data(), values.size() / columns, columns);
}

// A model of words in classes. The gradient of its output matrix has the columns of the minibatch's classes.
struct WordModel
{
    explicit WordModel(SgdOptions options) : network(DataType::Float64, MakeCpuDevice({.threads = 1}))
    {
        network.Layout()->InitAsFrameMode(2);
        const auto parameter = [&](const char* name, const TensorShape& shape)
        {
            const auto node = AddParameter(network, name, shape);
            std::vector<double> values(shape.Elements());
            for (size_t i = 0; i < values.size(); i++)
                values[i] = 0.1 * double(i % 7) - 0.3;
            node->Values().FromHost(values);
            return node;
        };
        labels = network.AddInput("labels", {4});
        x = network.AddInput("x", {2});
        weights = parameter("W", {2, 6});
        const ComputationNodePtr scores = network.Add("Times", "q", {parameter("V", {3, 2}), x});
        const ComputationNodePtr criterion =
            network.Add("ClassBasedCrossEntropyWithSoftmax", "c", {labels, x, weights, scores});
        network.Validate();
        trained.emplace(network, criterion, options);
    }

    void Train(size_t minibatch, double momentumPerSample, Update update)
    {
        // Minibatches use the classes of words 0-1, 2-3 and 4-5 in turn.
        const double first = double(2 * (minibatch % 3));
        const std::vector<double> label = {first,     double(minibatch % 3), first, first + 2,
                                           first + 1, double(minibatch % 3), first, first + 2};
        const std::vector<double> input = {0.5 + double(minibatch), -1, 0.25, 1};
        SetDense(labels, label, 2);
        SetDense(x, input, 2);
        trained->Backward(0.1, momentumPerSample, 2, update);
        if (update != Update::InBackward)
        {
            EXPECT_FALSE(weights->GradientColumns().all);
            weights->GradientColumns().all = update == Update::Dense;
        }
        GetLearner().Update(0.1, momentumPerSample, 2);
    }

    Learner& GetLearner() { return trained->learner; }
    const auto& Parameters() { return trained->evaluator.Parameters(); }

    ComputationNetwork network;
    ComputationNodePtr labels, x;
    std::shared_ptr<LearnableParameterNode> weights;
    std::optional<Trained> trained;
};

void ExpectSame(WordModel& part, WordModel& whole)
{
    const auto near = [](const std::vector<double>& a, const std::vector<double>& b, const char* what)
    {
        ASSERT_EQ(a.size(), b.size());
        for (size_t i = 0; i < a.size(); i++)
            EXPECT_NEAR(a[i], b[i], 1e-14) << what << ", element " << i;
    };
    near(part.weights->Values().ToHost(), whole.weights->Values().ToHost(), "parameter");
    const auto states = part.GetLearner().States();
    const auto expected = whole.GetLearner().States();
    for (size_t i = 0; i < states.size(); i++)
        near(states[i]->ToHost(), expected[i]->ToHost(), "state");
}

} // namespace

TEST(LearnerTest, UpdatesInPartEqualDenseOnes)
{
    SgdOptions regularized;
    regularized.l2RegWeight = 0.1;
    SgdOptions adagrad;
    adagrad.gradUpdateType = GradientUpdateType::AdaGrad;
    SgdOptions both = adagrad; // L2 adds to the gradients of words that are not in a minibatch
    both.l2RegWeight = 0.1;
    for (const SgdOptions& options : {SgdOptions(), regularized, adagrad, both})
    {
        WordModel part(options);
        WordModel whole(options);
        // Without momentum, with it, and without again: states of earlier columns must not come back.
        const double momenta[] = {0, 0, 0, 0.7, 0.7, 0, 0, 0.5};
        for (size_t minibatch = 0; minibatch < std::size(momenta); minibatch++)
        {
            part.Train(minibatch, momenta[minibatch], Update::InPart);
            whole.Train(minibatch, momenta[minibatch], Update::Dense);
            if (minibatch % 2 == 1)
                ExpectSame(part, whole);
        }
        ExpectSame(part, whole);
    }
}

// A minibatch without words has a dense update, which replaces the whole state.
TEST(LearnerTest, ADenseUpdateReplacesTheStateOfTouchedColumns)
{
    WordModel part{SgdOptions()}, whole{SgdOptions()};
    for (size_t minibatch = 0; minibatch < 2; minibatch++)
    {
        part.Train(minibatch, 0, minibatch == 1 ? Update::Dense : Update::InPart);
        whole.Train(minibatch, 0, Update::Dense);
    }
    ExpectSame(part, whole);
}

// A learner that takes the states of another one continues with the same bits.
TEST(LearnerTest, UpdatesOfTouchedColumnsResumeFromSavedStates)
{
    const double momenta[] = {0, 0, 0.7, 0.7, 0, 0, 0, 0.5, 0.5, 0};
    for (size_t stop = 1; stop < std::size(momenta); stop++)
    {
        WordModel undisturbed{SgdOptions()};
        WordModel before{SgdOptions()};
        for (size_t minibatch = 0; minibatch < std::size(momenta); minibatch++)
            undisturbed.Train(minibatch, momenta[minibatch], Update::InPart);
        for (size_t minibatch = 0; minibatch < stop; minibatch++)
            before.Train(minibatch, momenta[minibatch], Update::InPart);

        WordModel after{SgdOptions()};
        std::vector<Matrix> states;
        for (const Matrix* state : before.GetLearner().States())
        {
            Matrix saved(state->Rows(), state->Columns(), DataType::Float64, after.network.GetDevice());
            saved.FromHost(state->ToHost());
            states.push_back(std::move(saved));
        }
        after.GetLearner().Restore(std::move(states), "c.ckp");
        const auto from = before.Parameters();
        const auto to = after.Parameters();
        for (size_t i = 0; i < from.size(); i++)
            to[i]->Values().FromHost(from[i]->Values().ToHost());
        for (size_t minibatch = stop; minibatch < std::size(momenta); minibatch++)
        {
            before.Train(minibatch, momenta[minibatch], Update::InPart);
            after.Train(minibatch, momenta[minibatch], Update::InPart);
        }
        EXPECT_EQ(before.weights->Values().ToHost(), undisturbed.weights->Values().ToHost());
        EXPECT_EQ(after.weights->Values().ToHost(), undisturbed.weights->Values().ToHost());
        const auto expected = undisturbed.GetLearner().States();
        const auto found = after.GetLearner().States();
        for (size_t i = 0; i < expected.size(); i++)
            EXPECT_EQ(found[i]->ToHost(), expected[i]->ToHost()) << "stopped after minibatch " << stop;
    }
}

// With updates in the backward pass, states are the same whenever they are read.
TEST(LearnerTest, WordClassesHaveTheSameStatesAfterUpdatesInTheBackwardPass)
{
    SgdOptions l1, l2, clipped;
    l1.l1RegWeight = 0.01;
    l2.l2RegWeight = 0.1;
    clipped.clippingThresholdPerSample = 0.01;
    for (const SgdOptions& options : {SgdOptions(), l1, l2, clipped})
        for (const size_t read : {size_t(1), size_t(3), SIZE_MAX})
        {
            WordModel early{options}, late{options};
            const double momenta[] = {0, 0, 0, 0, 0.7, 0, 0, 0.7, 0};
            for (size_t minibatch = 0; minibatch < std::size(momenta); minibatch++)
            {
                early.Train(minibatch, momenta[minibatch], Update::InBackward);
                late.Train(minibatch, momenta[minibatch], Update::InPart);
                if (minibatch == read)
                    ExpectSame(early, late);
                early.trained->evaluator.Forward(); // same as by an evaluation
            }
            for (const auto& parameter : early.Parameters()) // an evaluation may use the memory
                Ops::Fill(parameter->Gradient(), 1e10);
            ExpectSame(early, late);
        }
}

// Without momentum, L2 and clipping, the gradient of word classes is not written to memory.
TEST(LearnerTest, WordClassesAreUpdatedWithoutAGradient)
{
    SgdOptions l2, clipped;
    l2.l2RegWeight = 0.1;
    clipped.clippingThresholdPerSample = 0.01;
    const auto isWritten = [](const SgdOptions& options, double momentum)
    {
        WordModel model(options);
        model.Train(0, momentum, Update::InBackward);
        Ops::Fill(model.weights->Gradient(), 7);
        model.weights->GradientColumns().all = true;
        model.Train(1, momentum, Update::InBackward);
        const MatrixView gradient = model.weights->Gradient();
        return std::any_of(gradient.As<double>(), gradient.As<double>() + gradient.Elements(),
                           [](double element) { return element != 7; });
    };
    EXPECT_FALSE(isWritten(SgdOptions(), 0));
    EXPECT_TRUE(isWritten(SgdOptions(), 0.7));
    EXPECT_TRUE(isWritten(l2, 0));
    EXPECT_TRUE(isWritten(clipped, 0));
}

// Each gradient is -2 in the column of the minibatch's word. The first update is dense and stores rate * gradient. The
// second one stores the gradient in the touched column and does not change the state of the first word.
TEST(LearnerTest, SparseUpdatesLeaveOtherColumnsOfTheState)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice({.threads = 1}));
    network.Layout()->InitAsFrameMode(1);
    const ComputationNodePtr x = network.AddInput("x", {2}, true), labels = network.AddInput("labels", {1});
    const auto weights = AddParameter(network, "w", {1, 2});
    weights->InitFixed(0);
    const ComputationNodePtr criterion =
        network.Add("SquareError", "se", {labels, network.Add("Times", "y", {weights, x})});
    network.Validate();
    Trained trained(network, criterion, {});
    for (const int32_t word : {0, 1})
    {
        const double one = 1;
        const int32_t starts[] = {0, 1};
        dynamic_cast<InputValueNode&>(*x).SetSparse(&one, &word, starts, 2, 1);
        SetDense(labels, {one}, 1);
        trained.Backward(0.125, 0, 1, Update::InPart);
        if (word == 0)
            weights->GradientColumns().all = true; // same as after an evaluation
        trained.learner.Update(0.125, 0, 1);
    }
    EXPECT_EQ(weights->Values().ToHost(), (std::vector<double>{0.25, 0.25}));
    EXPECT_EQ(trained.learner.States()[0]->ToHost(), (std::vector<double>{-0.25, -2}));
}

// Two layers whose weights the backward pass updates, and a bias that it does not update. Columns of the second layer's
// weights are not whole cache lines. The first layer reads numbers, or windows of embedded words. So many of these
// repeat that each distinct word is multiplied once.
class Layers
{
public:
    enum class Reads
    {
        Numbers,
        Words
    };

    Layers(const SgdOptions& options, DataType type, int threads, Reads reads)
        : m_network(type, MakeCpuDevice({.threads = threads}))
    {
        const bool hasWords = reads == Reads::Words;
        m_network.Layout()->InitAsFrameMode(c_samples);
        const auto parameter = [&](const char* name, const TensorShape& shape)
        {
            const auto node = AddParameter(m_network, name, shape);
            Ops::FillUniform(node->Values(), -0.2, 0.2, shape.Elements());
            return node;
        };
        const ComputationNodePtr x =
            hasWords ? m_network.AddInput("x", {c_window * c_vocabulary}, true) : m_network.AddInput("x", {c_inputs});
        const ComputationNodePtr y = m_network.AddInput("y", {c_outputs});
        const ComputationNodePtr read =
            hasWords ? m_network.Add("LookupTable", "r", {parameter("E", {c_inputs / c_window, c_vocabulary}), x}) : x;
        const ComputationNodePtr hidden =
            m_network.Add("Sigmoid", "h",
                          {m_network.Add("Plus", "p",
                                         {m_network.Add("Times", "t", {parameter("W", {c_hidden, c_inputs}), read}),
                                          parameter("B", {c_hidden, 1})})});
        const ComputationNodePtr criterion = m_network.Add(
            "SquareError", "c", {y, m_network.Add("Times", "z", {parameter("V", {c_outputs, c_hidden}), hidden})});
        m_network.Validate();
        m_trained.emplace(m_network, criterion, options);
        if (hasWords)
            SetWords(dynamic_cast<InputValueNode&>(*x));
        for (const auto& [node, rows] : {std::pair{x, c_inputs}, std::pair{y, c_outputs}})
        {
            if (hasWords && node == x)
                continue;
            std::vector<double> values(rows * c_samples);
            for (size_t i = 0; i < values.size(); ++i)
                values[i] = 0.01 * double(i * i % 101);
            SetDense(node, values, c_samples);
        }
    }

    static void SetWords(InputValueNode& x)
    {
        std::vector<int32_t> rows, starts{0};
        for (size_t sample = 0; sample < c_samples; ++sample)
        {
            for (size_t word = 0; word < c_window; ++word)
                rows.push_back(int32_t(word * c_vocabulary + (sample + word) % (c_vocabulary - 6)));
            starts.push_back(int32_t(rows.size()));
        }
        x.SetSparse(std::vector<double>(rows.size(), 1).data(), rows.data(), starts.data(), c_window * c_vocabulary,
                    c_samples);
    }

    void Train(double momentumPerSample, Update update)
    {
        m_network.Layout()->BeginMinibatch();
        m_trained->Backward(c_rate, momentumPerSample, c_samples, update);
        GetLearner().Update(c_rate, momentumPerSample, c_samples);
    }

    Learner& GetLearner() { return m_trained->learner; }
    void FillGradient(const char* name, double value) { Ops::Fill(m_network.Find(name)->Gradient(), value); }
    std::vector<double> GradientOf(const char* name) const
    {
        const MatrixView gradient = m_network.Find(name)->Gradient();
        return std::vector<double>(gradient.As<double>(), gradient.As<double>() + gradient.Elements());
    }

    // Parameters and states.
    std::vector<std::vector<double>> All()
    {
        std::vector<std::vector<double>> all;
        for (const auto& parameter : m_trained->evaluator.Parameters())
            all.push_back(parameter->Values().ToHost());
        for (const Matrix* state : GetLearner().States())
            all.push_back(state->ToHost());
        return all;
    }

private:
    static constexpr size_t c_samples = 100, c_inputs = 150, c_hidden = 208, c_outputs = 5;
    static constexpr size_t c_window = 3, c_vocabulary = 75;
    static constexpr double c_rate = 0.001;

    ComputationNetwork m_network;
    std::optional<Trained> m_trained;
};

TEST(LearnerTest, UpdatesInTheBackwardPassGiveTheSameBits)
{
    SgdOptions regularized, clipped, nesterov;
    regularized.l2RegWeight = 0.1;
    clipped.clippingThresholdPerSample = 0.01;
    nesterov.useNAG = true;
    for (const SgdOptions& options : {SgdOptions(), regularized, clipped, nesterov})
        for (const DataType type : {DataType::Float32, DataType::Float64})
            for (const int threads : {1, 4})
                for (const Layers::Reads reads : {Layers::Reads::Numbers, Layers::Reads::Words})
                {
                    Layers early(options, type, threads, reads), late(options, type, threads, reads);
                    const double momenta[] = {0, 0, 0, 0.99, 0.99, 0, 0, 0, 0.9};
                    for (size_t minibatch = 0; minibatch < std::size(momenta); minibatch++)
                    {
                        early.Train(momenta[minibatch], Update::InBackward);
                        late.Train(momenta[minibatch], Update::InPart);
                        if (minibatch % 3 == 1)
                        {
                            ASSERT_EQ(early.All(), late.All()) << "after minibatch " << minibatch;
                        }
                    }
                    ASSERT_EQ(early.All(), late.All());
                }
}

TEST(LearnerTest, UpdatesInTheBackwardPassLeaveNoGradient)
{
    for (const double momentum : {0.0, 0.9})
        for (const Layers::Reads reads : {Layers::Reads::Numbers, Layers::Reads::Words})
        {
            Layers layers(SgdOptions(), DataType::Float64, 1, reads);
            for (const char* name : {"W", "V", "B"})
            {
                layers.Train(momentum, Update::InBackward);
                layers.FillGradient(name, 7);
                layers.Train(momentum, Update::InBackward);
                const std::vector<double> found = layers.GradientOf(name);
                const bool isLeft =
                    std::all_of(found.begin(), found.end(), [](double element) { return element == 7; });
                EXPECT_EQ(isLeft, std::string(name) != "B") << name;
            }
        }
}

// d/dw (1 - 2 w)^2 is -4 at w = 0. With rate 0.125 a parameter moves by 0.5 times its multiplier.
TEST(LearnerTest, ParametersMoveByTheirMultiples)
{
    for (const Update update : {Update::Dense, Update::InBackward})
    {
        ComputationNetwork network(DataType::Float64, MakeCpuDevice({.threads = 1}));
        network.Layout()->InitAsFrameMode(1);
        const ComputationNodePtr x = network.AddInput("x", {1}), labels = network.AddInput("labels", {1});
        std::vector<std::shared_ptr<LearnableParameterNode>> weights;
        ComputationNodePtr sum;
        for (const float multiplier : {1.0F, 0.25F, 3.0F})
        {
            const std::string name = Concat("w", weights.size());
            weights.push_back(AddParameter(network, name, {1, 1}));
            weights.back()->InitFixed(0);
            weights.back()->SetLearningRateMultiplier(multiplier);
            const ComputationNodePtr product = network.Add("Times", "y" + name, {weights.back(), x});
            sum = sum ? network.Add("Plus", "z" + name, {sum, product}) : product;
        }
        const ComputationNodePtr criterion = network.Add("SquareError", "se", {labels, sum});
        network.Validate();
        Trained trained(network, criterion, {});
        SetDense(x, {2}, 1);
        SetDense(labels, {1}, 1);
        trained.Backward(0.125, 0, 1, update);
        trained.learner.Update(0.125, 0, 1);
        EXPECT_EQ(weights[0]->Values().ToHost(), std::vector<double>{0.5});
        EXPECT_EQ(weights[1]->Values().ToHost(), std::vector<double>{0.125});
        EXPECT_EQ(weights[2]->Values().ToHost(), std::vector<double>{1.5});
    }
}

// The mean of equal gradients is the gradient, whatever the momentum, so each step has the size of the rate.
TEST(LearnerTest, AdamsMomentumLeavesTheSizeOfStepsAlone)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice({.threads = 1}));
    network.Layout()->InitAsFrameMode(1);
    const ComputationNodePtr x = network.AddInput("x", {1});
    const auto weight = AddParameter(network, "w", {1, 1});
    weight->InitFixed(0);
    const ComputationNodePtr criterion = network.Add("SumElements", "sum", {network.Add("Times", "y", {weight, x})});
    network.Validate();
    SgdOptions options;
    options.gradUpdateType = GradientUpdateType::Adam;
    Trained trained(network, criterion, options);
    SetDense(x, {2}, 1);
    for (const double expected : {-0.125, -0.25, -0.375})
    {
        trained.Backward(0.125, 0.5, 1, Update::Dense);
        trained.learner.Update(0.125, 0.5, 1);
        EXPECT_NEAR(weight->Values().ToHost()[0], expected, 1e-8);
    }
}

TEST(LearnerTest, StatesOfFewerParametersAreRefused)
{
    WordModel model{SgdOptions()};
    std::vector<Matrix> states;
    states.push_back(model.GetLearner().States()[0]->Clone());
    EXPECT_EQ(MessageOf(ErrorKind::Model, [&] { model.GetLearner().Restore(std::move(states), "m.ckp"); }),
              "checkpoint 'm.ckp' holds the state of 1 parameters, but the network has 2 that are "
              "trained; if the model was edited, remove its checkpoint: the training then resumes with smoothed "
              "gradients of 0 and the rates of the config");
}

// At the end of a trial the states become what they were before it, also those that grow with the first update.
TEST(LearnerTest, GoesBackToStatesInTheirMemory)
{
    for (const GradientUpdateType type :
         {GradientUpdateType::None, GradientUpdateType::AdaGrad, GradientUpdateType::RmsProp,
          GradientUpdateType::FSAdaGrad, GradientUpdateType::Adam})
    {
        SgdOptions options;
        options.gradUpdateType = type;
        for (const size_t start : {0, 2})
        {
            WordModel model(options);
            for (size_t minibatch = 0; minibatch < start; minibatch++)
                model.Train(minibatch, 0.5, Update::InPart);
            std::vector<Matrix> states;
            for (const Matrix* state : model.GetLearner().States())
                states.push_back(state->Clone());
            std::map<std::string, std::string> extra;
            model.GetLearner().SaveExtra(extra);
            std::vector<Matrix> values;
            for (const auto& parameter : model.Parameters())
                values.push_back(parameter->Values().Clone());

            std::vector<std::vector<double>> results;
            const void* memory = nullptr;
            for (int trial = 0; trial < 3; trial++)
            {
                for (size_t i = 0; i < values.size(); i++)
                    model.Parameters()[i]->Values().CopyFrom(values[i]);
                model.GetLearner().CopyStates(states);
                model.GetLearner().RestoreExtra(extra);
                model.Train(start, 0.5, Update::InPart);
                results.push_back(model.weights->Values().ToHost());
                results.push_back(model.GetLearner().States()[0]->ToHost());
                const void* const now = model.GetLearner().States()[0]->View().data;
                EXPECT_TRUE(trial == 0 || now == memory);
                memory = now;
                if (trial > 0)
                {
                    EXPECT_EQ(results[size_t(2 * trial)], results[0]);
                    EXPECT_EQ(results[size_t(2 * trial) + 1], results[1]);
                }
                model.Train(start + 1, 0.9, Update::InPart);
            }
        }
    }
}

} // namespace cntk
