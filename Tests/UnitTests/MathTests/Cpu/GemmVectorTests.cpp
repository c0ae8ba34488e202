// Products with one column have the bits of the same column in a product with two, with every instruction set.
#include "Math/Cpu/AlignedMemory.h"
#include "Math/Cpu/CpuKernelTable.h"

#include <gtest/gtest.h>
#include <vector>

namespace cntk
{

namespace
{

template <class T>
std::vector<T> SomeValues(size_t count, unsigned seed)
{
    std::vector<T> values(count);
    for (T& value : values)
    {
        seed = seed * 1664525u + 1013904223u;
        value = T(double(seed >> 8) / double(1u << 23) - 1);
    }
    return values;
}

template <class T>
void CompareColumns(const GemmFunctions<T>& functions, size_t m, size_t k, bool transB, T beta)
{
    const size_t lda = m + 3, ldb = transB ? 2 : k + 1;
    const std::vector<T> a = SomeValues<T>(lda * k, 1), b = SomeValues<T>(2 * (k + 1), 2);
    std::vector<T> one = SomeValues<T>(2 * m, 3), two = one;
    const AlignedMemory scratchA = MakeAlignedMemory(functions.scratchA * sizeof(T));
    const AlignedMemory scratchB = MakeAlignedMemory(functions.scratchB * sizeof(T));
    GemmTask<T> task;
    task.m = m;
    task.n = 2;
    task.k = k;
    task.transB = transB;
    task.alpha = T(0.7);
    task.beta = beta;
    task.a = a.data();
    task.lda = lda;
    task.b = b.data();
    task.ldb = ldb;
    task.ldc = m;
    task.c = two.data();
    const auto run = [&]
    { functions.multiply(&task, 1, reinterpret_cast<T*>(scratchA.get()), reinterpret_cast<T*>(scratchB.get())); };
    run();
    task.n = 1;
    task.c = one.data();
    run();
    for (size_t i = 0; i < m; i++)
        ASSERT_EQ(one[i], two[i]) << "row " << i << " of " << m << ", " << k << " steps";
    for (size_t i = m; i < 2 * m; i++)
        ASSERT_EQ(one[i], SomeValues<T>(2 * m, 3)[i]) << "beyond the column";
}

} // namespace

TEST(GemmVector, HasTheBitsOfOtherProducts)
{
    for (const InstructionSet set : {InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512})
    {
        if (set > BestInstructionSet())
            continue;
        const ProductKernels& kernels = KernelsFor(set).products;
        for (const size_t m : {1, 2, 3, 7, 8, 10, 15, 16, 17, 31, 33, 64, 100, 200, 257, 272, 511, 513})
            for (const size_t k : {1, 5, 320, 700})
            {
                CompareColumns<float>(kernels.floats, m, k, m % 2 == 0, m % 3 == 0 ? 0.f : 1.f);
                CompareColumns<double>(kernels.doubles, m, k, m % 2 == 1, m % 3 == 0 ? 0.5 : 0.);
            }
    }
}

} // namespace cntk
