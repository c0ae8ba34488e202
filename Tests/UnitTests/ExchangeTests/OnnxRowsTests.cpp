// The table of ONNX forms knows every node type.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "Exchange/OnnxConversion.h"
#include "Exchange/OnnxExport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{

TEST(OnnxRows, EveryNodeTypeIsMappedOrRefused)
{
    for (const NodeType& type : NodeRegistry::Standard().Types())
        EXPECT_NE(FindOnnxRow(type.name), nullptr)
            << type.name << " has no row: add one to a table of Source/Exchange, mapped or refused";
}

TEST(OnnxRows, EveryRowIsANodeTypeAndHasAForm)
{
    for (const auto rows : {OnnxElementwiseRows(), OnnxProductRows(), OnnxShapeRows(), OnnxImageRows(), OnnxTimeRows(),
                            OnnxRefusedRows()})
        for (const OnnxRow& row : rows)
        {
            EXPECT_NE(NodeRegistry::Standard().Find(row.type), nullptr) << row.type;
            EXPECT_FALSE(OnnxFormOf(row.type).empty()) << row.type;
            EXPECT_EQ(FindOnnxRow(row.type), &row) << row.type << " has two rows";
        }
}

TEST(OnnxRows, InputToExportInsteadExists)
{
    for (const OnnxRow& row : OnnxRefusedRows())
        EXPECT_LT(row.exportInstead, int(NodeRegistry::Standard().Find(row.type)->inputs.min)) << row.type;
}

TEST(OnnxBuilder, DimensionsAreReversedAndVectorsHaveOne)
{
    EXPECT_EQ(OnnxDimsOf(TensorShape{5, 1}), OnnxDims{5});
    EXPECT_EQ(OnnxDimsOf(TensorShape{5}), OnnxDims{5});
    EXPECT_EQ(OnnxDimsOf(TensorShape{1, 5}), (OnnxDims{5, 1}));
    EXPECT_EQ(OnnxDimsOf(TensorShape{4, 3, 1}), (OnnxDims{1, 3, 4}));
    EXPECT_EQ(OnnxDimsOf(TensorShape{}), OnnxDims{1});
}

TEST(OnnxBuilder, NamesAreUnique)
{
    OnnxBuilder builder(DataType::Float32, 1, {"h", "h/1", "x.out"});
    builder.SetNode("h");
    EXPECT_EQ(builder.NewName(), "h/2");
    EXPECT_EQ(builder.Reserve("x.out"), "x.out.2");
    EXPECT_EQ(builder.Reserve("y.out"), "y.out");
}

TEST(OnnxBuilder, EqualConstantsAreOneInitializer)
{
    OnnxBuilder builder(DataType::Float64, 1, {});
    builder.SetNode("n");
    EXPECT_EQ(builder.Number(0.5).name, builder.Number(0.5).name);
    EXPECT_NE(builder.Number(0.5).name, builder.Array({1}, {0.5}).name);
    EXPECT_EQ(builder.Main().initializers.size(), 2u);
    EXPECT_EQ(builder.Main().initializers[0].bytes, sizeof(double));
}

TEST(OnnxFile, SizesAboveTwoGibibytesAreRefused)
{
    OnnxModel model;
    OnnxTensor tensor{"W", OnnxType::Float, {1 << 15, 1 << 14}};
    tensor.bytes = size_t(1) << 31;
    model.graph.initializers.push_back(tensor);
    try
    {
        RequireOnnxSize(model);
        ADD_FAILURE() << "no error";
    }
    catch (const Error& error)
    {
        if (error.Kind() == ErrorKind::Config)
            GTEST_SKIP() << error.Message();
        EXPECT_EQ(error.Kind(), ErrorKind::Model);
        EXPECT_THAT(error.Message(), ::testing::HasSubstr("more than the 2147483647 that the format allows"));
        EXPECT_THAT(error.Message(), ::testing::HasSubstr("precision=float"));
    }
    model.graph.initializers[0].bytes -= 1 << 20;
    EXPECT_GT(RequireOnnxSize(model), model.graph.initializers[0].bytes);
}

} // namespace cntk
