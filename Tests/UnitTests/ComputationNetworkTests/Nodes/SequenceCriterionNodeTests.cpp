// SequenceWithSoftmax through a network, against differences and against its formula.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "ComputationNetwork/Nodes/SequenceCriterionNode.h"
#include "ComputationNetworkTests/TestNetwork.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "RandomLattice.h"

#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

constexpr uint32_t c_classes = 3;
const std::vector<size_t> c_lengths{5, 2, 4};

// z = W x, log likelihoods z - prior, sequences of several lengths side by side.
struct SequenceNetwork : TestNetwork
{
    explicit SequenceNetwork(bool sparse = false, DataType type = DataType::Float64,
                             std::shared_ptr<Device> device = nullptr)
        : TestNetwork(type, std::move(device))
    {
        weights = Parameter("W", {c_classes, 2});
        prior = Parameter("prior", {c_classes, 1});
        x = Input("x", {2});
        labels = network.AddInput("labels", {c_classes}, sparse);
        z = Add("Times", "z", {weights, x});
        const auto likelihood = Add("Minus", "likelihood", {z, prior});
        node = Add("SequenceWithSoftmax", "criterion", {labels, z, likelihood});
        entropy = Add("CrossEntropyWithSoftmax", "entropy", {labels, z});
        network.Validate();
        SetSequences(c_lengths);
        FillInputs();
        std::vector<double> reference(c_classes * network.Layout()->Columns());
        std::mt19937 random(5);
        for (size_t column = 0; column < network.Layout()->Columns(); ++column)
            reference[column * c_classes + random() % c_classes] = 1;
        SetInput(labels, reference);
        for (const size_t length : c_lengths)
            lattices.push_back(std::make_shared<Lattice>(RandomLattice(uint32_t(length), c_classes, random)));
        Criterion().SetLattices(lattices);
    }
    SequenceCriterionNode& Criterion() const { return dynamic_cast<SequenceCriterionNode&>(*node); }
    Matrix& Weights() const { return dynamic_cast<LearnableParameterNode&>(*weights).Values(); }

    ComputationNodePtr weights, prior, x, labels, z, node, entropy;
    std::vector<LatticePtr> lattices;
};

struct ValueAndGradients
{
    double value = 0;
    std::vector<double> weights, prior;
};

ValueAndGradients Evaluate(SequenceNetwork& net, const ComputationNodePtr& criterion)
{
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    evaluator.Forward();
    evaluator.Backward(criterion);
    return {ValueOf(criterion)[0], GradientOf(net.weights), GradientOf(net.prior)};
}

std::vector<double> SlopesOfValue(SequenceNetwork& net)
{
    constexpr double step = 1e-5;
    Evaluator evaluator(net.network, {net.node}, Checked(false));
    const std::vector<double> values = net.Weights().ToHost();
    std::vector<double> slopes;
    for (size_t i = 0; i < values.size(); ++i)
    {
        const auto valueAt = [&](double moved)
        {
            std::vector<double> there = values;
            there[i] = moved;
            net.Weights().FromHost(there);
            evaluator.Forward();
            return ValueOf(net.node)[0];
        };
        slopes.push_back((valueAt(values[i] + step) - valueAt(values[i] - step)) / (2 * step));
    }
    net.Weights().FromHost(values);
    return slopes;
}

// factor a + (1 - factor) b
std::vector<double> Mix(const std::vector<double>& a, const std::vector<double>& b, double factor)
{
    std::vector<double> mixed;
    for (size_t i = 0; i < a.size(); ++i)
        mixed.push_back(factor * a[i] + (1 - factor) * b[i]);
    return mixed;
}

const SequenceTrainingSettings c_information{.smoothing = 1,
                                             .frameDropThreshold = 0,
                                             .acousticFactor = 2.5,
                                             .languageFactor = 3,
                                             .boost = 0.2,
                                             .wordPenalty = -0.7};
SequenceTrainingSettings Risk()
{
    SequenceTrainingSettings settings = c_information;
    settings.usesMbr = true;
    settings.boost = 0;
    return settings;
}

} // namespace

// z and the log likelihoods move together, so the gradient by formula is that of the value: downwards, and without the
// acoustic factor.
TEST(SequenceWithSoftmax, GradientRaisesTheValue)
{
    for (const bool sparse : {false, true})
        for (const SequenceTrainingSettings& settings : {c_information, Risk()})
        {
            SequenceNetwork net(sparse);
            net.Criterion().SetSettings(settings);
            const ValueAndGradients result = Evaluate(net, net.node);
            std::vector<double> expected = SlopesOfValue(net);
            for (double& slope : expected)
                slope *= -settings.acousticFactor;
            ExpectNear(result.weights, expected, 1e-7);
            EXPECT_EQ(result.prior, std::vector<double>(c_classes)); // the log likelihoods get no gradient
        }
}

