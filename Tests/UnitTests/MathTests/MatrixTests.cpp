// Owning matrices: they keep memory, convert values of the host, and refuse impossible sizes and contents.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Device.h"
#include "Math/Matrix.h"
#include "Math/Operations.h"

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

namespace cntk
{
namespace
{

class MatrixTests : public testing::Test
{
protected:
    template <class Body>
    static void ExpectMessage(ErrorKind kind, const char* message, Body&& body)
    {
        EXPECT_EQ(MessageOf(kind, body), message);
    }

    std::shared_ptr<Device> m_device = MakeCpuDevice({.threads = 1});
};

TEST_F(MatrixTests, BeginsAtZeroAndKeepsItsMemory)
{
    Matrix matrix(3, 4, DataType::Float32, *m_device);
    EXPECT_EQ(matrix.ToHost(), std::vector<double>(12, 0.0));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(matrix.View().data) % 64, 0u);
    const void* data = matrix.View().data;
    matrix.Resize(2, 2);
    matrix.Resize(4, 3);
    EXPECT_EQ(matrix.View().data, data);
    EXPECT_EQ(matrix.Rows(), 4u);
    EXPECT_EQ(matrix.Columns(), 3u);
}

TEST_F(MatrixTests, ConvertsTheHostsValues)
{
    for (DataType type : {DataType::Float32, DataType::Float64})
    {
        Matrix matrix(2, 2, type, *m_device);
        matrix.FromHost(std::vector<double>{1, 2, 3, 0.5});
        EXPECT_EQ(matrix.ToHost(), (std::vector<double>{1, 2, 3, 0.5}));
        matrix.FromHost(std::vector<float>{4, 3, 2, 0.25f});
        EXPECT_EQ(matrix.ToHost(), (std::vector<double>{4, 3, 2, 0.25}));
    }
}

TEST_F(MatrixTests, CopiesPartsOfItsElements)
{
    Matrix matrix(2, 3, DataType::Float32, *m_device);
    const std::vector<float> values = {1, 2, 3};
    matrix.CopyFromHost(values.data(), 2, 3);
    EXPECT_EQ(matrix.ToHost(), (std::vector<double>{0, 0, 1, 2, 3, 0}));
    std::vector<float> part(2);
    matrix.CopyToHost(part.data(), 3, 2);
    EXPECT_EQ(part, (std::vector<float>{2, 3}));
}

TEST_F(MatrixTests, ReshapingKeepsTheElements)
{
    Matrix matrix(2, 3, DataType::Float64, *m_device);
    matrix.FromHost(std::vector<double>{1, 2, 3, 4, 5, 6});
    matrix.Reshape(3, 2);
    EXPECT_EQ(matrix.Rows(), 3u);
    EXPECT_EQ(matrix.Columns(), 2u);
    EXPECT_EQ(matrix.ToHost(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(MatrixTests, ClonesAndCopiesAreIndependent)
{
    Matrix matrix(2, 2, DataType::Float64, *m_device);
    matrix.FromHost(std::vector<double>{1, 2, 3, 4});
    const Matrix clone = matrix.Clone();
    Matrix copy;
    copy.CopyFrom(matrix.View().Columns(1, 1));
    matrix.SetZero();
    EXPECT_EQ(clone.ToHost(), (std::vector<double>{1, 2, 3, 4}));
    EXPECT_EQ(copy.ToHost(), (std::vector<double>{3, 4}));
    EXPECT_FALSE(Matrix().Clone().IsAllocated());
}

TEST_F(MatrixTests, MovedFromMatricesGiveTheirMemory)
{
    Matrix matrix(2, 2, DataType::Float64, *m_device);
    const void* data = matrix.View().data;
    Matrix other = std::move(matrix);
    EXPECT_EQ(other.View().data, data);
    other = Matrix(1, 1, DataType::Float32, *m_device);
    EXPECT_EQ(other.Elements(), 1u);
}

TEST_F(MatrixTests, NewMemoryIsNotANumberInDebugBuilds)
{
    Buffer buffer(*m_device);
    buffer.Reserve(64);
    EXPECT_GE(buffer.Bytes(), 64u);
#ifndef NDEBUG
    EXPECT_TRUE(std::isnan(static_cast<const double*>(buffer.Data())[7]));
    EXPECT_TRUE(std::isnan(static_cast<const float*>(buffer.Data())[0]));
#endif
}

TEST_F(MatrixTests, ImpossibleSizesAreErrors)
{
    ExpectMessage(ErrorKind::Device, "a matrix of 18446744073709551615 x 2 elements exceeds the address space",
                  [&] { Matrix(SIZE_MAX, 2, DataType::Float32, *m_device); });
#ifndef __SANITIZE_ADDRESS__ // the sanitizer ends the program instead of returning no memory
    try
    {
        Matrix(size_t(1) << 60, 1, DataType::Float32, *m_device);
        FAIL() << "no error";
    }
    catch (const OutOfMemory& error)
    {
        EXPECT_EQ(error.Message(),
                  Concat("out of memory: 4611686018427387904 bytes were asked for, ", error.FreeBytes(), " are free"));
        EXPECT_EQ(error.Kind(), ErrorKind::Device);
        EXPECT_GT(error.FreeBytes(), size_t(1) << 20);
        EXPECT_LT(error.FreeBytes(), size_t(1) << 50);
    }
#endif
    ExpectMessage(ErrorKind::Internal, "a buffer without a device cannot hold 8 bytes", [] { Buffer().Reserve(8); });
    Matrix matrix(2, 3, DataType::Float32, *m_device);
    ExpectMessage(ErrorKind::Internal, "5 values were given for a 2 x 3 matrix",
                  [&] { matrix.FromHost(std::vector<double>(5)); });
    ExpectMessage(ErrorKind::Internal, "a matrix is copied from a view without a device",
                  [] { Matrix().CopyFrom(MatrixView()); });
}

TEST_F(MatrixTests, SparseMatricesKeepTheirMemory)
{
    SparseMatrix sparse(DataType::Float32, *m_device);
    const float values[] = {1, 2, 3};
    const int32_t rows[] = {0, 2, 1};
    const int32_t starts[] = {0, 2, 2, 3};
    sparse.FromHost(3, 3, values, rows, starts);
    EXPECT_EQ(sparse.NonZeros(), 3u);
    EXPECT_EQ(sparse.ToHostDense(), (std::vector<double>{1, 0, 2, 0, 0, 0, 0, 3, 0}));
    const void* data = sparse.View().values;
    sparse.FromHost(3, 1, values, std::span(rows, 2), std::vector<int32_t>{0, 2});
    EXPECT_EQ(sparse.View().values, data);
    sparse.FromHost(2, 0, nullptr, {}, std::vector<int32_t>{0});
    EXPECT_TRUE(sparse.ToHostDense().empty());
}

// Most of a few columns, few of many columns, none.
TEST_F(MatrixTests, TouchedColumnsAreOrdered)
{
    std::mt19937 random(1);
    for (const size_t count : {1, 63, 64, 65, 944, 100000})
        for (const size_t touches : {0, 1, 2, 330, 3000})
        {
            TouchedColumns touched;
            for (size_t i = 0; i < touches; ++i)
                touched.columns.push_back(int32_t(random() % count));
            if (touches > 1)
                touched.columns.back() = int32_t(count) - 1;
            const std::set<int32_t> expected(touched.columns.begin(), touched.columns.end());
            touched.Order(count);
            EXPECT_EQ(touched.columns, std::vector<int32_t>(expected.begin(), expected.end()))
                << touches << " of " << count;
        }
}

TEST_F(MatrixTests, MalformedSparseMatricesAreErrors)
{
    SparseMatrix sparse(DataType::Float32, *m_device);
    const float values[] = {1, 2};
    ExpectMessage(ErrorKind::Internal, "a sparse matrix of 2 columns with 2 values was given 2 column starts",
                  [&] {
                      sparse.FromHost(3, 2, values, std::vector<int32_t>{0, 1}, std::vector<int32_t>{0, 2});
                  });
    ExpectMessage(ErrorKind::Internal, "column 0 of a sparse matrix has row index 3 outside of 3 rows",
                  [&] {
                      sparse.FromHost(3, 1, values, std::vector<int32_t>{0, 3}, std::vector<int32_t>{0, 2});
                  });
    ExpectMessage(ErrorKind::Internal, "column 0 of a sparse matrix has row index 1 out of order among 3 rows",
                  [&] {
                      sparse.FromHost(3, 1, values, std::vector<int32_t>{1, 1}, std::vector<int32_t>{0, 2});
                  });
}

} // namespace
} // namespace cntk
