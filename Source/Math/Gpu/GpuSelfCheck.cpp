// Runs the operations on both devices and compares.
#include "Math/Gpu/GpuSelfCheck.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/Gpu/GpuSelfCheckCases.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cntk
{

namespace
{

// Rounding errors, as a part of the largest result: other orders of sums, other roundings of functions.
constexpr double c_roundings = 64;

double EpsilonOf(DataType type)
{
    return type == DataType::Float32 ? double(std::numeric_limits<float>::epsilon())
                                     : std::numeric_limits<double>::epsilon();
}

double ToleranceOf(const SelfCheckCase& operation, DataType type, GpuMatrixMath math)
{
    return operation.isProduct && type == DataType::Float32 ? ProductTolerance(math) : c_roundings * EpsilonOf(type);
}

std::optional<GpuDisagreement> Compare(const std::vector<double>& found, const std::vector<double>& expected,
                                       double relativeTolerance)
{
    double largest = 0;
    for (const double value : expected)
        largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
    const double tolerance = relativeTolerance * largest;
    for (size_t i = 0; i < expected.size(); ++i)
    {
        const bool areNeither = std::isnan(found[i]) && std::isnan(expected[i]);
        const bool agree = found[i] == expected[i] || areNeither || std::fabs(found[i] - expected[i]) <= tolerance;
        if (!agree)
            return GpuDisagreement{{}, i, found[i], expected[i], tolerance, {}};
    }
    return std::nullopt;
}

std::vector<double> ResultsOf(const SelfCheckCase& operation, Device& device, DataType type)
{
    SelfCheckRun run(device, type);
    operation.run(run);
    return run.Results();
}

} // namespace

std::string GpuDisagreement::Describe() const
{
    if (!problem.empty())
        return operation + " cannot be computed: " + problem;
    return Concat(operation, " gives ", found, " where the CPU gives ", expected, " (result ", element,
                  "; they may differ by ", tolerance, ")");
}

double ProductTolerance(GpuMatrixMath math)
{
    switch (math)
    {
    case GpuMatrixMath::Tf32: // two factors of 11 bits
        return 0x1p-8;
    case GpuMatrixMath::Bfloat16: // of 8 bits
        return 0x1p-5;
    case GpuMatrixMath::Float:
        break;
    }
    return c_roundings * EpsilonOf(DataType::Float32);
}

std::optional<GpuDisagreement> CheckGpu(Device& gpu, GpuMatrixMath math)
{
    const std::shared_ptr<Device> reference = MakeCpuDevice({.threads = 1});
    for (const SelfCheckCase& operation : SelfCheckCases())
        for (const DataType type : {DataType::Float32, DataType::Float64})
        {
            std::optional<GpuDisagreement> wrong;
            const std::vector<double> expected = ResultsOf(operation, *reference, type);
            try
            {
                wrong = Compare(ResultsOf(operation, gpu, type), expected, ToleranceOf(operation, type, math));
            }
            catch (const Error& error)
            {
                wrong.emplace().problem = error.Message();
            }
            if (!wrong)
                continue;
            wrong->operation = Concat(operation.operation, " of ", NameOf(type));
            return wrong;
        }
    return std::nullopt;
}

} // namespace cntk
