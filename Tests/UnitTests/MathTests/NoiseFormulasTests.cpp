// Noise: the published generator, the distribution, and the independence of a number from everything except its place.
#include "Math/Cpu/CpuDevice.h"
#include "Math/Operations.h"
#include "Math/UpdateRules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

using Words = std::array<uint32_t, 4>;

template <uint32_t rounds = 7>
Words Mixed(Words counter, uint32_t firstKey, uint32_t secondKey)
{
    uint32_t words[4] = {counter[0], counter[1], counter[2], counter[3]};
    Philox<OneWord, rounds>::Mix(words, uint64_t(secondKey) << 32 | firstKey);
    return {words[0], words[1], words[2], words[3]};
}

UpdateCall CallOf(const NoiseDraw& draw, double deviation = 1)
{
    UpdateCall call;
    call.formula = UpdateFormula::Extras;
    call.noise = draw;
    call.noiseDeviation = deviation;
    return call;
}

// Returns noise of unit deviation, added to zeros.
std::vector<double> Drawn(Device& device, DataType type, size_t rows, size_t columns, const NoiseDraw& draw = {7, 3})
{
    const Matrix values(rows, columns, type, device);
    Ops::UpdateParameter(CallOf(draw), values, {}, values);
    return values.ToHost();
}

double NormalShareBelow(double x)
{
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

} // namespace

