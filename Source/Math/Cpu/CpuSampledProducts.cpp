// Products with the columns that samples ask for: groups of samples share a slice of the weights. Few samples a group
// go one by one past the slice, which stays in the cache; many become a matrix product.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/SampledProducts.h"

#include <algorithm>

namespace cntk
{

namespace
{

using Group = ColumnSlices::Group;

// From so many samples on, a product with packed panels is faster than passing by the slice for each.
constexpr size_t c_membersForProduct = VectorKernels<float>::c_mostCombined + 1;
// Threads that share a slice take so many columns of it, or a multiple.
constexpr size_t c_columnsOfPart = 16;
// Element operations of the softmax for each element of the errors.
constexpr size_t c_softmaxOperations = 16;

template <class T>
ColumnBlock<const T> SliceOf(const MatrixView& weights, const Group& group)
{
    return {weights.As<T>() + group.firstColumn * weights.stride, weights.stride};
}

// The memory that the work for a group writes: the group's alone, or its columns, which other groups may share.
enum class Writes
{
    OwnMemory,
    Columns
};

// body(group, thread) for each group; on the pool's threads where the groups are worth it, none of them outweighs the
// rest, and no two write to the same place. Otherwise one after another, with thread = c_together: each may use all
// threads.
constexpr size_t c_together = SIZE_MAX;

template <class Body>
void ForEachGroup(const ColumnSlices& slices, size_t operationsPerElement, Writes writes, ThreadPool& pool, Body&& body)
{
    size_t largest = 0;
    for (const Group& group : slices.groups)
        largest = std::max(largest, group.columnCount * group.memberCount);
    const size_t threads = size_t(UsefulThreads(slices.elements * operationsPerElement, pool));
    if (threads > 1 && largest * threads <= slices.elements && (writes == Writes::OwnMemory || slices.areDisjoint))
    {
        pool.Run(slices.groups.size(), [&](size_t index, size_t thread) { body(slices.groups[index], thread); });
        return;
    }
    for (const Group& group : slices.groups)
        body(group, threads > 1 ? c_together : pool.Caller());
}

template <class T>
void Multiply(GemmContext& products, const GemmTask<T>& task, size_t thread)
{
    if (thread == c_together)
        products.Multiply(task);
    else
        products.MultiplyOnThread(task, thread);
}

template <class T>
class SliceWork
{
public:
    SliceWork(const VectorKernels<T>& kernels, GemmContext& products, ThreadPool& pool, const ColumnSlices& slices)
        : m_kernels(kernels), m_products(products), m_pool(pool), m_slices(slices)
    {
    }

    void Softmax(const MatrixView& weights, const MatrixView& inputs, const MatrixView& gathered,
                 const MatrixView& errors, T* losses, bool wantErrors, T* work) const
    {
        const size_t rows = weights.rows;
        ForEachGroup(m_slices, rows + c_softmaxOperations, Writes::OwnMemory, m_pool,
                     [&](const Group& group, size_t thread)
                     {
                         T* own = gathered.As<T>() + group.firstMember * rows;
                         for (size_t i = 0; i < group.memberCount; ++i)
                             std::copy_n(inputs.As<T>() + SampleOf(group, i) * inputs.stride, rows, own + i * rows);
                         T* scores = errors.As<T>() + group.firstElement;
                         Scores(weights, group, own, scores, thread);
                         const int parts =
                             thread == c_together
                                 ? UsefulThreads(group.columnCount * group.memberCount * c_softmaxOperations, m_pool)
                                 : 1;
                         ForEachPart(m_pool, group.memberCount, 1, parts,
                                     [&](int, size_t begin, size_t end)
                                     { Errors(group, begin, end, scores, losses, wantErrors); });
                         if (wantErrors && work != nullptr)
                             InputProducts(weights, group, scores, work + group.firstMember * rows, thread);
                     });
    }

    // work: the products, which Softmax left there.
    void InputGradient(size_t rows, T scale, const T* work, const MatrixView& inputGradient) const
    {
        ForEachGroup(m_slices, rows, Writes::OwnMemory, m_pool,
                     [&](const Group& group, size_t)
                     {
                         const T* own = work + group.firstMember * rows;
                         for (size_t i = 0; i < group.memberCount; ++i)
                             m_kernels.addScaled(scale, own + i * rows,
                                                 inputGradient.As<T>() + SampleOf(group, i) * inputGradient.stride,
                                                 rows);
                     });
    }

