// The row of the largest element: the first of equal elements, and NaN is skipped.
#include "Math/Cpu/CpuDevice.h"
#include "Math/Operations.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace cntk
{

TEST(ArgMaxTest, TheFirstOfEqualElementsInAnyLane)
{
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr size_t columns = 3; // the largest element twice; once after several NaN; after one NaN
    for (const auto set : {InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512})
    {
        if (set > BestInstructionSet())
            continue;
        const auto device = MakeCpuDeviceWith(set, 1);
        for (const DataType type : {DataType::Float32, DataType::Float64})
            for (size_t rows = 2; rows < 100; ++rows)
            {
                Matrix input(rows, columns, type, *device);
                Matrix output(1, columns, type, *device);
                for (size_t first = 1; first < rows; ++first)
                    for (const size_t second : {first, (first + rows) / 2, rows - 1})
                    {
                        std::vector<double> values(rows * columns, -1);
                        values[first] = values[second] = 2;
                        for (size_t row = 1; row < first; ++row)
                            values[rows + row] = nan;
                        values[rows + first] = values[rows + second] = 2;
                        values[2 * rows] = nan;
                        values[2 * rows + first] = 2;
                        input.FromHost(std::span<const double>(values));
                        Ops::ArgMax(input, output);
                        ASSERT_EQ(output.ToHost(), (std::vector<double>{double(first), double(first), 0}))
                            << NameOf(set) << ", " << rows << " rows, the largest in " << first << " and " << second;
                    }
            }
    }
}

} // namespace cntk
