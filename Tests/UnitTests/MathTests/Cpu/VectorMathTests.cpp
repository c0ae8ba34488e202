// exp, log, sigmoid and tanh of each instruction set, compared with libm in a wider type: at most 2 units in the last
// place.
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/DataType.h"
#include "Math/ElementwiseFunctions.h"
#include "MathTests/Cpu/PageEndAllocator.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace cntk
{
namespace
{

// The reference of float is double, that of double is long double.
template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

template <class T>
Wider<T> Exact(ElementwiseOp op, T value)
{
    const Wider<T> x = value;
    switch (op)
    {
    case ElementwiseOp::Exp:
        return std::exp(x);
    case ElementwiseOp::Log:
        return value < T(c_logFloor) ? Wider<T>(T(c_logOfFloor)) : std::log(x);
    case ElementwiseOp::Sigmoid:
        return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
    default:
        return std::tanh(x);
    }
}

// Returns the distance of a result from the exact value, in units in the last place near the exact value.
template <class T>
double UnitsInLastPlace(T found, Wider<T> exact)
{
    if (std::isnan(exact) || std::isnan(found))
        return std::isnan(exact) && std::isnan(found) ? 0 : 1e9;
    const T rounded = T(exact);
    if (std::isinf(rounded) || std::isinf(found))
    {
        // The neighbour of infinity is the largest number.
        const bool isClose = std::fabs(found) >= std::numeric_limits<T>::max() * T(0.9999) &&
                             std::fabs(rounded) >= std::numeric_limits<T>::max() * T(0.9999);
        return rounded == found || isClose ? 0 : 1e9;
    }
    const T magnitude = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
    const Wider<T> unit = std::ldexp(Wider<T>(1), std::ilogb(magnitude) - (std::numeric_limits<T>::digits - 1));
    return double(std::fabs(Wider<T>(found) - exact) / unit);
}

template <class T>
std::vector<T> Arguments()
{
    const T infinity = std::numeric_limits<T>::infinity();
    std::vector<T> values{0,
                          -T(0),
                          infinity,
                          -infinity,
                          std::numeric_limits<T>::quiet_NaN(),
                          std::numeric_limits<T>::denorm_min(),
                          -std::numeric_limits<T>::denorm_min(),
                          std::numeric_limits<T>::max(),
                          std::numeric_limits<T>::lowest(),
                          std::numeric_limits<T>::min(),
                          T(0.625),
                          T(-0.625),
                          T(1e-37),
                          T(0.99e-37)};
    std::mt19937_64 random(1);
    // All bit patterns are equally likely, including NaN and denormals.
    for (size_t i = 0; i < 400000; ++i)
    {
        const uint64_t bits = random();
        T value;
        std::memcpy(&value, &bits, sizeof(T));
        values.push_back(value);
    }
    // Ranges in which the formulas change, or results are denormal.
    const auto sample = [&](T low, T high)
    {
        std::uniform_real_distribution<T> uniform(low, high);
        for (size_t i = 0; i < 400000; ++i)
            values.push_back(uniform(random));
    };
    sample(-1, 1);
    sample(-20, 20);
    sample(T(0.5), T(2));
    sizeof(T) == sizeof(float) ? sample(-110, 95) : sample(-760, 720);
    sizeof(T) == sizeof(float) ? sample(-105, -86) : sample(-746, -707);
    return values;
}

template <class T>
void CheckFunctions(InstructionSet set)
{
    const std::vector<T> arguments = Arguments<T>();
    std::vector<T> results(arguments.size());
    for (ElementwiseOp op : {ElementwiseOp::Exp, ElementwiseOp::Log, ElementwiseOp::Sigmoid, ElementwiseOp::Tanh})
    {
        ElementwiseLoop<T> loop;
        loop.inner = arguments.size();
        loop.inputs[0] = arguments.data();
        loop.output = results.data();
        KernelsFor(set).vectors.Of<T>().elementwise[size_t(op)][0](loop);
        double worst = 0;
        T at = 0;
        for (size_t i = 0; i < arguments.size(); ++i)
        {
            const double error = UnitsInLastPlace<T>(results[i], Exact(op, arguments[i]));
            if (error > worst)
            {
                worst = error;
                at = arguments[i];
            }
        }
        EXPECT_LE(worst, 2.0) << NameOf(op) << " of " << NameOf(DataTypeOf<T>()) << " at " << double(at);
        testing::Test::RecordProperty(std::string(NameOf(op)) + NameOf(DataTypeOf<T>()), std::to_string(worst));
    }
}

// The result of an element does not depend on its place: contiguous columns, columns with padding, whole registers and
// the remaining elements. Memory ends with the last element.
template <class T>
void CheckColumns(InstructionSet set, ElementwiseOp op, size_t rows, size_t columns, size_t stride)
{
    using Values = std::vector<T, PageEndAllocator<T>>;
    constexpr T untouched = T(7);
    const auto function = KernelsFor(set).vectors.Of<T>().elementwise[size_t(op)][0];
    Values input((columns - 1) * stride + rows), output(input.size(), untouched);
    std::mt19937 random(1);
    std::uniform_real_distribution<T> uniform(-3, 3);
    for (T& value : input)
        value = uniform(random);
    ElementwiseLoop<T> loop;
    loop.inner = rows;
    loop.outer = columns;
    loop.inputs[0] = input.data();
    loop.output = output.data();
    loop.inputStrides[0] = loop.outputStride = ptrdiff_t(stride);
    function(loop);
    for (size_t i = 0; i < input.size(); ++i)
    {
        T alone = untouched;
        ElementwiseLoop<T> one;
        one.inner = 1;
        one.inputs[0] = &input[i];
        one.output = &alone;
        if (i % stride < rows)
            function(one);
        ASSERT_EQ(output[i], alone) << NameOf(op) << " of " << NameOf(DataTypeOf<T>()) << ", element " << i << " of "
                                    << rows << " x " << columns << ", columns " << stride << " apart";
    }
}

class VectorMathTests : public testing::TestWithParam<InstructionSet>
{
protected:
    void SetUp() override
    {
        if (GetParam() > BestInstructionSet())
            GTEST_SKIP() << "the processor has no " << NameOf(GetParam());
    }
};

TEST_P(VectorMathTests, FloatsAreAccurate)
{
    CheckFunctions<float>(GetParam());
}

TEST_P(VectorMathTests, DoublesAreAccurate)
{
    CheckFunctions<double>(GetParam());
}

TEST_P(VectorMathTests, AnElementDoesNotDependOnItsPlace)
{
    for (const ElementwiseOp op : {ElementwiseOp::Exp, ElementwiseOp::Sigmoid, ElementwiseOp::Tanh})
        for (const size_t rows : {1, 7, 16, 50, 300, 512, 1100})
            for (const size_t gap : {0, 5})
            {
                CheckColumns<float>(GetParam(), op, rows, 3, rows + gap);
                CheckColumns<double>(GetParam(), op, rows, 3, rows + gap);
            }
}

INSTANTIATE_TEST_SUITE_P(Cpu, VectorMathTests,
                         testing::Values(InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512),
                         [](const testing::TestParamInfo<InstructionSet>& info) {
                             return info.param == InstructionSet::Avx512 ? "Avx512"
                                    : info.param == InstructionSet::Avx2 ? "Avx2"
                                                                         : "Sse2";
                         });

} // namespace
} // namespace cntk
