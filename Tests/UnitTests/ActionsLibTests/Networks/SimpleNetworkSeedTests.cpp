// Start values of SimpleNetworkBuilder's networks under a trainingSeed.
#include "ActionsLib/Networks/SimpleNetworkBuilder.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

namespace cntk
{
namespace
{

std::map<std::string, std::vector<double>> StartValues(const char* kind, uint64_t trainingSeed, bool uniform = true)
{
    SimpleNetworkOptions options;
    options.rnnType = {kind};
    options.layerSizes = {3, 4, 2};
    options.uniformInit = uniform;
    options.startValueSeeds = SeedStream(trainingSeed, "start values");
    const auto network = BuildSimpleNetwork(options, DataType::Float64, MakeCpuDevice({.threads = 1}));
    std::map<std::string, std::vector<double>> values;
    for (const ComputationNodePtr& node : network->Nodes())
        if (const auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node))
            values[node->Name()] = parameter->Values().ToHost();
    return values;
}

TEST(SimpleNetworkSeedTests, EveryRandomParameterFollowsTheSeedAndNoOtherOne)
{
    for (const char* kind : {"SIMPLENET", "SIMPLERNN", "LSTM"})
        for (const bool uniform : {false, true})
        {
            SCOPED_TRACE(kind);
            const auto original = StartValues(kind, 0, uniform);
            const auto one = StartValues(kind, 1, uniform);
            const auto two = StartValues(kind, 2, uniform);
            EXPECT_EQ(one, StartValues(kind, 1, uniform));
            size_t random = 0;
            for (const auto& [name, values] : original)
            {
                bool isFixed = true;
                for (const double value : values)
                    isFixed = isFixed && value == values[0];
                if (isFixed)
                {
                    EXPECT_EQ(one.at(name), values) << name;
                    continue;
                }
                ++random;
                EXPECT_NE(one.at(name), values) << name;
                EXPECT_NE(one.at(name), two.at(name)) << name;
            }
            EXPECT_GE(random, 2u);
        }
}

} // namespace
} // namespace cntk
