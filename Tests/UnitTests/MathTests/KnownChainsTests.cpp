// Known chains are recognized by their operations, and the compiled loop has the same bits as the operations one by
// one.
#include "Math/Cpu/CpuDevice.h"
#include "Math/ElementwiseChain.h"
#include "Math/KnownChains.h"
#include "Math/Operations.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

namespace cntk
{

namespace
{

// One of the tables with memory for its operands. Each third operand is one column (a parameter), each fourth has rows
// of a higher matrix, the others have whole columns.
class KnownChainOf
{
public:
    KnownChainOf(Device& device, DataType type, const KnownChain& known, size_t rows, size_t columns)
        : m_known(known), m_chain{&device, type, rows, {}}
    {
        for (size_t i = 0; i < known.operandCount; ++i)
            AddOperand(device, i, columns);
        for (size_t i = 0; i < known.linkCount; ++i)
        {
            const KnownChain::Link& link = known.links[i];
            ElementwiseLink& made = m_chain.links.emplace_back();
            made.op = link.op;
            made.beta = link.adds ? 1 : 0;
            made.inputs[0] = m_places[link.first];
            if (ArityOf(link.op) > 1)
                made.inputs[1] = m_places[link.second];
            made.output = m_places[link.output];
        }
    }

    ElementwiseChain& Chain() { return m_chain; }
    // Sets each third element of the operands; the pairs differ from row to row.
    void Set(std::span<const double> values)
    {
        for (size_t i = 0; i < m_known.operandCount; ++i)
        {
            std::vector<double> elements = m_matrices[i].ToHost();
            for (size_t j = i % 3; j < elements.size(); j += 3)
                elements[j] = values[(i * 5 + j) % values.size()];
            m_matrices[i].FromHost(elements);
        }
    }
    // The values of all operands except temporaries.
    std::vector<std::vector<double>> Values() const
    {
        std::vector<std::vector<double>> all;
        for (size_t i = 0; i < m_known.firstTemporary; ++i)
            all.push_back(m_matrices[i].ToHost());
        return all;
    }

    // Returns the values as bits; all NaN are equal.
    std::vector<std::vector<uint64_t>> Bits() const
    {
        std::vector<std::vector<uint64_t>> all;
        for (const std::vector<double>& values : Values())
            for (auto& bits = all.emplace_back(); const double value : values)
                bits.push_back(std::isnan(value) ? ~uint64_t(0) : std::bit_cast<uint64_t>(value));
        return all;
    }

private:
    bool IsWritten(size_t operand) const
    {
        for (size_t i = 0; i < m_known.linkCount; ++i)
            if (m_known.links[i].output == operand)
                return true;
        return false;
    }

    void AddOperand(Device& device, size_t operand, size_t columns)
    {
        const size_t rows = m_chain.rows;
        const bool isParameter = operand % 3 == 0 && !IsWritten(operand), isHigh = operand % 4 == 1;
        const Matrix& matrix =
            m_matrices.emplace_back(isHigh ? 3 * rows + 5 : rows, isParameter ? 1 : columns, m_chain.type, device);
        Ops::FillUniform(matrix, -3, 3, operand + 1);
        const MatrixView view = matrix.View().Rows(isHigh ? rows : 0, rows);
        ElementwiseLink::Place& place = m_places.emplace_back();
        place.data = view.data;
        place.stride = isParameter ? 0 : view.stride;
        if (m_known.IsTemporary(operand))
            place.temporary = int(operand - m_known.firstTemporary);
    }

