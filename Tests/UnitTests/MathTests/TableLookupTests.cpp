// The errors of look-ups. The kernel cases compare their results.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Operations.h"

#include <gtest/gtest.h>

namespace cntk
{

namespace
{

class TableLookupTests : public testing::Test
{
protected:
    Matrix Make(size_t rows, size_t columns) { return Matrix(rows, columns, DataType::Float32, *m_device); }

    template <class Body>
    static std::string MessageOf(Body&& body)
    {
        return cntk::MessageOf(ErrorKind::Internal, [&] { body(); });
    }

    std::shared_ptr<Device> m_device = MakeCpuDevice();
};

TEST_F(TableLookupTests, OperandsMustFit)
{
    SparseMatrix words(DataType::Float32, *m_device);
    words.FromHost(10, 2, nullptr, {}, std::vector<int32_t>{0, 0, 0});
    TouchedColumns touched;
    EXPECT_EQ(MessageOf([&] { Ops::LookUpColumns(Make(3, 4), words, Make(3, 2)); }),
              "LookUpColumns: samples of 10 rows are no words of a table of 4 columns");
    EXPECT_EQ(MessageOf([&] { Ops::LookUpColumns(Make(3, 5), words, Make(3, 2)); }),
              "LookUpColumns: 2 samples of 2 words of 3 rows do not fit [3 x 2]");
    EXPECT_EQ(MessageOf([&] { Ops::LookUpColumnsGradient(Make(6, 1), words, Make(3, 5), touched); }),
              "LookUpColumnsGradient: 2 samples of 2 words of 3 rows do not fit [6 x 1]");
    const Matrix doubles(3, 5, DataType::Float64, *m_device);
    EXPECT_EQ(MessageOf([&] { Ops::LookUpColumns(doubles, words, Make(6, 2)); }),
              "LookUpColumns: operands are of different types");
    const auto other = MakeCpuDevice();
    const Matrix elsewhere(3, 5, DataType::Float32, *other);
    EXPECT_EQ(MessageOf([&] { Ops::LookUpColumns(elsewhere, words, Make(6, 2)); }),
              "LookUpColumns: operands are on different devices");
}

TEST_F(TableLookupTests, SamplesWithoutWordsAreZero)
{
    SparseMatrix words(DataType::Float32, *m_device);
    words.FromHost(10, 2, nullptr, {}, std::vector<int32_t>{0, 0, 0});
    Matrix output = Make(6, 2);
    output.FromHost(std::vector<double>(12, 7.0));
    Ops::LookUpColumns(Make(3, 5), words, output);
    EXPECT_EQ(output.ToHost(), std::vector<double>(12, 0.0));
    TouchedColumns touched;
    Ops::LookUpColumnsGradient(output, words, Make(3, 5), touched);
    EXPECT_TRUE(touched.columns.empty());
}

} // namespace

} // namespace cntk
