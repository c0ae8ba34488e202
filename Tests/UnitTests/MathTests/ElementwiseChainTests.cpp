// Chains of element-wise operations have the same bits as their operations one after another.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/ElementwiseChain.h"
#include "Math/Operations.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <gtest/gtest.h>
#include <tuple>

namespace cntk
{

namespace
{

enum class Backend
{
    Reference,
    OneThread,
    FourThreads,
    EmulatedGpu
};

std::shared_ptr<Device> MakeBackend(Backend backend)
{
    if (backend == Backend::Reference)
        return MakeReferenceDevice();
    if (backend == Backend::EmulatedGpu)
        return MakeEmulatedGpu(EmulatedMemory::Open);
    return MakeCpuDevice({.threads = backend == Backend::OneThread ? 1 : 4});
}

class ElementwiseChainTests : public testing::TestWithParam<std::tuple<DataType, Backend>>
{
};

ElementwiseLink::Place PlaceOf(const MatrixView& view, bool isRepeated = false)
{
    return {view.data, isRepeated ? 0 : view.stride};
}

// A gate of an LSTM, forward and backward. A parameter is one column for all samples; operands have padding between
// columns.
struct Gate
{
    Gate(Device& device, DataType type, size_t rows, size_t columns)
        : wide(3 * rows + 5, columns, type, device), parameter(rows, 1, type, device), sum(rows, columns, type, device),
          gate(rows, columns, type, device), cell(rows, columns, type, device), gradient(rows, columns, type, device),
          cellGradient(rows, columns, type, device)
    {
        uint64_t seed = rows + columns;
        for (const Matrix* matrix : {&wide, &parameter, &sum, &gate, &cell, &gradient, &cellGradient})
            Ops::FillUniform(*matrix, -2, 2, ++seed);
        product = wide.View().Rows(rows, rows);
    }

    ElementwiseChain Chain() const
    {
        using Op = ElementwiseOp;
        ElementwiseChain chain{parameter.View().device, parameter.View().type, sum.View().rows, {}};
        const auto add =
            [&](Op op, double alpha, double beta, std::vector<ElementwiseLink::Place> inputs, const MatrixView& output)
        {
            ElementwiseLink link{op, alpha, beta, {}, PlaceOf(output)};
            std::copy(inputs.begin(), inputs.end(), link.inputs);
            chain.links.push_back(link);
        };
        add(Op::Product, 1, 0, {PlaceOf(parameter, true), PlaceOf(cell)}, sum);
        add(Op::Sum, 1, 0, {PlaceOf(sum), PlaceOf(product)}, sum);
        add(Op::Sigmoid, 1, 0, {PlaceOf(sum)}, gate);
        add(Op::Tanh, 1, 0, {PlaceOf(cell)}, sum);
        add(Op::Product, 1, 1, {PlaceOf(gate), PlaceOf(sum)}, cellGradient);
        add(Op::SigmoidGradient, 1, 0, {PlaceOf(cellGradient), PlaceOf(gate)}, gradient);
        add(Op::Product, 1, 1, {PlaceOf(gradient), PlaceOf(parameter, true)}, cellGradient);
        add(Op::Copy, -1, 1, {PlaceOf(gradient)}, product);
        return chain;
    }

    // Runs these columns one operation after another.
    void RunLinks(size_t first, size_t count) const
    {
        const auto at = [&](const MatrixView& view) { return TensorView(view.Columns(first, count)); };
        using Op = ElementwiseOp;
        const TensorView column(parameter);
        Ops::Elementwise(Op::Product, column, at(cell), at(sum));
        Ops::Elementwise(Op::Sum, at(sum), at(product), at(sum));
        Ops::Elementwise(Op::Sigmoid, at(sum), at(gate));
        Ops::Elementwise(Op::Tanh, at(cell), at(sum));
        Ops::Elementwise(Op::Product, at(gate), at(sum), at(cellGradient), 1, 1);
        Ops::Elementwise(Op::SigmoidGradient, at(cellGradient), at(gate), at(gradient));
        Ops::Elementwise(Op::Product, at(gradient), column, at(cellGradient), 1, 1);
        Ops::Elementwise(Op::Copy, at(gradient), at(product), -1, 1);
    }