// The authors' test vectors.
TEST(NoiseFormulasTests, TheGeneratorIsPhilox)
{
    EXPECT_EQ(Mixed({0, 0, 0, 0}, 0, 0), (Words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
    EXPECT_EQ(Mixed<10>({0, 0, 0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr uint32_t ones = 0xffffffff;
    EXPECT_EQ(Mixed({ones, ones, ones, ones}, ones, ones), (Words{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}));
    EXPECT_EQ(Mixed<10>({ones, ones, ones, ones}, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(Mixed<10>({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
              (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The formula for float: element e of group g is number e / 16 of counter 16 g + e % 16.
TEST(NoiseFormulasTests, NumbersAreThoseOfASimpleFormula)
{
    const auto device = MakeCpuDevice({.threads = 1});
    const auto values = Drawn(*device, DataType::Float32, 100, 7, {0x299f31d0a4093822, 0x0370734413198a2e});
    for (size_t i = 0; i < values.size(); ++i)
    {
        const Words words = Mixed({uint32_t(i / 64 * 16 + i % 16), 0, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0);
        const size_t pair = i % 64 / 32 * 2;
        const double radius = std::sqrt(-2 * std::log((float(words[pair] >> 1) + 0.5) / 0x1p31));
        const double octant = M_PI / 4 * double(int32_t(words[pair + 1] << 2)) / 0x1p31;
        const bool turned = (words[pair + 1] & 0x40000000) != 0, first = i % 32 < 16;
        const double onAxis = (words[pair + 1] & 0x80000000) != 0 ? -std::cos(octant) : std::cos(octant);
        EXPECT_NEAR(values[i], radius * (turned == first ? std::sin(octant) : onAxis), 2e-6) << i;
    }
}

TEST(NoiseFormulasTests, TheDistributionIsNormal)
{
    const auto device = MakeCpuDevice({.threads = 4});
    for (const DataType type : {DataType::Float32, DataType::Float64})
    {
        auto values = Drawn(*device, type, 1000, 2000);
        const auto count = double(values.size());
        double sums[5] = {};
        for (const double x : values)
            for (int power = 1; power <= 4; ++power)
                sums[power] += std::pow(x, power) / count;
        // Five standard deviations of each moment.
        EXPECT_NEAR(sums[1], 0, 5 * std::sqrt(1 / count));
        EXPECT_NEAR(sums[2], 1, 5 * std::sqrt(2 / count));
        EXPECT_NEAR(sums[3], 0, 5 * std::sqrt(15 / count));
        EXPECT_NEAR(sums[4], 3, 5 * std::sqrt(96 / count));
        // Kolmogorov-Smirnov test: a larger distance has a probability of one in a million.
        std::sort(values.begin(), values.end());
        double distance = 0;
        for (size_t i = 0; i < values.size(); ++i)
        {
            const double share = NormalShareBelow(values[i]);
            distance = std::max({distance, share - double(i) / count, double(i + 1) / count - share});
        }
        EXPECT_LT(distance, 2.7 / std::sqrt(count));
        for (const double border : {3.0, 4.0, 4.5})
            for (const double sign : {-1.0, 1.0})
            {
                const auto beyond =
                    double(std::count_if(values.begin(), values.end(), [&](double x) { return sign * x > border; }));
                const double expected = count * NormalShareBelow(-border);
                EXPECT_NEAR(beyond, expected, 5 * std::sqrt(expected) + 1) << border;
            }
    }
}

// Neighbours, the two numbers of a pair, and numbers at one place in different draws and seeds.
TEST(NoiseFormulasTests, NumbersAreIndependent)
{
    const auto device = MakeCpuDevice({.threads = 1});
    for (const DataType type : {DataType::Float32, DataType::Float64})
    {
        const auto values = Drawn(*device, type, 500, 400);
        const auto expectUnrelated = [&](const std::vector<double>& others, size_t lag)
        {
            double sum = 0, squares = 0;
            for (size_t i = 0; i + lag < values.size(); ++i)
            {
                sum += values[i] * others[i + lag];
                squares += (values[i] * values[i] - 1) * (others[i + lag] * others[i + lag] - 1) / 2;
            }
            const double most = 5 * std::sqrt(double(values.size()));
            EXPECT_LT(std::abs(sum), most) << lag;
            EXPECT_LT(std::abs(squares), most) << lag;
        };
        for (const size_t lag : {1, 2, 8, 16, 32, 64, 500})
            expectUnrelated(values, lag);
        expectUnrelated(Drawn(*device, type, 500, 400, {7, 4}), 0);
        expectUnrelated(Drawn(*device, type, 500, 400, {8, 3}), 0);
        expectUnrelated(Drawn(*device, type, 500, 400, {7, (uint64_t(1) << 32) + 3}), 0);
    }
}

TEST(NoiseFormulasTests, BitsDependOnNeitherThreadsNorInstructionSet)
{
    for (const DataType type : {DataType::Float32, DataType::Float64})
    {
        const auto values = Drawn(*MakeCpuDevice({.threads = 1}), type, 777, 1001);
        EXPECT_EQ(Drawn(*MakeCpuDevice({.threads = 4}), type, 777, 1001), values);
        EXPECT_EQ(Drawn(*MakeCpuDevice({.threads = 3}), type, 777, 1001), values);
        for (const auto set : {InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512})
        {
            if (set > BestInstructionSet())
                continue;
            EXPECT_EQ(Drawn(*MakeCpuDeviceWith(set, 2), type, 777, 1001), values) << NameOf(set);
        }
    }
}

// With padding between columns, for some of the columns, and with any rule.
TEST(NoiseFormulasTests, AnElementGetsTheNumberOfItsPlace)
{
    const auto device = MakeCpuDevice({.threads = 2});
    constexpr size_t rows = 45, columns = 37;
    for (const DataType type : {DataType::Float32, DataType::Float64})
    {
        const auto values = Drawn(*device, type, rows, columns);
        const Matrix padded(rows + 3, columns, type, *device);
        MatrixView inside = padded;
        inside.rows = rows;
        Ops::UpdateParameter(CallOf({7, 3}), inside, {}, inside);
        const auto found = padded.ToHost();
        for (size_t i = 0; i < found.size(); ++i)
        {
            const size_t row = i % (rows + 3), column = i / (rows + 3);
            ASSERT_EQ(found[i], row < rows ? values[column * rows + row] : 0) << i;
        }

        TouchedColumns touched;
        touched.columns = {0, 5, 36};
        UpdateCall call = CallOf({7, 3});
        call.touched = &touched;
        const Matrix some(rows, columns, type, *device);
        Ops::UpdateParameter(call, some, {}, some);
        const auto partly = some.ToHost();
        for (size_t i = 0; i < partly.size(); ++i)
        {
            const size_t column = i / rows;
            ASSERT_EQ(partly[i], column == 0 || column == 5 || column == 36 ? values[i] : 0) << i;
        }

        for (size_t i = 0; i < c_updateFormulas; ++i)
            for (const bool normalizes : {false, true})
            {
                call = CallOf({7, 3});
                call.formula = UpdateFormula(i);
                call.normalizes = normalizes && HasMultipliers(call.formula);
                call.constants.floor = 1; // avoids 0 / 0
                call.constants.most = 1;
                const Matrix moved(rows, columns, type, *device), gradient(rows, columns, type, *device),
                    state(rows, 3 * columns, type, *device);
                std::vector<MatrixView> states;
                for (size_t n = 0; n < StatesOf(call.formula); ++n)
                    states.push_back(state.View().Columns(n * columns, columns));
                if (call.formula == UpdateFormula::RmsProp)
                    Ops::Fill(states[2], 1); // steps
                Ops::UpdateParameter(call, moved, states, gradient);
                EXPECT_EQ(moved.ToHost(), values) << NameOf(call.formula);
            }
    }
}

TEST(NoiseFormulasTests, DeviationScalesAndL1FollowsIt)
{
    const auto device = MakeCpuDevice({.threads = 1});
    const auto values = Drawn(*device, DataType::Float64, 9, 11);
    const Matrix w(9, 11, DataType::Float64, *device);
    Ops::Fill(w, 2);
    UpdateCall call = CallOf({7, 3}, 3);
    call.extras.shrinkage = 0.5;
    Ops::UpdateParameter(call, w, {}, w);
    const auto moved = w.ToHost();
    for (size_t i = 0; i < moved.size(); ++i)
    {
        const double noisy = 2 + 3 * values[i];
        EXPECT_NEAR(moved[i], std::copysign(std::max(std::abs(noisy) - 0.5, 0.0), noisy), 1e-14);
    }
}

} // namespace cntk
