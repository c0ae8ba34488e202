// The grouping of requests, the touched columns, and the messages of checks.
#include "Common/Error.h"
#include "Math/Cpu/CpuDevice.h"
#include "Math/Operations.h"
#include "Math/SampledProducts.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

template <class Body>
std::string MessageOf(Body&& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        return error.Message();
    }
    return "(no error)";
}

TEST(SampledProductsTests, RequestsOfOneSliceAreGrouped)
{
    ColumnSlices slices;
    slices.requests = {{0, 4, 6, 5}, {1, 0, 4, 2}, {2, 4, 6, 4}, {3, 0, 4, 0}, {4, 4, 6, 5}};
    slices.MakeGroups();
    ASSERT_EQ(slices.groups.size(), 2u);
    EXPECT_EQ(slices.groups[0].firstColumn, 0u);
    EXPECT_EQ(slices.groups[0].memberCount, 2u);
    EXPECT_EQ(slices.groups[1].firstMember, 2u);
    EXPECT_EQ(slices.groups[1].memberCount, 3u);
    EXPECT_EQ(slices.groups[1].columnCount, 2u);
    EXPECT_EQ(slices.groups[1].firstElement, 8u);
    EXPECT_EQ(slices.elements, 14u);
    EXPECT_TRUE(slices.areDisjoint);
    EXPECT_EQ(slices.requests[3].sample, 2); // in the samples' order
}

// Two classes that share words are computed one after another, and each word counts once as touched.
TEST(SampledProductsTests, OverlappingSlicesAddUp)
{
    const auto device = MakeCpuDevice();
    ColumnSlices slices;
    slices.requests = {{0, 0, 3, 1}, {1, 2, 5, 4}};
    slices.MakeGroups();
    EXPECT_FALSE(slices.areDisjoint);
    Matrix gathered(1, 2, DataType::Float64, *device);
    gathered.FromHost(std::vector<double>{1, 10});
    Matrix errors(1, 6, DataType::Float64, *device);
    errors.FromHost(std::vector<double>{1, 2, 3, 4, 5, 6});
    Matrix scale(1, 1, DataType::Float64, *device);
    scale.FromHost(std::vector<double>{1});
    Matrix gradient(1, 6, DataType::Float64, *device);
    TouchedColumns touched;
    Ops::SliceSoftmaxWeightGradient(slices, gathered, errors, scale, gradient, touched);
    EXPECT_EQ(gradient.ToHost(), (std::vector<double>{1, 2, 43, 50, 60, 0}));
    EXPECT_EQ(touched.columns, (std::vector<int32_t>{0, 1, 2, 3, 4}));
}

// A new gradient replaces the previous one: in the slices, in columns touched before, or everywhere.
TEST(SampledProductsTests, ANewGradientReplacesThePreviousOne)
{
    for (const auto& device : {MakeReferenceDevice(), MakeCpuDevice({.threads = 1}), MakeCpuDevice({.threads = 4})})
        for (const bool isDisjoint : {true, false})
            for (const bool wasDense : {false, true})
            {
                ColumnSlices slices;
                slices.requests = {{0, 1, 3, 1}, {1, isDisjoint ? 3 : 2, 5, 4}};
                slices.MakeGroups();
                ASSERT_EQ(slices.areDisjoint, isDisjoint);
                Matrix gathered(1, 2, DataType::Float64, *device);
                gathered.FromHost(std::vector<double>{1, 10});
                Matrix errors(1, slices.elements, DataType::Float64, *device);
                errors.FromHost(isDisjoint ? std::vector<double>{1, 2, 3, 4} : std::vector<double>{1, 2, 3, 4, 5});
                Matrix scale(1, 1, DataType::Float64, *device);
                scale.FromHost(std::vector<double>{1});
                Matrix gradient(1, 8, DataType::Float64, *device);
                TouchedColumns touched;
                touched.all = wasDense;
                touched.columns = {0, 1, 5, 6};
                gradient.FromHost(wasDense ? std::vector<double>{7, 7, 7, 7, 7, 7, 7, 7}
                                           : std::vector<double>{7, 7, 0, 0, 0, 7, 7, 0});
                Ops::SliceSoftmaxWeightGradient(slices, gathered, errors, scale, gradient, touched, true);
                EXPECT_EQ(gradient.ToHost(), isDisjoint ? (std::vector<double>{0, 1, 2, 30, 40, 0, 0, 0})
                                                        : (std::vector<double>{0, 1, 32, 40, 50, 0, 0, 0}))
                    << device->Describe();
                EXPECT_FALSE(touched.all);
                EXPECT_EQ(touched.columns, (std::vector<int32_t>{1, 2, 3, 4}));

                slices.requests.clear();
                slices.MakeGroups();
                Ops::SliceSoftmaxWeightGradient(slices, Matrix(1, 0, DataType::Float64, *device),
                                                Matrix(1, 0, DataType::Float64, *device), scale, gradient, touched,
                                                true);
                EXPECT_EQ(gradient.ToHost(), std::vector<double>(8));
                EXPECT_TRUE(touched.columns.empty());
            }
}

