// The errors of operations. KernelTests.cpp compares their results.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Operations.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using Ops::Transpose;

class OperationsTests : public testing::Test
{
protected:
    template <class Body>
    static void ExpectMessage(const char* message, Body&& body)
    {
        EXPECT_EQ(MessageOf(ErrorKind::Internal, body), message);
    }

    Matrix Make(size_t rows, size_t columns, DataType type = DataType::Float32)
    {
        return Matrix(rows, columns, type, *m_device);
    }

    std::shared_ptr<Device> m_device = MakeCpuDevice({.threads = 1});
};

TEST_F(OperationsTests, ElementwiseShapesMustFit)
{
    const Matrix a = Make(3, 4);
    const Matrix b = Make(3, 5);
    const Matrix c = Make(2, 4);
    ExpectMessage("Sum: inputs [3 x 4], [3 x 5] do not fit output [3 x 4]",
                  [&] { Ops::Elementwise(ElementwiseOp::Sum, a.View(), b.View(), a.View()); });
    ExpectMessage("Copy: inputs [3 x 4] do not fit output [2 x 4]",
                  [&] { Ops::Elementwise(ElementwiseOp::Copy, a.View(), c.View()); });
    ExpectMessage("Sum takes 2 inputs; 1 were given",
                  [&] { Ops::Elementwise(ElementwiseOp::Sum, a.View(), a.View()); });
    ExpectMessage("Copy: a reduction cannot write to its own input",
                  [&] { Ops::Elementwise(ElementwiseOp::Copy, a.View(), a.View().Columns(0, 1)); });
}

TEST_F(OperationsTests, OperandsAreOfOneTypeAndOnOneDevice)
{
    const Matrix a = Make(3, 4);
    const Matrix doubles = Make(3, 4, DataType::Float64);
    ExpectMessage("Copy: operands are of different types, float and double", [&] { Ops::Copy(a, doubles); });
    ExpectMessage("Copy: an operand has no memory yet", [&] { Ops::Copy(a, Matrix()); });
    const auto reference = MakeReferenceDevice();
    const Matrix elsewhere(3, 4, DataType::Float32, *reference);
    try
    {
        Ops::Copy(a, elsewhere);
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_THAT(error.Message(), testing::StartsWith("Copy: operands are on different devices, CPU ("));
        EXPECT_THAT(error.Message(), testing::EndsWith(" and Reference (1 thread)"));
    }
}

TEST_F(OperationsTests, ProductsMustFit)
{
    const Matrix a = Make(3, 4);
    const Matrix b = Make(5, 2);
    const Matrix c = Make(3, 2);
    const Matrix d = Make(4, 2);
    ExpectMessage("Multiply: left operand [3 x 4] does not fit right operand [5 x 2]",
                  [&] { Ops::Multiply(a, Transpose::No, b, Transpose::No, c); });
    ExpectMessage("Multiply: left operand [3 x 4 transposed] does not fit right operand [4 x 2]",
                  [&] { Ops::Multiply(a, Transpose::Yes, d, Transpose::No, c); });
    ExpectMessage("Multiply: the product of [3 x 4] and [4 x 2] does not fit output [4 x 2]",
                  [&] { Ops::Multiply(a, Transpose::No, d, Transpose::No, d); });
    const Matrix square = Make(4, 4);
    ExpectMessage("Multiply: the output overlaps an operand",
                  [&] { Ops::Multiply(square, Transpose::No, d, Transpose::No, d); });
    ExpectMessage("MultiplyBiasActivate: bias [3 x 2] does not fit output [3 x 2]",
                  [&] { Ops::MultiplyBiasActivate(a, Transpose::No, d, Make(3, 2), ElementwiseOp::Copy, c); });
    ExpectMessage("MultiplyBiasActivate: Sum is no function of one value",
                  [&] { Ops::MultiplyBiasActivate(a, Transpose::No, d, Make(3, 1), ElementwiseOp::Sum, c); });
    ExpectMessage("MultiplyBiasActivate: left operand [3 x 4] does not fit right operand [5 x 2]",
                  [&] { Ops::MultiplyBiasActivate(a, Transpose::No, b, Make(3, 1), ElementwiseOp::Copy, c); });
}

