// gradientcheck=true: what it finds, and that it changes nothing else.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "SGDTests/TrainingFixture.h"

#include <gmock/gmock.h>

namespace cntk
{

class GradientCheckedTraining : public TrainingTest
{
};

TEST_F(GradientCheckedTraining, ChangesNothingAndTellsTheWorst)
{
    TrainingRequest request = ClassifierRequest(2);
    Run(request);
    const std::string plain = BytesOf(Path("m.dnn"));
    request.makeMode = false;
    request.options.gradientCheck = true;
    Run(request);
    EXPECT_EQ(BytesOf(Path("m.dnn")), plain);
    EXPECT_THAT(LogText(), ::testing::ContainsRegex("Gradient check of epoch 2: all gradients agree to 6 digits; at "
                                                    "worst, the derivative of 'ce' by element"));
}

// Values that the backward pass reads early and does not keep to its end, in minibatches of one part and of several.
TEST_F(GradientCheckedTraining, ChangesNothingWhereGradientsTakeTheMemoryOfValues)
{
    for (const size_t parts : {1, 2})
    {
        TrainingRequest request = ClassifierRequest(2);
        request.makeMode = false;
        request.options.numSubminibatches = parts;
        request.buildNetwork = [this]
        {
            auto network = Classifier();
            ComputationNodePtr hidden = network->Require("H1");
            for (const char* name : {"H2", "H3", "H4"})
                hidden = network->Add("ElementTimes", name,
                                      {network->Add("Softmax", Concat(name, ".softmax"), {hidden}),
                                       network->Add("Tanh", Concat(name, ".tanh"), {hidden})});
            network->SetInput(network->Require("W1*H1"), 1, hidden);
            network->Validate();
            return network;
        };
        Run(request);
        const std::string plain = BytesOf(Path("m.dnn"));
        request.options.gradientCheck = true;
        Run(request);
        EXPECT_EQ(BytesOf(Path("m.dnn")), plain) << parts;
    }
}

TEST_F(GradientCheckedTraining, StopsWhereDifferencesDisagree)
{
    TrainingRequest request = ClassifierRequest(1);
    request.options.gradientCheck = true;
    request.options.sigFigs = 15; // more than differences can give
    try
    {
        Run(request);
        FAIL() << "no error";
    }
    catch (const Error& error)
    {
        EXPECT_THAT(error.Message(), ::testing::StartsWith("gradient check: the derivative of 'ce' by element ["));
        EXPECT_THAT(error.Message(), ::testing::HasSubstr("; expected agreement to 15 digits, but here differences are "
                                                          "exact to some "));
        EXPECT_EQ(error.Kind(), ErrorKind::Config);
        EXPECT_THAT(error.Report(), ::testing::HasSubstr("while training epoch 1, minibatch 1"));
    }
}

TEST_F(GradientCheckedTraining, ContradictionsAreRefused)
{
    const auto messageOf = [&](const TrainingRequest& request)
    { return MessageOf(ErrorKind::Config, [&] { Run(request); }); };
    TrainingRequest request = ClassifierRequest(2);
    request.options.gradientCheck = true;
    request.options.sigFigs = 16;
    EXPECT_EQ(messageOf(request), "block 'SGD': sigFigs is 16; expected 1 to 15 digits");
    request.options.sigFigs = 6;
    request.options.dropoutRate = 0.5;
    EXPECT_EQ(messageOf(request),
              "block 'SGD': gradientcheck cannot tell anything of a network with dropout, whose masks change from one "
              "evaluation to the next, but dropoutRate is 0.5 in epoch 1");
}

} // namespace cntk
