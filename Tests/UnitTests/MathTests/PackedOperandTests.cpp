// Products of packed matrices equal those of unpacked ones, bit for bit unless a library computes the large ones.
// Messages of the checks.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Products.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <vector>

namespace cntk
{

namespace
{

class PackedOperandTests : public testing::TestWithParam<std::tuple<DataType, int, bool>>
{
protected:
    static Matrix Random(size_t rows, size_t columns, DataType type, Device& device, uint64_t seed)
    {
        Matrix matrix(rows, columns, type, device);
        Ops::FillUniform(matrix, -1, 1, seed);
        return matrix;
    }
};

// Shapes with incomplete blocks of rows, columns and steps; several slabs of steps; more columns than a block.
TEST_P(PackedOperandTests, GiveTheSameBits)
{
    const auto [type, threads, isTransposed] = GetParam();
    const auto device = MakeCpuDevice({.threads = threads});
    const Ops::Transpose transpose = isTransposed ? Ops::Transpose::Yes : Ops::Transpose::No;
    PackedOperand packed;
    for (const size_t m : {1, 16, 37, 803})
        for (const size_t n : {1, 5, 7, 10, 32, 33, 3100})
            for (const size_t k : {1, 50, 321, 700})
            {
                if (m * n * k > 100'000'000)
                    continue;
                const Matrix a = Random(isTransposed ? k : m, isTransposed ? m : k, type, *device, m + k);
                const Matrix b = Random(k, n, type, *device, n + k);
                Matrix expected = Random(m, n, type, *device, 7);
                Matrix actual = expected.Clone();
                packed.Pack(a, transpose);
                for (const double beta : {0.0, 1.0})
                {
                    Ops::Multiply(a, transpose, b, Ops::Transpose::No, expected, 0.5, beta);
                    packed.Multiply(b, actual, 0.5, beta);
                    ASSERT_EQ(actual.ToHost(), expected.ToHost()) << Concat(m, " x ", k, " * ", n, ", beta ", beta);
                }
                if (isTransposed)
                    continue;
                PackedOperand onTheWay;
                Ops::Multiply(a, transpose, b, Ops::Transpose::No, expected);
                onTheWay.PackAndMultiply(std::vector<MatrixView>{a}, b, actual);
                ASSERT_EQ(actual.ToHost(), expected.ToHost()) << Concat(m, " x ", k, " * ", n, ", packed on the way");
                onTheWay.Multiply(b, actual, 1, 1); // all panels are packed
                Ops::Multiply(a, transpose, b, Ops::Transpose::No, expected, 1, 1);
                ASSERT_EQ(actual.ToHost(), expected.ToHost()) << Concat(m, " x ", k, " * ", n, ", packed before");
            }
}

// Boundaries within panels and at their ends, parts smaller than a panel, slabs that end within a part.
TEST_P(PackedOperandTests, StackedMatricesAreLikeOne)
{
    const auto [type, threads, isTransposed] = GetParam();
    const auto device = MakeCpuDevice({.threads = threads});
    const Ops::Transpose transpose = isTransposed ? Ops::Transpose::Yes : Ops::Transpose::No;
    PackedOperand packed, inParts;
    for (const std::vector<size_t>& heights : std::vector<std::vector<size_t>>{
             {5, 3}, {40, 400}, {200, 200, 200, 200}, {300, 300, 300, 300}, {1, 64, 7, 1, 1, 500}})
        for (const size_t columns : {3, 200, 700})
        {
            size_t rows = 0;
            for (const size_t height : heights)
                rows += height;
            const Matrix a = Random(rows, columns, type, *device, rows);
            const Matrix b = Random(isTransposed ? rows : columns, 10, type, *device, 5);
            std::vector<Matrix> pieces;
            std::vector<MatrixView> parts;
            for (size_t row = 0; const size_t height : heights)
            {
                pieces.emplace_back(height, columns, type, *device);
                Ops::Copy(a.View().Rows(row, height), pieces.back());
                row += height;
            }
            for (const Matrix& piece : pieces)
                parts.push_back(piece);
            Matrix expected(isTransposed ? columns : rows, 10, type, *device);
            Matrix actual(expected.Rows(), 10, type, *device);
            packed.Pack(a, transpose);
            packed.Multiply(b, expected);
            inParts.Pack(parts, transpose);
            inParts.Multiply(b, actual);
            EXPECT_EQ(actual.ToHost(), expected.ToHost()) << heights.size() << " parts, " << columns << " columns";
            if (isTransposed)
                continue;
            PackedOperand onTheWay;
            const auto first = [](const Matrix& matrix) { return matrix.View().Columns(0, 1); };
            Ops::Fill(actual, 7);
            onTheWay.PackAndMultiply(parts, first(b), first(actual));
            onTheWay.Multiply(b.View().Columns(1, 9), actual.View().Columns(1, 9));
            EXPECT_EQ(actual.ToHost(), expected.ToHost()) << heights.size() << " parts, packed on the way";
        }
}

INSTANTIATE_TEST_SUITE_P(, PackedOperandTests,
                         testing::Combine(testing::Values(DataType::Float32, DataType::Float64), testing::Values(1, 4),
                                          testing::Bool()));

TEST(PackedOperandTest, PanelsAreThoseOfThePackedValues)
{
    const auto device = MakeCpuDevice();
    Matrix a(1, 1, DataType::Float32, *device), b(1, 1, DataType::Float32, *device),
        c(1, 1, DataType::Float32, *device);
    a.FromHost(std::vector<double>{3});
    b.FromHost(std::vector<double>{5});
    PackedOperand packed;
    packed.Pack(a, Ops::Transpose::No);
    a.FromHost(std::vector<double>{4});
    packed.Multiply(b, c);
    EXPECT_EQ(c.ToHost(), std::vector<double>{15});
    packed.Pack(a, Ops::Transpose::No);
    packed.Multiply(b, c);
    EXPECT_EQ(c.ToHost(), std::vector<double>{20});
}

// Two operands next to each other, then one in their memory.
TEST(PackedOperandTest, MemoryMayBeShared)
{
    const auto device = MakeCpuDevice({.threads = 1});
    Matrix a(70, 20, DataType::Float32, *device), b(20, 30, DataType::Float32, *device);
    Ops::FillUniform(a, -1, 1, 1);
    Ops::FillUniform(b, -1, 1, 2);
    const std::vector<MatrixView> as{a}, bs{b};
    Buffer memory;
    PackedOperand first, second, later;
    first.UseMemory(memory, 0);
    const size_t bytes = (first.Reserve(as, Ops::Transpose::No) + 63) / 64 * 64;
    second.UseMemory(memory, bytes);
    const size_t all = bytes + second.Reserve(bs, Ops::Transpose::Yes);
    later.UseMemory(memory, 0);
    later.Reserve(as, Ops::Transpose::Yes);
    EXPECT_GE(memory.Bytes(), all);
    const auto expectProduct = [&](const PackedOperand& packed, const Matrix& of, Ops::Transpose transpose)
    {
        const bool isTransposed = transpose == Ops::Transpose::Yes;
        Matrix right(isTransposed ? of.Rows() : of.Columns(), 3, DataType::Float32, *device);
        Matrix actual(isTransposed ? of.Columns() : of.Rows(), 3, DataType::Float32, *device);
        Ops::FillUniform(right, -1, 1, 3);
        Matrix expected = actual.Clone();
        Ops::Multiply(of, transpose, right, Ops::Transpose::No, expected);
        packed.Multiply(right, actual);
        EXPECT_EQ(actual.ToHost(), expected.ToHost());
    };
    first.Pack(a, Ops::Transpose::No);
    second.Pack(b, Ops::Transpose::Yes);
    expectProduct(first, a, Ops::Transpose::No);
    expectProduct(second, b, Ops::Transpose::Yes);
    later.Pack(a, Ops::Transpose::Yes);
    expectProduct(later, a, Ops::Transpose::Yes);
    EXPECT_EQ(first.Bytes() + second.Bytes() + later.Bytes(), 0u) << "none of their own";
}

TEST(PackedOperandTest, BackendsWithoutPanelsMultiplyUnpacked)
{
    const auto device = MakeReferenceDevice();
    Matrix a(2, 1, DataType::Float64, *device), b(2, 1, DataType::Float64, *device),
        c(1, 1, DataType::Float64, *device);
    a.FromHost(std::vector<double>{2, 3});
    b.FromHost(std::vector<double>{5, 7});
    PackedOperand packed;
    packed.Pack(a, Ops::Transpose::Yes);
    EXPECT_EQ(packed.Bytes(), 0u);
    packed.Multiply(b, c);
    EXPECT_EQ(c.ToHost(), std::vector<double>{31});
}

TEST(PackedOperandTest, PartsMustFit)
{
    const auto messageFor = [](Device& device, size_t columns)
    {
        const Matrix first(2, 3, DataType::Float32, device), second(2, columns, DataType::Float32, device);
        const std::vector<MatrixView> parts{first, second};
        return MessageOf(ErrorKind::Internal, [&] { PackedOperand().Pack(parts, Ops::Transpose::No); });
    };
    EXPECT_EQ(messageFor(*MakeCpuDevice(), 4),
              "PackedOperand: matrices one above another differ in device, type or columns");
    EXPECT_EQ(messageFor(*MakeReferenceDevice(), 3),
              "PackedOperand: this device keeps no panels of matrices; expected them in one piece");
}

TEST(PackedOperandTest, OperandsMustFit)
{
    const auto device = MakeCpuDevice();
    const auto make = [&](size_t rows, size_t columns) { return Matrix(rows, columns, DataType::Float32, *device); };
    PackedOperand packed;
    const Matrix a = make(3, 4);
    packed.Pack(a, Ops::Transpose::No);
    EXPECT_EQ(MessageOf(ErrorKind::Internal, [&] { packed.Multiply(make(5, 2), make(3, 2)); }),
              "PackedOperand: the product of [3 x 4] and [5 x 2] does not fit [3 x 2]");
}

} // namespace

} // namespace cntk
