// Products of dense and sparse matrices.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/PickedColumns.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Products.h"

#include <algorithm>
#include <array>

namespace cntk
{

namespace
{

template <class T>
GemmTask<T> TaskOf(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta)
{
    GemmTask<T> task;
    task.transA = a.transposed;
    task.transB = b.transposed;
    task.m = c.rows;
    task.n = c.columns;
    task.k = a.Columns();
    task.alpha = T(alpha);
    task.a = a.matrix.As<T>();
    task.lda = a.matrix.stride;
    task.b = b.matrix.As<T>();
    task.ldb = b.matrix.stride;
    task.beta = T(beta);
    task.c = c.As<T>();
    task.ldc = c.stride;
    return task;
}

// Adds the bias to a tile of the product and applies the non-linearity while the tile is in the cache.
template <class T>
struct BiasActivation : GemmEpilogue<T>
{
    BiasActivation(void (*function)(const ElementwiseLoop<T>& loop), const T* bias) : m_function(function), m_bias(bias)
    {
        this->apply = &Apply;
    }

private:
    static void Apply(const GemmEpilogue<T>& self, T* block, size_t stride, size_t firstRow, size_t, size_t rows,
                      size_t columns)
    {
        const auto& activation = static_cast<const BiasActivation&>(self);
        ElementwiseLoop<T> loop;
        loop.inner = rows;
        loop.outer = columns;
        loop.output = block;
        loop.outputStride = ptrdiff_t(stride);
        loop.inputs[0] = block;
        loop.inputStrides[0] = ptrdiff_t(stride);
        loop.inputs[1] = activation.m_bias + firstRow;
        activation.m_function(loop);
    }

    void (*m_function)(const ElementwiseLoop<T>& loop);
    const T* m_bias;
};

// Sums of inner products: terms that are added up on the way.
constexpr size_t c_mostTerms = 16;

} // namespace

void CpuKernels::Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta)
{
    VisitType(c.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  m_gemm.Multiply(TaskOf<T>(a, b, c, alpha, beta));
              });
}

void CpuKernels::MultiplyAll(std::span<const Product> products)
{
    Visit(products.front().c.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              auto& [tasks, updates] = std::get<ProductBatch<T>>(m_batches);
              tasks.clear();
              updates.clear();
              updates.reserve(products.size()); // tasks refer to them
              for (const Product& product : products)
              {
                  tasks.push_back(TaskOf<T>({product.a, product.transposeA == Ops::Transpose::Yes},
                                            {product.b, product.transposeB == Ops::Transpose::Yes}, product.c,
                                            product.alpha, product.beta));
                  if (product.update.parameter.data != nullptr)
                      tasks.back().epilogue = &updates.emplace_back(kernels, product.update);
              }
              m_gemm.MultiplyAll<T>(tasks);
          });
}

void CpuKernels::MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias,
                                      ElementwiseOp activation, const MatrixView& c)
{
    const bool isFused = Visit(c.type,
                               [&]<class T>(const VectorKernels<T>& kernels)
                               {
                                   const auto function = kernels.activatedSum[size_t(activation)];
                                   if (!function)
                                       return false;
                                   const BiasActivation<T> ending(function, bias.As<T>());
                                   GemmTask<T> task = TaskOf<T>(a, Operand{b}, c, 1, 0);
                                   task.epilogue = &ending;
                                   m_gemm.Multiply(task);
                                   return true;
                               });
    if (isFused)
        return;
    Multiply(a, Operand{b}, c, 1, 0);
    const TensorView output(c);
    const TensorView biasColumn(bias);
    const TensorView* sum[] = {&output, &biasColumn};
    Elementwise({ElementwiseOp::Sum, ReduceOp::Sum, 1, 0, sum}, output);
    const TensorView* activated[] = {&output};
    Elementwise({activation, ReduceOp::Sum, 1, 0, activated}, output);
}

// Both operands of each term lie along its steps, so that one of them would be transposed into panels, of which few
// rows leave a good part empty.
void CpuKernels::SumColumnProducts(std::span<const ColumnProducts> terms, const MatrixView& c)
{
    const bool isDone = Visit(
        c.type,
        [&]<class T>(const VectorKernels<T>& kernels)
        {
            if (kernels.sumInnerProducts == nullptr || c.rows > kernels.c_mostSummed || terms.size() > c_mostTerms)
                return false;
            const auto sum = [&](int, size_t begin, size_t end)
            {
                std::array<ColumnPair<T>, c_mostTerms> pairs;
                for (size_t i = 0; i < terms.size(); ++i)
                {
                    const MatrixView &a = terms[i].a, &b = terms[i].b;
                    pairs[i] = {{a.As<T>(), a.stride}, {b.As<T>() + begin * b.stride, b.stride}, a.rows};
                }
                kernels.sumInnerProducts(pairs.data(), terms.size(), c.rows, end - begin, c.As<T>() + begin * c.stride,
                                         c.stride);
            };
            size_t work = 0;
            for (const ColumnProducts& term : terms)
                work += term.a.rows * c.Elements();
            ForEachPart(m_pool, c.columns, 5, UsefulThreads(work, m_pool, size_t(c_multiplyAddsPerThread)), sum);
            return true;
        });
    if (!isDone)
        Kernels::SumColumnProducts(terms, c);
}

