// The message about a lack of memory: the buffer, the total, the largest buffers, and a minibatch size that fits.
#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetworkTests/TestNetwork.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>

namespace cntk::Testing
{
namespace
{

using ::testing::HasSubstr;

TEST(MemoryShortageTests, BytesAreWordedWithThreeDigits)
{
    EXPECT_EQ(BytesInWords(0), "0 bytes");
    EXPECT_EQ(BytesInWords(999), "999 bytes");
    EXPECT_EQ(BytesInWords(1000), "1 kB");
    EXPECT_EQ(BytesInWords(1234567), "1.23 MB");
    EXPECT_EQ(BytesInWords(999600), "1 MB");
    EXPECT_EQ(BytesInWords(20'500'000'000), "20.5 GB");
    EXPECT_EQ(BytesInWords(7'000'000'000'000'000), "7e+03 TB");
}

TEST(MemoryShortageTests, SharedMemoryCountsOnce)
{
    // 4000 bytes for a minibatch of 100 and 1000 for any minibatch: 0.88 * 3000 leaves 1640 for 41 columns.
    const std::vector<PlannedBuffer> buffers = {{"the value of 'H1'", 0, 3000, true},
                                                {"the gradient of 'W'", 1, 1000, false},
                                                {"the gradient of 'H1'", 2, 1000, true},
                                                {"the value of 'H2'", 0, 2000, true}};
    const std::vector<std::string> notes = DescribeShortage(buffers, 2, 100, 3000);
    ASSERT_EQ(notes.size(), 3u);
    EXPECT_EQ(notes[0], "the memory was for the gradient of 'H1'");
    EXPECT_EQ(
        notes[1],
        "values, gradients and temporaries of this network take 5 kB for a minibatch of 100 columns, and 3 kB can "
        "be had; the largest: the value of 'H1' (its memory serves 1 other in turn) 3 kB, the gradient of 'W' "
        "1 kB, the gradient of 'H1' 1 kB");
    EXPECT_EQ(notes[2], "minibatches of 41 columns (samples, all sequences together) would fit: lower minibatchSize, "
                        "or cut the minibatch with maxSamplesInRAM=41 or numSubminibatches=3");
}

TEST(MemoryShortageTests, ANetworkThatNeverFitsIsCalledSo)
{
    const std::vector<std::string> notes =
        DescribeShortage({{"the gradient of 'W'", 0, 5000, false}, {"the value of 'H'", 1, 10, true}}, 0, 10, 4000);
    EXPECT_EQ(notes.back(), "not even one column would fit: the network is too large for this device");
}

// A network of two layers whose values grow with the minibatch; x has 1000 dimensions.
struct GpuLayers : TestNetwork
{
    explicit GpuLayers(std::shared_ptr<Device> device) : TestNetwork(DataType::Float64, std::move(device))
    {
        const auto x = Input("x", {10});
        const auto h = Add("Sigmoid", "H", {Add("Times", "H.times", {Parameter("W1", {1000, 10}), x})});
        criterion =
            Add("TestCriterion", "ce", {Add("Tanh", "out", {Add("Times", "p", {Parameter("W2", {2, 1000}), h})})});
        network.Validate();
    }
    void Train(size_t samples)
    {
        SetFrames(samples);
        FillInputs();
        EvaluatorOptions options;
        options.training = true;
        Evaluator evaluator(network, {criterion}, options);
        evaluator.Forward();
        evaluator.Backward(criterion);
    }
    ComputationNodePtr criterion;
};

TEST(MemoryShortageTests, TheMinibatchThatIsNamedFits)
{
    constexpr size_t c_deviceBytes = 16 << 20;
    GpuLayers layers(MakeEmulatedGpu(EmulatedMemory::Open, c_deviceBytes));
    const std::string report = ReportOf([&] { layers.Train(5000); });
    EXPECT_THAT(report, HasSubstr("GPU 0 is out of memory: "));
    EXPECT_THAT(report, HasSubstr("the memory was for the "));
    EXPECT_THAT(report, HasSubstr(" for a minibatch of 5000 columns, and "));
    std::smatch found;
    ASSERT_TRUE(std::regex_search(report, found, std::regex("minibatches of ([0-9]+) columns"))) << report;
    const size_t fits = std::stoul(found[1]);
    EXPECT_GT(fits, 300u);
    EXPECT_LT(fits, 5000u);
    GpuLayers(MakeEmulatedGpu(EmulatedMemory::Open, c_deviceBytes)).Train(fits);
    EXPECT_THAT(ReportOf([&] { GpuLayers(MakeEmulatedGpu(EmulatedMemory::Open, c_deviceBytes)).Train(fits * 3 / 2); }),
                HasSubstr("out of memory"));
}

} // namespace
} // namespace cntk::Testing