TEST_F(OperationsTests, SparseOperandsMustFit)
{
    SparseMatrix sparse(DataType::Float32, *m_device);
    sparse.FromHost(5, 2, nullptr, {}, std::vector<int32_t>{0, 0, 0});
    TouchedColumns touched;
    ExpectMessage("Multiply: left operand [3 x 4] does not fit right operand [5 x 2 sparse]",
                  [&] { Ops::Multiply(Make(3, 4), Transpose::No, sparse, Make(3, 2)); });
    ExpectMessage("MultiplyByTransposeOf: left operand [3 x 4] does not fit right operand [5 x 2 sparse]",
                  [&] { Ops::MultiplyByTransposeOf(Make(3, 4), sparse, Make(3, 5), touched); });
    ExpectMessage("MultiplyByTransposeOf: the product of [3 x 2] and [5 x 2 sparse transposed] does not fit output "
                  "[3 x 4]",
                  [&] { Ops::MultiplyByTransposeOf(Make(3, 2), sparse, Make(3, 4), touched); });
    ExpectMessage("ToDense: source [5 x 2 sparse] does not fit output [2 x 5]",
                  [&] { Ops::ToDense(sparse, Make(2, 5)); });
}

TEST_F(OperationsTests, SoftmaxShapesMustFit)
{
    const Matrix a = Make(3, 4);
    const Matrix b = Make(3, 5);
    const Matrix scalar = Make(1, 1);
    const std::vector<uint8_t> mask(3);
    ExpectMessage("Softmax: input [3 x 4] does not fit output [3 x 5]", [&] { Ops::Softmax(a, b); });
    ExpectMessage("ArgMax: the output must be 1 x 4, but is 1 x 1", [&] { Ops::ArgMax(a, scalar); });
    ExpectMessage("ArgMax: the input has no rows", [&] { Ops::ArgMax(Make(0, 4), Make(1, 4)); });
    ExpectMessage("CrossEntropyWithSoftmax: labels [3 x 5] does not fit prediction [3 x 4]",
                  [&] { Ops::CrossEntropyWithSoftmax(b, a, {}, a, a, scalar); });
    ExpectMessage("CrossEntropyWithSoftmax: the output must be 1 x 1, but is 3 x 4",
                  [&] { Ops::CrossEntropyWithSoftmax(a, a, {}, a, a, a); });
    ExpectMessage("CrossEntropyWithSoftmax: a mask of 3 columns does not fit 4 columns",
                  [&] { Ops::CrossEntropyWithSoftmax(a, a, mask, a, a, scalar); });
    ExpectMessage("CrossEntropyWithSoftmaxGradient: the scale must be 1 x 1, but is 3 x 4",
                  [&] { Ops::CrossEntropyWithSoftmaxGradient(a, a, {}, a, a); });
    ExpectMessage("MaskColumns: a mask of 3 columns does not fit 4 columns", [&] { Ops::MaskColumns(a, mask); });
    ExpectMessage("ScalarOf: the value must be 1 x 1, but is 3 x 4", [&] { Ops::ScalarOf(a); });
}

TEST_F(OperationsTests, SumsOverDataMustFit)
{
    const Matrix a = Make(3, 4), column = Make(3, 1), row = Make(1, 4), shorter = Make(2, 1);
    const MatrixView x = a;
    const std::vector<uint8_t> mask(4), other(3);
    ExpectMessage("Product: a mask of 3 columns does not fit 4 columns",
                  [&] { Ops::ElementwiseOverData(ElementwiseOp::Product, x, x, other, column.View()); });
    ExpectMessage("Abs: a sum over data has output [1 x 4]; its last dimension must be 1",
                  [&] { Ops::ElementwiseOverData(ElementwiseOp::Abs, x, mask, row.View()); });
    ExpectMessage("Abs: inputs [3 x 4] do not fit output [2 x 1]",
                  [&] { Ops::ElementwiseOverData(ElementwiseOp::Abs, x, mask, shorter.View()); });
}

TEST_F(OperationsTests, UpdatesMustFit)
{
    const Matrix a = Make(3, 4);
    ExpectMessage("MomentumUpdate: gradient [3 x 5] does not fit parameter [3 x 4]",
                  [&] { Ops::MomentumUpdate(a, Make(3, 4), Make(3, 5), 0.1, 0.9); });
    TouchedColumns touched;
    touched.columns = {1, 4};
    ExpectMessage("MomentumUpdate: touched columns 1 to 4 do not fit parameter [3 x 4]",
                  [&] { Ops::MomentumUpdate(a, Make(3, 4), Make(3, 4), 0.1, 0.9, &touched); });
}

} // namespace
} // namespace cntk