    std::vector<double> Values() const
    {
        std::vector<double> all;
        for (const Matrix* matrix : {&wide, &sum, &gate, &cell, &gradient, &cellGradient})
        {
            const std::vector<double> values = matrix->ToHost();
            all.insert(all.end(), values.begin(), values.end());
        }
        return all;
    }

    Matrix wide, parameter, sum, gate, cell, gradient, cellGradient;
    MatrixView product;
};

} // namespace

TEST_P(ElementwiseChainTests, GiveTheSameBitsAsSingleOperations)
{
    const auto [type, backend] = GetParam();
    const auto device = MakeBackend(backend);
    for (const size_t rows : {1, 7, 32, 200, 300, 1111})
        for (const size_t columns : {1, 2, 10, 65})
        {
            const Gate together(*device, type, rows, columns), apart(*device, type, rows, columns);
            const size_t first = columns / 3;
            Ops::RunChain(together.Chain(), first, columns - first);
            apart.RunLinks(first, columns - first);
            ASSERT_EQ(together.Values(), apart.Values()) << rows << " x " << columns;
        }
}

// An operand that holds only one time step is overwritten by each step.
TEST_P(ElementwiseChainTests, OneStepMayHaveItsOwnMemory)
{
    const auto [type, backend] = GetParam();
    const auto device = MakeBackend(backend);
    for (const size_t rows : {3, 200})
        for (const size_t sequences : {1, 5, 64})
        {
            const size_t steps = 3;
            const Gate apart(*device, type, rows, sequences * steps), whole(*device, type, rows, sequences * steps);
            const Matrix ofStep(rows, sequences, type, *device);
            ElementwiseChain chain = apart.Chain();
            const void* const sum = apart.sum.View().data;
            for (ElementwiseLink& link : chain.links)
                for (ElementwiseLink::Place* place : {&link.inputs[0], &link.inputs[1], &link.output})
                    if (place->data == sum)
                        *place = {ofStep.View().data, ofStep.View().stride, true};
            for (size_t step = 0; step < steps; ++step)
            {
                const size_t half = sequences / 2; // in two parts, as two threads would
                Ops::RunChain(chain, step * sequences + half, sequences - half, half);
                Ops::RunChain(chain, step * sequences, half, 0);
                Ops::RunChain(whole.Chain(), step * sequences, sequences);
                const Matrix last(rows, sequences, type, *device);
                Ops::Copy(whole.sum.View().Columns(step * sequences, sequences), last);
                EXPECT_EQ(ofStep.ToHost(), last.ToHost());
            }
            EXPECT_EQ(apart.gate.ToHost(), whole.gate.ToHost());
            EXPECT_EQ(apart.cellGradient.ToHost(), whole.cellGradient.ToHost());
        }
}

// Results that only later operations read need not be written, and may share memory; all other results are the same.
TEST_P(ElementwiseChainTests, TemporariesDoNotChangeOtherResults)
{
    const auto [type, backend] = GetParam();
    const auto device = MakeBackend(backend);
    for (const size_t rows : {1, 7, 200, 1111, 9000})
        for (const size_t columns : {1, 10, 65})
            for (const int number : {0, 3, 1000}) // more than a backend may have room for
            {
                const Gate gate(*device, type, rows, columns), apart(*device, type, rows, columns);
                ElementwiseChain chain = gate.Chain();
                const void* const sum = gate.sum.View().data;
                for (size_t i = 0; i < chain.links.size(); ++i)
                    for (ElementwiseLink::Place* place :
                         {&chain.links[i].inputs[0], &chain.links[i].inputs[1], &chain.links[i].output})
                        if (place->data == sum)
                            place->temporary = number + (i < 3 ? 0 : 1); // two results, one after the other
                const size_t first = columns / 3;
                Ops::RunChain(chain, first, columns - first);
                apart.RunLinks(first, columns - first);
                const auto others = [](const Gate& one)
                {
                    std::vector<std::vector<double>> all;
                    for (const Matrix* matrix : {&one.wide, &one.gate, &one.cell, &one.gradient, &one.cellGradient})
                        all.push_back(matrix->ToHost());
                    return all;
                };
                ASSERT_EQ(others(gate), others(apart)) << rows << " x " << columns << ", number " << number;
            }
}

INSTANTIATE_TEST_SUITE_P(, ElementwiseChainTests,
                         testing::Combine(testing::Values(DataType::Float32, DataType::Float64),
                                          testing::Values(Backend::Reference, Backend::OneThread, Backend::FourThreads,
                                                          Backend::EmulatedGpu)));

// One launch per chain, up to the operations that a launch takes. With overlapping operands each operation is a launch.
TEST(ElementwiseChainTest, AGpuRunsAChainAsOne)
{
    auto owned = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open);
    const CudaEmulation::WorkCounts& counts = owned->Counts();
    const auto device = MakeEmulatedGpu(std::move(owned));
    const auto launchesOf = [&](const ElementwiseChain& chain)
    {
        const size_t before = counts.kernels;
        Ops::RunChain(chain, 1, 5);
        return counts.kernels - before;
    };
    for (const DataType type : {DataType::Float32, DataType::Float64})
    {
        const Gate gate(*device, type, 40, 6), apart(*device, type, 40, 6);
        EXPECT_EQ(launchesOf(gate.Chain()), 1u);
        apart.RunLinks(1, 5);
        EXPECT_EQ(gate.Values(), apart.Values());

        // 40 operations are two launches, and the second needs the results of the first.
        ElementwiseChain chain = gate.Chain(), once = chain;
        for (size_t i = 0; i < 4; ++i)
            chain.links.insert(chain.links.end(), once.links.begin(), once.links.end());
        for (ElementwiseLink& link : chain.links)
            if (link.output.data == gate.sum.View().data)
                link.output.temporary = 0;
        EXPECT_EQ(launchesOf(chain), 2u);
        for (size_t i = 0; i < 5; ++i)
            apart.RunLinks(1, 5);
        EXPECT_EQ(gate.Values(), apart.Values());

        // An input overlaps another operation's output, shifted by a row, so threads would have to wait for each other.
        const auto shift = [](const Gate& one)
        {
            ElementwiseChain chain = one.Chain();
            chain.links.resize(2);
            chain.links[0] = {ElementwiseOp::Copy, 1, 0, {PlaceOf(one.wide.View().Rows(1, 40))}, PlaceOf(one.cell)};
            chain.links[1] = {ElementwiseOp::Copy, 1, 0, {PlaceOf(one.cell)}, PlaceOf(one.wide.View().Rows(0, 40))};
            return chain;
        };
        EXPECT_EQ(launchesOf(shift(gate)), 2u);
        Ops::Copy(apart.wide.View().Rows(1, 40).Columns(1, 5), apart.cell.View().Columns(1, 5));
        Ops::Copy(apart.cell.View().Columns(1, 5), apart.wide.View().Rows(0, 40).Columns(1, 5));
        EXPECT_EQ(gate.Values(), apart.Values());
    }
}