    const KnownChain& m_known;
    std::vector<Matrix> m_matrices;
    std::vector<ElementwiseLink::Place> m_places;
    ElementwiseChain m_chain;
};

// Element type, threads, instruction set.
class KnownChainsTests : public testing::TestWithParam<std::tuple<DataType, int, InstructionSet>>
{
};

// Each instruction set has its own loops.
std::vector<InstructionSet> InstructionSetsHere()
{
    std::vector<InstructionSet> sets;
    for (const auto set : {InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512})
        if (set <= BestInstructionSet())
            sets.push_back(set);
    return sets;
}

} // namespace

TEST_P(KnownChainsTests, GiveTheSameBitsAsSingleOperations)
{
    const auto [type, threads, set] = GetParam();
    const auto device = MakeCpuDeviceWith(set, threads);
    for (const KnownChain& known : KnownChains::c_all)
        for (const size_t rows : {1, 7, 16, 200, 300, 1111})
            for (const size_t columns : {1, 2, 10, 65})
            {
                KnownChainOf together(*device, type, known, rows, columns), apart(*device, type, known, rows, columns);
                together.Chain().known = KnownChains::Find(together.Chain());
                ASSERT_NE(together.Chain().known, KnownChains::c_none);
                const auto before = apart.Values();
                const size_t first = columns / 3;
                Ops::RunChain(together.Chain(), first, columns - first);
                Ops::RunChain(apart.Chain(), first, columns - first);
                ASSERT_EQ(together.Values(), apart.Values()) << rows << " x " << columns;
                ASSERT_NE(before, apart.Values());
            }
}

// Special values (NaN, infinity, denormals): the compiler must not assume finite values or flush small ones to zero.
TEST_P(KnownChainsTests, GiveTheSameBitsForSpecialValues)
{
    const auto [type, threads, set] = GetParam();
    const auto device = MakeCpuDeviceWith(set, threads);
    const bool isDouble = type == DataType::Float64;
    const double inf = std::numeric_limits<double>::infinity(), smallest = isDouble ? 5e-324 : 1.4e-45;
    const double values[] = {
        inf, -inf, std::nan(""), 0.0, -0.0, isDouble ? 1e308 : 3e38, smallest, -3e5 * smallest, 100, -100, 1};
    for (const KnownChain& known : KnownChains::c_all)
        for (const size_t rows : {1, 7, 40, 300})
        {
            KnownChainOf together(*device, type, known, rows, 11), apart(*device, type, known, rows, 11);
            for (KnownChainOf* one : {&together, &apart})
                one->Set(values);
            together.Chain().known = KnownChains::Find(together.Chain());
            ASSERT_NE(together.Chain().known, KnownChains::c_none);
            const auto before = apart.Bits();
            for (KnownChainOf* one : {&together, &apart})
                Ops::RunChain(one->Chain(), 0, 11);
            EXPECT_EQ(together.Bits(), apart.Bits()) << rows << " rows";
            EXPECT_NE(before, apart.Bits());
        }
}

// Operands with only the columns of one time step are read and written at the step's columns.
TEST_P(KnownChainsTests, OneStepMayHaveItsOwnMemory)
{
    const auto [type, threads, set] = GetParam();
    const auto device = MakeCpuDeviceWith(set, threads);
    const size_t sequences = 5, rows = 40, step = 2;
    for (const KnownChain& known : KnownChains::c_all)
    {
        KnownChainOf together(*device, type, known, rows, 3 * sequences),
            apart(*device, type, known, rows, 3 * sequences);
        for (KnownChainOf* one : {&together, &apart})
        {
            const void* const ofStep = one->Chain().links[0].inputs[1].data;
            for (ElementwiseLink& link : one->Chain().links)
                for (ElementwiseLink::Place* place : {&link.inputs[0], &link.inputs[1], &link.output})
                    place->isOfStep = place->data == ofStep;
        }
        together.Chain().known = KnownChains::Find(together.Chain());
        ASSERT_NE(together.Chain().known, KnownChains::c_none);
        for (KnownChainOf* one : {&together, &apart})
            Ops::RunChain(one->Chain(), step * sequences + 2, sequences - 2, 2);
        EXPECT_EQ(together.Values(), apart.Values());
    }
}

INSTANTIATE_TEST_SUITE_P(, KnownChainsTests,
                         testing::Combine(testing::Values(DataType::Float32, DataType::Float64), testing::Values(1, 4),
                                          testing::ValuesIn(InstructionSetsHere())));

TEST(KnownChainsTest, AreFoundByTheirOperations)
{
    const auto device = MakeCpuDevice();
    for (size_t number = 0; number < KnownChains::c_count; ++number)
    {
        KnownChainOf known(*device, DataType::Float32, KnownChains::c_all[number], 3, 2);
        EXPECT_EQ(KnownChains::Find(known.Chain()), int(number));
        const auto findWith = [&](auto&& change)
        {
            ElementwiseChain chain = known.Chain();
            change(chain.links);
            return KnownChains::Find(chain);
        };
        using Links = std::vector<ElementwiseLink>;
        EXPECT_EQ(findWith([](Links& links) { links.pop_back(); }), KnownChains::c_none);
        EXPECT_EQ(findWith([](Links& links) { links[1].op = ElementwiseOp::Difference; }), KnownChains::c_none);
        EXPECT_EQ(findWith([](Links& links) { links[1].alpha = 0.5; }), KnownChains::c_none);
        EXPECT_EQ(findWith([](Links& links) { links.back().beta = 1 - links.back().beta; }), KnownChains::c_none);
        // Other operands: one for two, two for one, and memory for a temporary.
        EXPECT_EQ(findWith([](Links& links) { links[1].inputs[1] = links[0].inputs[0]; }), KnownChains::c_none);
        EXPECT_EQ(findWith([](Links& links) { links.back().inputs[0].data = links[0].inputs[0].data; }),
                  KnownChains::c_none);
        EXPECT_EQ(findWith([](Links& links) { links[0].output.temporary = ElementwiseLink::c_kept; }),
                  KnownChains::c_none);
    }
}

// A temporary may reuse the memory of another one only after its last read.
TEST(KnownChainsTest, TemporariesMayShareMemory)
{
    const auto device = MakeCpuDevice();
    const KnownChain& forward = KnownChains::c_all[0];
    KnownChainOf known(*device, DataType::Float32, forward, 3, 2);
    // Replaces one temporary by another one everywhere.
    const auto findWith = [&](int one, int other)
    {
        ElementwiseChain chain = known.Chain();
        const auto forEachPlace = [&](auto&& visit)
        {
            for (ElementwiseLink& link : chain.links)
                for (ElementwiseLink::Place* place : {&link.inputs[0], &link.inputs[1], &link.output})
                    visit(*place);
        };
        ElementwiseLink::Place others;
        forEachPlace([&](const auto& place) { others = place.temporary == other ? place : others; });
        forEachPlace([&](auto& place) { place = place.temporary == one ? others : place; });
        return KnownChains::Find(chain);
    };
    EXPECT_EQ(findWith(5, 1), 0);
    EXPECT_EQ(findWith(5, 0), KnownChains::c_none);
}

} // namespace cntk
