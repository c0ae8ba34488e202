// Matrices seen as tensors: strides of samples and parameters, with and without holes between the columns.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Matrix.h"
#include "Math/TensorView.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

class TensorViewTests : public testing::Test
{
protected:
    MatrixView View(size_t rows, size_t columns, size_t stride)
    {
        return {m_memory.data(), rows, columns, stride, DataType::Float32, m_device.get()};
    }

    static void ExpectView(const TensorView& view, const std::vector<size_t>& dims,
                           const std::vector<ptrdiff_t>& strides)
    {
        ASSERT_EQ(view.rank, dims.size());
        for (size_t axis = 0; axis < dims.size(); ++axis)
        {
            EXPECT_EQ(view.dims[axis], dims[axis]) << "axis " << axis;
            EXPECT_EQ(view.strides[axis], strides[axis]) << "axis " << axis;
        }
    }

    template <class Body>
    static void ExpectMessage(const char* message, Body&& body)
    {
        EXPECT_EQ(MessageOf(ErrorKind::Internal, body), message);
    }

    std::shared_ptr<Device> m_device = MakeReferenceDevice();
    std::vector<float> m_memory = std::vector<float>(1000);
};

TEST_F(TensorViewTests, EveryMatrixIsATensor)
{
    const TensorView view = View(4, 5, 7);
    ExpectView(view, {4, 5}, {1, 7});
    EXPECT_EQ(view.Elements(), 20u);
    EXPECT_EQ(view.Shape(), (TensorShape{4, 5}));
    EXPECT_FALSE(view.IsContiguous());
    EXPECT_TRUE(TensorView(View(4, 5, 4)).IsContiguous());
    EXPECT_TRUE(TensorView(View(4, 1, 9)).IsContiguous());
}

TEST_F(TensorViewTests, SamplesSplitTheRows)
{
    ExpectView(TensorView::OfSamples(View(12, 5, 12), {3, 4}, 2), {3, 4, 5}, {1, 3, 12});
    ExpectView(TensorView::OfSamples(View(12, 5, 15), {3, 2, 2}, 4), {3, 2, 2, 1, 5}, {1, 3, 6, 12, 15});
    ExpectView(TensorView::OfSamples(View(1, 5, 1), {}, 1), {1, 5}, {1, 1});
}

TEST_F(TensorViewTests, AParametersShapeCoversItsColumns)
{
    ExpectView(TensorView::OfSamples(View(3, 8, 3), {3, 2, 4}, 3, false), {3, 2, 4, 1}, {1, 3, 6, 3});
    ExpectView(TensorView::OfSamples(View(3, 8, 5), {3, 2, 4}, 3, false), {3, 2, 4, 1}, {1, 5, 10, 5});
    ExpectView(TensorView::OfSamples(View(6, 2, 8), {3, 2, 2}, 3, false), {3, 2, 2, 1}, {1, 3, 8, 8});
}

TEST_F(TensorViewTests, ShapesThatDoNotFitAreErrors)
{
    ExpectMessage("a 12 x 5 matrix cannot be seen as samples of shape [3 x 5] with 2 axes",
                  [&] {
                      TensorView::OfSamples(View(12, 5, 12), {3, 5}, 2);
                  });
    ExpectMessage("a 12 x 5 matrix cannot be seen as samples of shape [3 x 4] with 1 axes",
                  [&] {
                      TensorView::OfSamples(View(12, 5, 12), {3, 4}, 1);
                  });
    ExpectMessage("a 12 x 5 matrix cannot be seen as samples of shape [12] with 12 axes",
                  [&] { TensorView::OfSamples(View(12, 5, 12), {12}, 12); });
    ExpectMessage("a 3 x 8 matrix cannot be seen as a tensor of shape [3 x 4] with 2 axes",
                  [&] {
                      TensorView::OfSamples(View(3, 8, 3), {3, 4}, 2, false);
                  });
    ExpectMessage("a 4 x 3 matrix with holes between its columns cannot be seen as a tensor of shape [6 x 2]",
                  [&] {
                      TensorView::OfSamples(View(4, 3, 5), {6, 2}, 2, false);
                  });
}

TEST_F(TensorViewTests, EntriesOfAnAxis)
{
    const TensorView view = TensorView::OfSamples(View(12, 5, 15), {3, 4}, 2);
    ExpectView(view.Entries(2, 3, 2), {3, 4, 2}, {1, 3, 15});
    EXPECT_EQ(view.Entries(2, 3, 2).data, m_memory.data() + 45);
    EXPECT_EQ(view.Entries(1, 2, 1).data, m_memory.data() + 6);
    const TensorView repeated = View(12, 1, 12);
    ExpectView(repeated.Entries(1, 3, 2), {12, 1}, {1, 12});
    ExpectView(repeated.Entries(2, 3, 2), {12, 1}, {1, 12});
    EXPECT_EQ(repeated.Entries(1, 3, 2).data, m_memory.data());
}

TEST_F(TensorViewTests, MatrixViewsOfRowsAndColumns)
{
    const MatrixView view = View(4, 5, 7);
    EXPECT_EQ(view.Columns(2, 3).data, m_memory.data() + 14);
    EXPECT_EQ(view.Columns(2, 3).columns, 3u);
    EXPECT_EQ(view.Rows(1, 2).data, m_memory.data() + 1);
    EXPECT_EQ(view.Rows(1, 2).stride, 7u);
}

TEST_F(TensorViewTests, PartsOfAMatrixAreWithinIt)
{
    const MatrixView matrix = View(6, 5, 7);
    const MatrixView middle = matrix.Columns(1, 3);
    EXPECT_TRUE(matrix.IsWithin(matrix));
    EXPECT_TRUE(middle.IsWithin(matrix));
    EXPECT_TRUE(matrix.Columns(4, 1).Rows(5, 1).IsWithin(matrix));
    EXPECT_FALSE(matrix.IsWithin(middle)); // begins before it
    EXPECT_TRUE(matrix.Columns(3, 1).IsWithin(middle));
    EXPECT_FALSE(matrix.Columns(4, 1).IsWithin(middle)); // begins after it
    EXPECT_FALSE(MatrixView().IsWithin(matrix));
    EXPECT_FALSE(MatrixView().IsWithin(MatrixView()));
}

} // namespace
} // namespace cntk
