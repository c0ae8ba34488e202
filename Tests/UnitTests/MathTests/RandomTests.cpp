// The random streams of initial values and dropout are the original's on Linux.
#include "Math/Operations.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(RandomTests, UniformIsTheOriginalsStream)
{
    const auto device = MakeCpuDevice();
    Matrix values(1, 3, DataType::Float64, *device);
    // The range is a single-precision constant in the original.
    Ops::FillUniform(values, -0.05f, 0.05f, 1);
    const std::vector<double> found = values.ToHost();
    EXPECT_NEAR(found[0], -0.0368462217752, 1e-13);
    EXPECT_NEAR(found[1], -0.00413498685929, 1e-13);
    EXPECT_NEAR(found[2], -0.0281040817975, 1e-13);
}

TEST(RandomTests, GaussianIsTheOriginalsStream)
{
    const auto device = MakeCpuDevice();
    Matrix values(3, 1, DataType::Float64, *device);
    // The factor is a single-precision constant in the original.
    Ops::FillGaussian(values, 0, 0.2f / std::sqrt(8.0), 2);
    const std::vector<double> found = values.ToHost();
    EXPECT_NEAR(found[0], 0.024931855902, 1e-12);
    EXPECT_NEAR(found[1], -0.0141551925775, 1e-12);
    EXPECT_NEAR(found[2], -0.140187260091, 1e-11);
}

} // namespace
} // namespace cntk