    void WeightGradient(const MatrixView& gathered, const MatrixView& errors, T scale, const MatrixView& weightGradient,
                        T beta) const
    {
        const size_t rows = gathered.rows;
        ForEachGroup(m_slices, rows, Writes::Columns, m_pool,
                     [&](const Group& group, size_t thread)
                     {
                         const T* error = errors.As<T>() + group.firstElement;
                         const T* own = gathered.As<T>() + group.firstMember * rows;
                         T* gradient = weightGradient.As<T>() + group.firstColumn * weightGradient.stride;
                         if (!IsProduct(group, scale, thread))
                         {
                             for (size_t k = 0; k < group.columnCount; ++k)
                                 m_kernels.addCombination({own, rows}, rows, group.memberCount, error + k,
                                                          group.columnCount, gradient + k * weightGradient.stride,
                                                          beta == T(0));
                             return;
                         }
                         GemmTask<T> task = GradientOf(group, own, error, scale, rows);
                         task.beta = beta;
                         task.c = gradient;
                         task.ldc = weightGradient.stride;
                         Multiply(m_products, task, thread);
                     });
    }

    // The same, subtracted at once. Products whose steps are many, or shared out, write to scratch memory.
    void Descend(const MatrixView& gathered, const MatrixView& errors, T scale, const MatrixView& weights, double rate,
                 const MatrixView& scratch) const
    {
        const size_t rows = gathered.rows;
        ForEachGroup(
            m_slices, rows, Writes::Columns, m_pool,
            [&](const Group& group, size_t thread)
            {
                const T* error = errors.As<T>() + group.firstElement;
                const T* own = gathered.As<T>() + group.firstMember * rows;
                const MatrixView slice = weights.Columns(group.firstColumn, group.columnCount);
                if (!IsProduct(group, scale, thread))
                    return m_kernels.descendByCombinations(
                        {own, rows}, group.memberCount, error, group.columnCount,
                        {.parameter = slice.As<T>(), .stride = slice.stride, .rows = rows, .columns = slice.columns},
                        T(rate));
                const UpdateBehind<T> update(m_kernels, {.parameter = slice, .rate = rate, .keepsGradient = false},
                                             true);
                GemmTask<T> task = GradientOf(group, own, error, scale, rows);
                task.c = scratch.As<T>() + group.firstColumn * scratch.stride;
                task.ldc = scratch.stride;
                task.epilogue = &update;
                Multiply(m_products, task, thread);
            });
    }

private:
    size_t SampleOf(const Group& group, size_t member) const
    {
        return size_t(m_slices.requests[group.firstMember + member].sample);
    }

    // For a few members the gradient is computed column by column.
    static bool IsProduct(const Group& group, T scale, size_t thread)
    {
        return scale != T(1) || group.memberCount >= c_membersForProduct || thread == c_together;
    }

    static GemmTask<T> GradientOf(const Group& group, const T* own, const T* error, T scale, size_t rows)
    {
        GemmTask<T> task;
        task.transB = true;
        task.m = rows;
        task.n = group.columnCount;
        task.k = group.memberCount;
        task.alpha = scale;
        task.a = own;
        task.lda = rows;
        task.b = error;
        task.ldb = group.columnCount;
        return task;
    }

    // slice' * own, past the slice as it lies: packing it would cost as much as the product.
    void Scores(const MatrixView& weights, const Group& group, const T* own, T* scores, size_t thread) const
    {
        const size_t rows = weights.rows;
        const auto compute = [&](size_t begin, size_t end)
        {
            m_kernels.innerProducts({SliceOf<T>(weights, group).Column(begin), weights.stride}, {own, rows}, rows,
                                    end - begin, group.memberCount, scores + begin, group.columnCount);
        };
        if (thread != c_together)
            return compute(0, group.columnCount);
        ForEachPart(m_pool, group.columnCount, c_columnsOfPart,
                    UsefulThreads(group.columnCount * group.memberCount * rows, m_pool),
                    [&](int, size_t begin, size_t end)
                    {
                        if (begin < end)
                            compute(begin, end);
                    });
    }

