// The errors of UpdateParameter, also on a device without this kernel.
#include "Common/Error.h"
#include "Math/Cpu/CpuDevice.h"
#include "Math/Operations.h"
#include "Math/UpdateRules.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <array>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

class UpdateRulesTest : public ::testing::Test
{
protected:
    Matrix Make(size_t rows, size_t columns, DataType type = DataType::Float32)
    {
        Matrix matrix(rows, columns, type, *m_device);
        Ops::Fill(matrix, 1);
        return matrix;
    }

    std::string MessageOf(const UpdateCall& call, const Matrix& parameter, std::vector<MatrixView> states,
                          const Matrix& gradient)
    {
        try
        {
            Ops::UpdateParameter(call, parameter, states, gradient);
        }
        catch (const Error& error)
        {
            return error.Message();
        }
        return "";
    }

    std::shared_ptr<Device> m_device = MakeCpuDevice({.threads = 1});
    std::shared_ptr<Device> m_other = MakeCpuDevice({.threads = 1});
};

} // namespace

TEST_F(UpdateRulesTest, OperandsMustFit)
{
    UpdateCall call;
    call.formula = UpdateFormula::Adam;
    const Matrix w = Make(3, 4), s = Make(3, 4);
    EXPECT_EQ(MessageOf(call, w, {s}, s), "UpdateParameter: Adam has 2 states, but was given 1");
    EXPECT_EQ(MessageOf(call, w, {s, Make(3, 5)}, s), "UpdateParameter: state [3 x 5] does not fit parameter [3 x 4]");
    EXPECT_EQ(MessageOf(call, w, {s, s}, Make(4, 3)),
              "UpdateParameter: gradient [4 x 3] does not fit parameter [3 x 4]");
    EXPECT_EQ(MessageOf(call, w, {s, s}, Make(3, 4, DataType::Float64)),
              "UpdateParameter: gradient is of another type than the parameter");
    EXPECT_EQ(MessageOf(call, w, {s, s}, Matrix(3, 4, DataType::Float32, *m_other)),
              "UpdateParameter: gradient is on another device than the parameter");
    call.normalizes = true;
    EXPECT_EQ(MessageOf(call, w, {s, s}, s), "UpdateParameter: Adam has no multipliers to normalize with");
    call.normalizes = false;
    TouchedColumns touched;
    touched.columns = {1, 4};
    call.touched = &touched;
    EXPECT_EQ(MessageOf(call, w, {s, s}, s), "UpdateParameter: touched columns 1 to 4 do not fit parameter [3 x 4]");
    touched.columns.clear(); // nothing to do
    EXPECT_EQ(MessageOf(call, w, {s, s}, s), "");
    EXPECT_EQ(w.ToHost()[0], 1);
}

TEST_F(UpdateRulesTest, AStopIsANumberOfDoubleOnTheDevice)
{
    const Matrix w = Make(3, 4);
    UpdateCall call;
    const Matrix ofFloat = Make(1, 1), flags = Make(1, 2, DataType::Float64);
    for (const MatrixView& stop : {ofFloat.View(), flags.View()})
    {
        call.stop = stop;
        EXPECT_EQ(MessageOf(call, w, {w}, w),
                  "UpdateParameter: stop must be a number of double on the parameter's device");
    }
    call.stop = flags.View().Columns(0, 1);
    EXPECT_EQ(MessageOf(call, w, {Make(3, 4)}, w), "");
    EXPECT_EQ(w.ToHost()[0], 1);
}

TEST_F(UpdateRulesTest, AGradientOfALargerNormIsScaledDown)
{
    const Matrix w = Make(1, 2, DataType::Float64), g = Make(1, 2, DataType::Float64),
                 s = Make(1, 2, DataType::Float64);
    Ops::Fill(g.View().Columns(0, 1), 3);
    Ops::Fill(g.View().Columns(1, 1), 4);
    UpdateCall call;
    for (const double limit : {5.0, 2.5})
    {
        call.normLimit = limit;
        Ops::Fill(w, 0);
        Ops::UpdateParameter(call, w, std::array<MatrixView, 1>{s}, g);
        EXPECT_NEAR(w.ToHost()[0], -3 * limit / 5, 1e-15);
        EXPECT_NEAR(w.ToHost()[1], -4 * limit / 5, 1e-15);
    }
}

TEST_F(UpdateRulesTest, EmptyParametersAreLeftAlone)
{
    const Matrix empty = Make(0, 4);
    EXPECT_EQ(MessageOf({}, empty, {empty}, empty), "");
}

// The number of threads may change the order of sums, but not the values.
TEST_F(UpdateRulesTest, TheMeanOfMultipliersIsThatOfAllThreads)
{
    const auto four = MakeCpuDevice({.threads = 4});
    std::vector<std::vector<double>> results;
    for (Device* device : {m_device.get(), four.get()})
    {
        Matrix w(700, 301, DataType::Float64, *device), s(700, 301, DataType::Float64, *device),
            g(700, 301, DataType::Float64, *device);
        Ops::FillUniform(w, -1, 1, 1);
        Ops::FillUniform(s, 0, 1, 2);
        Ops::FillUniform(g, -1, 1, 3);
        UpdateCall call;
        call.formula = UpdateFormula::AdaGrad;
        call.constants.floor = 1e-16;
        call.rate = 0.1;
        call.normalizes = true;
        const std::array<MatrixView, 1> states{s};
        Ops::UpdateParameter(call, w, states, g);
        results.push_back(w.ToHost());
    }
    for (size_t i = 0; i < results[0].size(); ++i)
        ASSERT_NEAR(results[0][i], results[1][i], 1e-13);
}

} // namespace cntk
