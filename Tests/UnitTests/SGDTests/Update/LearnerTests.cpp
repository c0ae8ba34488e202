// However an update is made (of the touched columns alone, in the backward pass, with states that are made later), it
// changes the same parameters and leaves the same states as a plain one.
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
    InPart,    // of gradients that have touched columns those alone
    InBackward // by the backward pass, behind the product that is the gradient; what that leaves, in part
};

// Evaluator and learner of a network.
struct Trained
{
    Trained(ComputationNetwork& network, const ComputationNodePtr& root, const SgdOptions& options)
        : criterion(root), evaluator(network, {root}, {.training = true, .keepValues = {}, .backwardRoot = root}),
          learner(evaluator.Parameters(), options, network.GetDataType(), network.GetDevice())
    {
    }

    // Forward and backward, and what the backward pass updates.
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

// A model of words in classes, whose output matrix gets gradients for the classes at hand only.
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
        // Classes of words 0-1, 2-3, 4-5 take turns.
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
    SgdOptions both = adagrad; // of words that are not in a minibatch L2 leaves directions where their gradient is
    both.l2RegWeight = 0.1;
    for (const SgdOptions& options : {SgdOptions(), regularized, adagrad, both})
    {
        WordModel part(options);
        WordModel whole(options);
        // Without momentum, with it, and without again: what was passed over must not come back.
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

// A minibatch without words counts as dense: of the update in part before nothing is left in the states.
TEST(LearnerTest, ADenseUpdateEndsWhatOneInPartLeft)
{
    WordModel part{SgdOptions()}, whole{SgdOptions()};
    for (size_t minibatch = 0; minibatch < 2; minibatch++)
    {
        part.Train(minibatch, 0, minibatch == 1 ? Update::Dense : Update::InPart);
        whole.Train(minibatch, 0, Update::Dense);
    }
    ExpectSame(part, whole);
}

// What is remembered of an update in part is in the states: a learner that takes them goes on with the same bits.
TEST(LearnerTest, UpdatesInPartGoOnFromSavedStates)
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

// States that are made of the last gradients are those that every update writes: when somebody asks, and at the end.
void ExpectSameStatesFromGradientsThatStay(const SgdOptions& options, Update update)
{
    SCOPED_TRACE(Concat("L1 ", options.l1RegWeight, ", L2 ", options.l2RegWeight, ", update ", int(update)));
    for (const bool isForwardRepeated : {false, true})
        for (const size_t asked : {size_t(1), size_t(3), SIZE_MAX})
        {
            WordModel lazy{options};
            WordModel eager{options};
            // Epochs of three minibatches, of which the last has momentum.
            for (size_t minibatch = 0; minibatch < 9; minibatch++)
            {
                if (minibatch % 3 == 0)
                    lazy.GetLearner().LetGradientsStay(minibatch < 6);
                const double momentum = minibatch < 6 ? 0 : 0.7;
                lazy.Train(minibatch, momentum, update);
                eager.Train(minibatch, momentum, update == Update::Dense ? Update::Dense : Update::InPart);
                if (isForwardRepeated) // by an evaluation, or a minibatch that is not finite: without an update
                    lazy.trained->evaluator.Forward();
                if (minibatch == asked)
                    ExpectSame(lazy, eager);
                if (minibatch % 3 == 2)
                {
                    lazy.GetLearner().LetGradientsStay(false);
                    for (const auto& parameter : lazy.Parameters()) // that an evaluation takes away
                        Ops::Fill(parameter->Gradient(), 1e10);
                    for (const auto& parameter : lazy.Parameters())
                        parameter->GradientColumns().all = true;
                    ExpectSame(lazy, eager);
                }
            }
        }
}

TEST(LearnerTest, StatesFromGradientsThatStayAreTheSame)
{
    SgdOptions l1, l2, clipped;
    l1.l1RegWeight = 0.01;
    l2.l2RegWeight = 0.1;
    clipped.clippingThresholdPerSample = 0.01;
    for (const SgdOptions& options : {SgdOptions(), l1, l2, clipped})
    {
        for (const Update update : {Update::InPart, Update::Dense, Update::InBackward})
            ExpectSameStatesFromGradientsThatStay(options, update);
    }
}

// Each gradient is -2, of the minibatch's word alone. The first of sparse gradients counts as dense, and leaves the
// rate's part of it; the second keeps the rate out, and leaves the first word's state as it is, which is to be there
// for that.
TEST(LearnerTest, WhatTheFirstOfSparseGradientsLeftStays)
{
    for (const bool stays : {false, true})
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
        trained.learner.LetGradientsStay(stays);
        for (const int32_t word : {0, 1})
        {
            const double one = 1;
            const int32_t starts[] = {0, 1};
            dynamic_cast<InputValueNode&>(*x).SetSparse(&one, &word, starts, 2, 1);
            SetDense(labels, {one}, 1);
            trained.Backward(0.125, 0, 1, Update::InPart);
            if (word == 0)
                weights->GradientColumns().all = true; // as behind an evaluation
            trained.learner.Update(0.125, 0, 1);
        }
        EXPECT_EQ(weights->Values().ToHost(), (std::vector<double>{0.25, 0.25}));
        EXPECT_EQ(trained.learner.States()[0]->ToHost(), (std::vector<double>{-0.25, -2}));
    }
}

// Of the words' weights no gradient is written where the state can wait; with momentum, L2 or clipping there is one.
TEST(LearnerTest, WordsAreUpdatedBehindTheirGradient)
{
    SgdOptions l2, clipped;
    l2.l2RegWeight = 0.1;
    clipped.clippingThresholdPerSample = 0.01;
    const auto isWritten = [](const SgdOptions& options, double momentum, bool stays)
    {
        WordModel model(options);
        model.GetLearner().LetGradientsStay(stays);
        model.Train(0, momentum, Update::InBackward);
        Ops::Fill(model.weights->Gradient(), 7);
        model.weights->GradientColumns().all = true;
        model.Train(1, momentum, Update::InBackward);
        const MatrixView gradient = model.weights->Gradient();
        return std::any_of(gradient.As<double>(), gradient.As<double>() + gradient.Elements(),
                           [](double element) { return element != 7; });
    };
    EXPECT_FALSE(isWritten(SgdOptions(), 0, true));
    EXPECT_TRUE(isWritten(SgdOptions(), 0, false));
    EXPECT_TRUE(isWritten(SgdOptions(), 0.7, false));
    EXPECT_TRUE(isWritten(l2, 0, true));
    EXPECT_TRUE(isWritten(clipped, 0, true));
}

// Parameters that the backward pass updates, beside another one: the weights of two layers, of which the second one's
// do not have whole cache lines as columns, and a bias. The first layer reads numbers, or windows of embedded words, so
// many of which repeat that each is multiplied by itself.
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