size_t CpuKernels::PackedBytes(const Operand& a)
{
    return VisitType(a.matrix.type,
                     [&](auto tag)
                     {
                         using T = decltype(tag);
                         return m_prepacked.PanelElements<T>(a.Rows(), a.Columns()) * sizeof(T);
                     });
}

void CpuKernels::Pack(std::span<const MatrixView> parts, bool transposed, void* panels)
{
    VisitType(parts.front().type,
              [&](auto tag) { m_prepacked.Pack(parts, transposed, static_cast<decltype(tag)*>(panels)); });
}

void CpuKernels::MultiplyPacked(const Operand& a, const void* panels, const MatrixView& b, const MatrixView& c,
                                double alpha, double beta)
{
    VisitType(c.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  m_prepacked.Multiply(TaskOf<T>(a, Operand{b}, c, alpha, beta), static_cast<const T*>(panels));
              });
}

void CpuKernels::MultiplySparse(const Operand& a, const SparseView& s, const MatrixView& c, double alpha, double beta)
{
    Visit(c.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              const T* values = static_cast<const T*>(s.values);
              const size_t stride = a.matrix.stride;
              const auto computeColumn = [&](size_t column)
              {
                  T* target = c.As<T>() + column * c.stride;
                  const int32_t begin = s.columnStarts[column], end = s.columnStarts[column + 1];
                  if (beta != 0 && beta != 1)
                      for (size_t row = 0; row < c.rows; ++row)
                          target[row] *= T(beta);
                  if (!a.transposed)
                      return AddPicked<T>(kernels, {a.matrix.As<T>(), stride, 0}, s, begin, end, T(alpha), c.rows,
                                          target, beta == 0);
                  if (beta == 0)
                      std::fill_n(target, c.rows, T(0));
                  for (int32_t at = begin; at < end; ++at)
                  {
                      const T factor = T(alpha) * values[at];
                      const T* source = a.matrix.As<T>() + size_t(s.rowIndices[at]);
                      for (size_t row = 0; row < c.rows; ++row)
                          target[row] += factor * source[row * stride];
                  }
              };
              const size_t nonZeros = size_t(s.columnStarts[s.columns] - s.columnStarts[0]);
              const int parts = UsefulThreads((nonZeros + s.columns) * c.rows, m_pool);
              ForEachPart(m_pool, s.columns, 1, parts,
                          [&](int, size_t begin, size_t end)
                          {
                              for (size_t column = begin; column < end; ++column)
                                  computeColumn(column);
                          });
          });
}

void CpuKernels::MultiplyByTransposeOf(const MatrixView& a, const SparseView& s, const MatrixView& c,
                                       TouchedColumns& touched, double alpha)
{
    const size_t nonZeros = size_t(s.columnStarts[s.columns] - s.columnStarts[0]);
    Visit(c.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              const T* values = static_cast<const T*>(s.values);
              // Threads share out the rows: samples that touch the same column then stay in order.
              const int parts = UsefulThreads(nonZeros * c.rows, m_pool);
              ForEachPart(m_pool, c.rows, 16, parts,
                          [&](int, size_t begin, size_t end)
                          {
                              for (size_t sample = 0; sample < s.columns; ++sample)
                              {
                                  const T* source = a.As<T>() + sample * a.stride + begin;
                                  for (int32_t at = s.columnStarts[sample]; at < s.columnStarts[sample + 1]; ++at)
                                  {
                                      T* target = c.As<T>() + size_t(s.rowIndices[at]) * c.stride + begin;
                                      kernels.addScaled(T(alpha) * values[at], source, target, end - begin);
                                  }
                              }
                          });
          });
    if (touched.all)
        return;
    const int32_t* first = s.rowIndices + s.columnStarts[0];
    touched.columns.insert(touched.columns.end(), first, first + nonZeros);
    touched.Order(c.columns);
}

void CpuKernels::ToDense(const SparseView& s, const MatrixView& output)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const T* values = static_cast<const T*>(s.values);
                  for (size_t column = 0; column < s.columns; ++column)
                  {
                      T* target = output.As<T>() + column * output.stride;
                      std::fill_n(target, output.rows, T(0));
                      for (int32_t at = s.columnStarts[column]; at < s.columnStarts[column + 1]; ++at)
                          target[s.rowIndices[at]] = values[at];
                  }
              });
}

} // namespace cntk