    // slice * errors of the group's members, right behind the scores: the slice is still in the cache.
    void InputProducts(const MatrixView& weights, const Group& group, const T* errors, T* products, size_t thread) const
    {
        const size_t rows = weights.rows;
        if (group.memberCount < c_membersForProduct && thread != c_together)
        {
            // Several members share columns that stay in the first-level cache. A multiple of four columns gives the
            // same sums as all columns at once.
            const ColumnBlock<const T> slice = SliceOf<T>(weights, group);
            const size_t together = group.memberCount > 1 ? c_columnsOfPart : group.columnCount;
            for (size_t first = 0; first < group.columnCount; first += together)
                for (size_t i = 0; i < group.memberCount; ++i)
                    m_kernels.addCombination(
                        {slice.Column(first), slice.stride}, rows, std::min(together, group.columnCount - first),
                        errors + i * group.columnCount + first, 1, products + i * rows, first == 0);
            return;
        }
        GemmTask<T> task;
        task.m = rows;
        task.n = group.memberCount;
        task.k = group.columnCount;
        task.a = SliceOf<T>(weights, group).data;
        task.lda = weights.stride;
        task.b = errors;
        task.ldb = group.columnCount;
        task.c = products;
        task.ldc = rows;
        Multiply(m_products, task, thread);
    }

    // Computes the losses of some members of a group, and replaces their scores by softmax - onehot.
    void Errors(const Group& group, size_t begin, size_t end, T* scores, T* losses, bool wantErrors) const
    {
        if (begin == end)
            return;
        const size_t columns = group.columnCount;
        T* first = scores + begin * columns;
        m_kernels.logSoftmax({first, columns}, {first, columns}, {}, columns, end - begin);
        for (size_t i = begin; i < end; ++i)
            losses[group.firstMember + i] = -scores[i * columns + TargetOf(group, i)];
        if (!wantErrors)
            return;
        ElementwiseLoop<T> loop;
        loop.inner = columns * (end - begin);
        loop.inputs[0] = first;
        loop.output = first;
        m_kernels.elementwise[size_t(ElementwiseOp::Exp)][0](loop);
        for (size_t i = begin; i < end; ++i)
            scores[i * columns + TargetOf(group, i)] -= T(1);
    }

    size_t TargetOf(const Group& group, size_t member) const
    {
        return size_t(m_slices.requests[group.firstMember + member].target) - group.firstColumn;
    }

    const VectorKernels<T>& m_kernels;
    GemmContext& m_products;
    ThreadPool& m_pool;
    const ColumnSlices& m_slices;
};

} // namespace

void CpuKernels::SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                              const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses,
                              bool wantErrors, const MatrixView& work)
{
    Visit(weights.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              SliceWork<T>(kernels, m_gemm, m_pool, slices)
                  .Softmax(weights, inputs, gathered, errors, losses.As<T>(), wantErrors, work.As<T>());
          });
}

void CpuKernels::SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights, const MatrixView&,
                                           const MatrixView& scale, const MatrixView& work,
                                           const MatrixView& inputGradient)
{
    Visit(weights.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              SliceWork<T>(kernels, m_gemm, m_pool, slices)
                  .InputGradient(weights.rows, *scale.As<T>(), work.As<T>(), inputGradient);
          });
}

void CpuKernels::SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered,
                                            const MatrixView& errors, const MatrixView& scale,
                                            const MatrixView& weightGradient, double beta)
{
    Visit(gathered.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              SliceWork<T>(kernels, m_gemm, m_pool, slices)
                  .WeightGradient(gathered, errors, *scale.As<T>(), weightGradient, T(beta));
          });
}

bool CpuKernels::SliceSoftmaxDescend(const SliceOperands& operands, const MatrixView& weights, double rate,
                                     const MatrixView& scratch)
{
    Visit(weights.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              SliceWork<T>(kernels, m_gemm, m_pool, operands.slices)
                  .Descend(operands.gathered, operands.errors, *operands.scale.View().template As<T>(), weights, rate,
                           scratch);
          });
    return true;
}

void CpuKernels::SampledInnerProducts(const MatrixView& weights, const MatrixView& inputs, const SparseView& pattern,
                                      const MatrixView& output)
{
    Visit(weights.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              ForEachPart(
                  m_pool, pattern.columns, 1, UsefulThreads(pattern.nonZeros * weights.rows, m_pool),
                  [&](int, size_t begin, size_t end)
                  {
                      for (size_t column = begin; column < end; ++column)
                          for (int32_t at = pattern.columnStarts[column]; at < pattern.columnStarts[column + 1]; ++at)
                          {
                              const T* word = weights.As<T>() + size_t(pattern.rowIndices[at]) * weights.stride;
                              const size_t place = size_t(at - pattern.columnStarts[0]);
                              output.As<T>()[place * output.stride] =
                                  T(kernels.innerProduct(word, inputs.As<T>() + column * inputs.stride, weights.rows));
                          }
                  });
          });
}

} // namespace cntk