    // An epoch is the minibatches between two calls of LetGradientsStay.
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
                    for (const bool stays : {false, true})
                    {
                        Layers behind(options, type, threads, reads), apart(options, type, threads, reads);
                        const double momenta[] = {0, 0, 0, 0.99, 0.99, 0, 0, 0, 0.9};
                        for (size_t minibatch = 0; minibatch < std::size(momenta); minibatch++)
                        {
                            for (Layers* layers : {&behind, &apart})
                                layers->GetLearner().LetGradientsStay(stays && momenta[minibatch] == 0);
                            behind.Train(momenta[minibatch], Update::InBackward);
                            apart.Train(momenta[minibatch], Update::InPart);
                            if (minibatch % 3 == 1)
                            {
                                ASSERT_EQ(behind.All(), apart.All()) << "after minibatch " << minibatch;
                            }
                        }
                        ASSERT_EQ(behind.All(), apart.All());
                    }
}

// With momentum nobody needs the gradient behind its product.
TEST(LearnerTest, UpdatesInTheBackwardPassLeaveNoGradient)
{
    for (const Layers::Reads reads : {Layers::Reads::Numbers, Layers::Reads::Words})
    {
        Layers layers(SgdOptions(), DataType::Float64, 1, reads);
        for (const char* name : {"W", "V", "B"})
        {
            layers.Train(0.9, Update::InBackward);
            layers.FillGradient(name, 7);
            layers.Train(0.9, Update::InBackward);
            const std::vector<double> found = layers.GradientOf(name);
            const bool isLeft = std::all_of(found.begin(), found.end(), [](double element) { return element == 7; });
            EXPECT_EQ(isLeft, std::string(name) != "B") << name;
        }
    }
}

// d/dw (1 - 2 w)^2 of w = 0 is -4; at rate 0.125 a parameter moves by half of it times its multiplier.
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

// Of gradients that are always the same the mean is that gradient, whatever the momentum: each step is the rate.
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
              "trained; if the model was edited, remove its checkpoint: the training then goes on with smoothed "
              "gradients of 0 and the rates of the config");
}

// At a trial's end the states become what they were before it, also those that grow with the first update.
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
