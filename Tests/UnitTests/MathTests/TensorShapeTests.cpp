// Shapes: missing dimensions, limits, text.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/TensorView.h"

#include <gtest/gtest.h>
#include <vector>

namespace cntk
{
namespace
{

TEST(TensorShapeTests, AScalarHasNoDimensionsAndOneElement)
{
    const TensorShape scalar;
    EXPECT_EQ(scalar.Rank(), 0u);
    EXPECT_EQ(scalar.Elements(), 1u);
    EXPECT_EQ(scalar[5], 1u);
    EXPECT_EQ(scalar.MatrixRows(), 1u);
    EXPECT_EQ(scalar.MatrixColumns(), 1u);
    EXPECT_EQ(scalar.ToString(), "");
}

TEST(TensorShapeTests, MissingDimensionsAreOne)
{
    const TensorShape shape{2, 3, 4};
    EXPECT_EQ(shape.Elements(), 24u);
    EXPECT_EQ(shape[2], 4u);
    EXPECT_EQ(shape[3], 1u);
    EXPECT_EQ(shape.MatrixRows(), 2u);
    EXPECT_EQ(shape.MatrixColumns(), 12u);
    EXPECT_EQ(shape.ToString(), "2 x 3 x 4");
}

TEST(TensorShapeTests, PaddingAndTrimmingAreOpposites)
{
    const TensorShape shape{2, 1, 3};
    const TensorShape padded = shape.Padded(5);
    EXPECT_EQ(padded, (TensorShape{2, 1, 3, 1, 1}));
    EXPECT_FALSE(padded == shape);
    EXPECT_EQ(padded.WithoutTrailingOnes(), shape);
    EXPECT_EQ(shape.Padded(2), shape);
    EXPECT_EQ((TensorShape{1, 1}).WithoutTrailingOnes(), TensorShape());
}

TEST(TensorShapeTests, SetDimFillsTheGapWithOnes)
{
    TensorShape shape{7};
    shape.SetDim(3, 5);
    EXPECT_EQ(shape, (TensorShape{7, 1, 1, 5}));
    shape.SetDim(0, 0);
    EXPECT_TRUE(shape.HasUnknown());
    EXPECT_FALSE((TensorShape{1, 2}).HasUnknown());
}

template <class Body>
void ExpectMessage(const char* message, Body&& body)
{
    EXPECT_EQ(MessageOf(ErrorKind::Model, body), message);
}

TEST(TensorShapeTests, TooManyDimensionsAreAnError)
{
    const std::vector<size_t> dims(13, 2);
    ExpectMessage("a tensor has 13 dimensions; at most 12 are possible",
                  [&] { TensorShape shape{std::span<const size_t>(dims)}; });
    TensorShape shape;
    ExpectMessage("a tensor has 13 dimensions; at most 12 are possible", [&] { shape.SetDim(12, 1); });
}

} // namespace
} // namespace cntk