// Returns slices of these numbers of samples, with one column between them.
SliceOperands OperandsOf(const std::vector<size_t>& members, size_t rows, double scale, DataType type, Device& device)
{
    SliceOperands operands;
    int32_t first = 1, sample = 0;
    for (size_t i = 0; i < members.size(); ++i)
    {
        const int32_t end = first + int32_t(3 + 29 * i);
        for (size_t k = 0; k < members[i]; ++k)
            operands.slices.requests.push_back({sample++, first, end, first});
        first = end + 1;
    }
    operands.slices.MakeGroups();
    operands.gathered = Matrix(rows, operands.slices.Members(), type, device);
    operands.errors = Matrix(1, operands.slices.elements, type, device);
    operands.scale = Matrix(1, 1, type, device);
    Ops::FillUniform(operands.gathered, -1, 1, 1);
    Ops::FillUniform(operands.errors, -1, 1, 2);
    Ops::Fill(operands.scale, scale);
    return operands;
}

// One device for each instruction set that the processor has, and one with several threads.
std::vector<std::shared_ptr<Device>> DevicesToCompare()
{
    std::vector<std::shared_ptr<Device>> devices{MakeCpuDevice({.threads = 4})};
    for (const auto set : {InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512})
        if (set <= BestInstructionSet())
            devices.push_back(MakeCpuDeviceWith(set, 1));
    return devices;
}

// The weights get the same bits as with a separate gradient and update; other columns stay unchanged. Cases: few
// samples in a slice, a product, a product of many steps, and one large slice that threads share.
TEST(SampledProductsTests, WeightsDescendDirectlyAfterTheirGradient)
{
    for (const std::vector<size_t>& members :
         {std::vector<size_t>{1, 2, 3, 4, 5, 6, 7}, {9, 40, 5, 3}, {700, 2}, {1, 2, 4}, {2, 3, 100}, {1, 1, 1, 0, 5}})
        for (const size_t rows : {1, 20, 208, 1100})
            for (const double scale : {1.0, 0.3})
                for (const DataType type : {DataType::Float32, DataType::Float64})
                    for (const auto& device : DevicesToCompare())
                    {
                        const SliceOperands operands = OperandsOf(members, rows, scale, type, *device);
                        const size_t columns = 1 + size_t(operands.slices.groups.back().firstColumn +
                                                          operands.slices.groups.back().columnCount);
                        Matrix behind(rows, columns, type, *device), gradient(rows, columns, type, *device);
                        Ops::FillUniform(behind, -1, 1, 3);
                        Matrix apart = behind.Clone();
                        TouchedColumns touched;
                        Ops::SliceSoftmaxWeightGradient(operands.slices, operands.gathered, operands.errors,
                                                        operands.scale, gradient, touched);
                        const Matrix smoothed(rows, columns, type, *device);
                        Ops::MomentumUpdate(apart, smoothed, gradient, 0.7, 0, &touched);
                        Ops::Fill(gradient, std::nan(""));
                        ASSERT_TRUE(Ops::SliceSoftmaxDescend(operands, behind, 0.7, gradient));
                        ASSERT_EQ(behind.ToHost(), apart.ToHost())
                            << rows << " rows, " << members.size() << " slices, scale " << scale << ", "
                            << device->Describe();
                    }
}