TEST(ElementwiseChainTest, NothingToDoIsNoError)
{
    const auto device = MakeCpuDevice();
    const Gate gate(*device, DataType::Float32, 3, 2);
    const std::vector<double> before = gate.Values();
    Ops::RunChain(gate.Chain(), 2, 0);
    Ops::RunChain({}, 0, 2);
    EXPECT_EQ(gate.Values(), before);
}

TEST(ElementwiseChainTest, OperandsNeedMemoryAndResultsAColumnEach)
{
    const auto device = MakeCpuDevice();
    const Gate gate(*device, DataType::Float32, 3, 2);
    const auto messageOf = [](const ElementwiseChain& chain)
    { return MessageOf(ErrorKind::Internal, [&] { Ops::RunChain(chain, 0, 2); }); };
    ElementwiseChain chain = gate.Chain();
    chain.links[1].inputs[1].data = nullptr;
    EXPECT_EQ(messageOf(chain), "RunChain: an operand of Sum has no memory yet");
    chain = gate.Chain();
    chain.links[2].output.stride = 0;
    EXPECT_EQ(messageOf(chain), "RunChain: the columns that Sigmoid writes are 0 elements apart, but have 3");
    chain = gate.Chain();
    chain.device = nullptr;
    EXPECT_EQ(messageOf(chain), "RunChain: the chain is on no device");
}

} // namespace cntk