TEST(SequenceWithSoftmax, SmoothingMixesTheCrossEntropyIn)
{
    for (SequenceTrainingSettings settings : {c_information, Risk()})
    {
        SequenceNetwork net;
        const ValueAndGradients entropy = Evaluate(net, net.entropy);
        net.Criterion().SetSettings(settings);
        const ValueAndGradients whole = Evaluate(net, net.node);
        for (const double h : {0.0, 0.3, 0.95})
        {
            settings.smoothing = h;
            net.Criterion().SetSettings(settings);
            const ValueAndGradients mixed = Evaluate(net, net.node);
            ExpectNear(mixed.weights, Mix(whole.weights, entropy.weights, h));
            EXPECT_EQ(mixed.value, whole.value);
        }
    }
}

// One frame a sequence: what is left out is its whole gradient.
TEST(SequenceWithSoftmax, FramesWhoseReferenceIsNotInTheLatticeAreLeftOut)
{
    SequenceNetwork net;
    net.SetSequences({1, 1});
    SetInput(net.x, {1, 2, -3, 4});
    SetInput(net.labels, {1, 0, 0, 0, 0, 1});
    Lattice lattice;
    lattice.frames = 1;
    lattice.nodeFrames = {0, 1};
    lattice.arcs = {{0, 1, 0, true, 0}, {0, 1, 1, true, 0}};
    lattice.segments = {{1, 0}, {1, 1}};
    const auto shared = std::make_shared<Lattice>(lattice);
    net.Criterion().SetLattices({shared, shared});
    SequenceTrainingSettings settings = c_information;
    settings.smoothing = 0.5;
    settings.frameDropThreshold = 1e-10;
    net.Criterion().SetSettings(settings);
    const std::vector<double> kept = Evaluate(net, net.node).weights;

    // The first sequence alone.
    net.SetSequences({1});
    SetInput(net.x, {1, 2});
    SetInput(net.labels, {1, 0, 0});
    net.Criterion().SetLattices({shared});
    ExpectNear(kept, Evaluate(net, net.node).weights);

    settings.frameDropThreshold = 1; // below which all posteriors are but that of a sure reference
    net.Criterion().SetSettings(settings);
    EXPECT_EQ(Evaluate(net, net.node).weights, std::vector<double>(2 * c_classes));
}

TEST(SequenceWithSoftmax, ComputesTheSameOnAGpu)
{
    for (const bool sparse : {false, true})
    {
        SequenceNetwork onCpu(sparse), onGpu(sparse, DataType::Float32, MakeEmulatedGpu());
        ValueAndGradients results[2];
        for (SequenceNetwork* net : {&onCpu, &onGpu})
        {
            SequenceTrainingSettings settings = c_information;
            settings.smoothing = 0.6;
            net->Criterion().SetSettings(settings);
            results[net == &onGpu] = Evaluate(*net, net->node);
        }
        EXPECT_NEAR(results[1].value, results[0].value, 1e-5);
        ExpectNear(results[1].weights, results[0].weights, 1e-5);
    }
}

TEST(SequenceWithSoftmax, TellsWhatDoesNotFit)
{
    SequenceNetwork net;
    Evaluator evaluator(net.network, {net.node}, Checked(false));
    const auto message = [&] { return MessageOf([&] { evaluator.Forward(); }); };
    net.Criterion().SetLattices({net.lattices[0], nullptr, net.lattices[2]});
    EXPECT_EQ(message(), "SequenceWithSoftmax has no lattice of sequence 1 of the minibatch");
    net.Criterion().SetLattices({net.lattices[0], net.lattices[2], net.lattices[2]});
    EXPECT_EQ(message(), "sequence 1 of the minibatch has 2 frames, but its lattice has 4");
    Lattice other = *net.lattices[1];
    other.segments.back().state = c_classes;
    net.Criterion().SetLattices({net.lattices[0], std::make_shared<Lattice>(other), net.lattices[2]});
    EXPECT_EQ(message(), "the lattice of sequence 1 of the minibatch has state 3, but 'z' [3] has 3 states");
    net.Criterion().SetLattices(net.lattices);
    EXPECT_EQ(message(), "");
    std::vector<double> soft(c_classes * net.network.Layout()->Columns(), 1.0 / c_classes);
    SetInput(net.labels, soft);
    EXPECT_EQ(
        message(),
        "'labels' of step 0 of sequence 0 of the minibatch has 3 states; SequenceWithSoftmax expects a single 1, the "
        "state of the reference");
    net.network.Layout()->Init(1, 4);
    net.network.Layout()->AddSequence(0, 0, -1, 4);
    SetInput(net.x, SomeData(8));
    SetInput(net.labels, {1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0});
    EXPECT_EQ(message(),
              "SequenceWithSoftmax needs whole sequences, but sequence 0 is cut; expected truncated=false of "
              "the reader");
}

TEST(SequenceWithSoftmax, AGradientCheckIsToldWhatItIs)
{
    SequenceNetwork net;
    Evaluator evaluator(net.network, {net.node}, Checked(true));
    const std::string message = MessageOf([&] { CheckGradients(evaluator, net.node, 6); });
    EXPECT_NE(message.find("the gradient of SequenceWithSoftmax 'criterion' is not that of its value"),
              std::string::npos)
        << message;
}

} // namespace cntk::Testing