TEST(SampledProductsTests, WeightsDoNotDescendWithoutWork)
{
    const auto reference = MakeReferenceDevice(), device = MakeCpuDevice();
    Matrix weights(2, 9, DataType::Float32, *reference), scratch(2, 9, DataType::Float32, *reference);
    EXPECT_FALSE(Ops::SliceSoftmaxDescend(OperandsOf({1}, 2, 1, DataType::Float32, *reference), weights, 1, scratch));

    SliceOperands none = OperandsOf({}, 2, 1, DataType::Float32, *device);
    Matrix kept(2, 9, DataType::Float32, *device), other(2, 9, DataType::Float32, *device);
    Ops::Fill(kept, 5);
    EXPECT_TRUE(Ops::SliceSoftmaxDescend(none, kept, 1, other));
    EXPECT_EQ(kept.ToHost(), std::vector<double>(18, 5));

    SliceOperands overlapping = OperandsOf({1}, 2, 1, DataType::Float32, *device);
    overlapping.slices.areDisjoint = false;
    EXPECT_EQ(MessageOf([&] { Ops::SliceSoftmaxDescend(overlapping, kept, 1, other); }),
              "SliceSoftmaxDescend: slices overlap");
}

TEST(SampledProductsTests, MessagesOfOperandsThatDoNotFit)
{
    const auto device = MakeCpuDevice();
    const auto matrix = [&](size_t rows, size_t columns) { return Matrix(rows, columns, DataType::Float32, *device); };
    const Matrix weights = matrix(2, 4);
    const Matrix inputs = matrix(2, 3);
    const Matrix gathered = matrix(2, 1);
    const Matrix errors = matrix(1, 2);
    const Matrix losses = matrix(1, 1);
    const auto run = [&](const ColumnSlices& slices, const Matrix& gatheredInputs)
    { Ops::SliceSoftmax(slices, weights, inputs, gatheredInputs, errors, losses, true); };
    ColumnSlices slices;
    slices.requests = {{0, 3, 5, 3}};
    slices.MakeGroups();
    EXPECT_EQ(MessageOf([&] { run(slices, gathered); }), "SliceSoftmax: slice 3 to 5 is outside of 4 columns");
    slices.requests = {{3, 1, 3, 1}};
    slices.MakeGroups();
    EXPECT_EQ(MessageOf([&] { run(slices, gathered); }), "SliceSoftmax: sample 3 of 3 asks for column 1 of 1 to 3");
    slices.requests = {{2, 1, 3, 3}};
    slices.MakeGroups();
    EXPECT_EQ(MessageOf([&] { run(slices, gathered); }), "SliceSoftmax: sample 2 of 3 asks for column 3 of 1 to 3");
    slices.requests = {{2, 1, 3, 1}};
    slices.MakeGroups();
    EXPECT_EQ(MessageOf([&] { run(slices, losses); }), "SliceSoftmax: gathered is [1 x 1]; expected [2 x 1]");
    slices.requests.push_back({0, 1, 3, 1});
    EXPECT_EQ(MessageOf([&] { run(slices, gathered); }), "SliceSoftmax: 2 members, of which 1 are grouped");

    SparseMatrix pattern(DataType::Float32, *device);
    const std::vector<int32_t> starts = {0, 0, 0, 0};
    pattern.FromHost(5, 3, nullptr, {}, starts);
    EXPECT_EQ(MessageOf([&] { Ops::SampledInnerProducts(weights, inputs, pattern, matrix(1, 0)); }),
              "SampledInnerProducts: a pattern of [5 x 3] for 4 columns of weights and 3 of inputs");
    EXPECT_EQ(MessageOf([&] { Ops::CrossEntropy(pattern, matrix(5, 2), {}, losses); }),
              "CrossEntropy: the matrix of probabilities is [5 x 2]; expected [5 x 3]");
}

} // namespace
} // namespace cntk
