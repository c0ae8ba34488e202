#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Cpu/SingularValues.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace cntk
{
namespace
{

// U * diag(s) * Vt
std::vector<double> ProductOf(const SingularValues& values, size_t rows, size_t columns)
{
    const size_t count = values.s.size();
    std::vector<double> product(rows * columns);
    for (size_t k = 0; k < count; ++k)
        for (size_t j = 0; j < columns; ++j)
            for (size_t i = 0; i < rows; ++i)
                product[i + j * rows] += values.u[i + k * rows] * values.s[k] * values.vt[k + j * count];
    return product;
}

TEST(SingularValuesTests, ProductIsTheMatrix)
{
    for (const auto& [rows, columns] : {std::pair<size_t, size_t>{7, 4}, {4, 7}, {5, 5}, {1, 3}, {60, 41}})
    {
        std::vector<double> matrix(rows * columns);
        for (size_t i = 0; i < matrix.size(); ++i)
            matrix[i] = std::sin(double(i * i + 1));
        const SingularValues values = DecomposeMatrix(matrix, rows, columns);
        ASSERT_EQ(values.s.size(), std::min(rows, columns));
        const std::vector<double> product = ProductOf(values, rows, columns);
        for (size_t i = 0; i < matrix.size(); ++i)
            EXPECT_NEAR(product[i], matrix[i], 1e-12);
        for (size_t k = 1; k < values.s.size(); ++k)
            EXPECT_LE(values.s[k], values.s[k - 1]);
    }
}

TEST(SingularValuesTests, KnownValues)
{
    // [3 0; 4 5] has the singular values 3 sqrt 5 and sqrt 5.
    const SingularValues values = DecomposeMatrix(std::vector<double>{3, 4, 0, 5}, 2, 2);
    EXPECT_NEAR(values.s[0], 3 * std::sqrt(5.0), 1e-12);
    EXPECT_NEAR(values.s[1], std::sqrt(5.0), 1e-12);
}

TEST(SingularValuesTests, NumbersMustBeFinite)
{
    EXPECT_EQ(MessageOf(ErrorKind::Model,
                        [&] {
                            DecomposeMatrix(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}, 1, 2);
                        }),
              "the matrix has values that are not finite numbers, so it has no singular values");
}

} // namespace
} // namespace cntk
