// Products with sparse matrices, and embeddings. Gradients of sparse samples are added column by column in the samples'
// order, so that repeated runs give the same values.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace cntk
{

namespace
{

// c = beta * c + alpha * a * s
template <class T>
__global__ void MultiplyBySparse(const DeviceMatrix<T> a, bool transposed, const DeviceSparse<T> s,
                                 const DeviceMatrix<T> c, T alpha, T beta)
{
    const size_t innerStep = transposed ? 1 : a.stride;
    const size_t rowStep = transposed ? a.stride : 1;
    for (size_t index = FirstElement(); index < c.Elements(); index += ElementStep())
    {
        const size_t column = index / c.rows;
        const T* const left = a.data + index % c.rows * rowStep;
        T sum = 0;
        for (int32_t at = s.columnStarts[column]; at < s.columnStarts[column + 1]; ++at)
            sum += left[size_t(s.rowIndices[at]) * innerStep] * s.values[at];
        T& target = c.At(index);
        target = beta == T(0) ? alpha * sum : beta * target + alpha * sum;
    }
}

template <class T>
__global__ void PutSparse(const DeviceSparse<T> s, const DeviceMatrix<T> output)
{
    for (size_t column = FirstElement(); column < s.columns; column += ElementStep())
        for (int32_t at = s.columnStarts[column]; at < s.columnStarts[column + 1]; ++at)
            output.Column(column)[s.rowIndices[at]] = s.values[at];
}

// output(block w, j) = table * s(block w, j)
template <class T>
__global__ void PickColumns(const DeviceMatrix<T> table, const DeviceSparse<T> s, const DeviceMatrix<T> output)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
    {
        const size_t column = index / output.rows;
        const size_t row = index % output.rows;
        const size_t firstIndex = row / table.rows * table.columns;
        T sum = 0;
        for (int32_t at = s.columnStarts[column]; at < s.columnStarts[column + 1]; ++at)
        {
            const size_t word = size_t(s.rowIndices[at]);
            if (word >= firstIndex && word < firstIndex + table.columns)
                sum += s.values[at] * table.Column(word - firstIndex)[row % table.rows];
        }
        output.At(index) = sum;
    }
}

// One addition to a column of the target.
struct Addend
{
    int32_t column; // of the target
    int32_t sample; // column of the source
    int32_t block;  // of the sample's rows: which word
    int32_t at;     // index of the sparse value
};

// Each block adds up one column: the addends runs[r] to runs[r + 1].
template <class T>
__global__ void AddRuns(const Addend* addends, const int32_t* runs, const T* values, const DeviceMatrix<T> source,
                        const DeviceMatrix<T> target, T alpha)
{
    const int32_t begin = runs[blockIdx.x];
    const int32_t end = runs[blockIdx.x + 1];
    T* const column = target.Column(size_t(addends[begin].column));
    for (size_t row = threadIdx.x; row < target.rows; row += blockDim.x)
    {
        T sum = column[row];
        for (int32_t i = begin; i < end; ++i)
        {
            const Addend addend = addends[i];
            const T* const from = source.Column(size_t(addend.sample)) + size_t(addend.block) * target.rows;
            sum += alpha * values[addend.at] * from[row];
        }
        column[row] = sum;
    }
}

} // namespace

void GpuKernels::MultiplySparse(const Operand& a, const SparseView& s, const MatrixView& c, double alpha, double beta)
{
    VisitType(c.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("MultiplySparse", m_context.Stream(), BlocksFor(c.Elements(), c_threads), c_threads,
                         MultiplyBySparse<T>, DeviceMatrix<T>(a.matrix), a.transposed, DeviceSparse<T>(s),
                         DeviceMatrix<T>(c), T(alpha), T(beta));
              });
}

void GpuKernels::ToDense(const SparseView& s, const MatrixView& output)
{
    Fill(output, 0);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("ToDense", m_context.Stream(), BlocksFor(s.columns, c_threads), c_threads, PutSparse<T>,
                         DeviceSparse<T>(s), DeviceMatrix<T>(output));
              });
}

void GpuKernels::LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("LookUpColumns", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads,
                         PickColumns<T>, DeviceMatrix<T>(table), DeviceSparse<T>(s), DeviceMatrix<T>(output));
              });
}

// The host knows the indices that it has uploaded; others are downloaded. Each sample's rows are words times `columns`.
// The addends are sorted by column, then by place.
static std::vector<Addend> FindAddends(GpuContext& context, const SparseView& s, size_t columns)
{
    // Even if there is nothing to upload this time.
    context.NoteObstacle("the host uploads data for it");
    const int32_t* starts = s.hostColumnStarts;
    const int32_t* rows = s.hostRowIndices;
    std::vector<int32_t> downloadedStarts;
    std::vector<int32_t> downloadedRows;
    if (starts == nullptr || rows == nullptr)
    {
        downloadedStarts.resize(s.columns + 1);
        context.Download(downloadedStarts.data(), s.columnStarts, downloadedStarts.size() * sizeof(int32_t));
        downloadedRows.resize(size_t(downloadedStarts.back()));
        const auto first = size_t(downloadedStarts.front());
        if (downloadedRows.size() > first)
            context.Download(downloadedRows.data() + first, s.rowIndices + first,
                             (downloadedRows.size() - first) * sizeof(int32_t));
        starts = downloadedStarts.data();
        rows = downloadedRows.data();
    }
    std::vector<Addend> addends;
    for (size_t sample = 0; sample < s.columns; ++sample)
        for (int32_t at = starts[sample]; at < starts[sample + 1]; ++at)
        {
            const auto row = size_t(rows[at]);
            addends.push_back({int32_t(row % columns), int32_t(sample), int32_t(row / columns), at});
        }
    std::sort(addends.begin(), addends.end(),
              [](const Addend& a, const Addend& b) { return std::tie(a.column, a.at) < std::tie(b.column, b.at); });
    return addends;
}

// The host sorts the addends because it needs the list of columns anyway (TouchedColumns).
void GpuKernels::AddToColumns(const MatrixView& source, const SparseView& s, size_t words, const MatrixView& target,
                              TouchedColumns& touched, double alpha)
{
    const std::vector<Addend> addends = FindAddends(m_context, s, s.rows / words);
    if (addends.empty())
        return;
    std::vector<int32_t> runs;
    for (size_t i = 0; i < addends.size(); ++i)
        if (i == 0 || addends[i].column != addends[i - 1].column)
            runs.push_back(int32_t(i));
    const size_t distinct = runs.size();
    runs.push_back(int32_t(addends.size()));
    const GpuArray<Addend> deviceAddends(m_context, std::span<const Addend>(addends));
    const GpuArray<int32_t> deviceRuns(m_context, std::span<const int32_t>(runs));
    VisitType(target.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const unsigned threads = target.rows > c_warp * 2 ? c_threads : c_warp;
                  Launch("MultiplyByTransposeOf", m_context.Stream(), unsigned(distinct), threads, AddRuns<T>,
                         deviceAddends.Data(), deviceRuns.Data(), static_cast<const T*>(s.values),
                         DeviceMatrix<T>(source), DeviceMatrix<T>(target), T(alpha));
              });

    if (touched.all)
        return;
    const size_t before = touched.columns.size();
    for (size_t run = 0; run < distinct; ++run)
        touched.columns.push_back(addends[size_t(runs[run])].column);
    std::inplace_merge(touched.columns.begin(), touched.columns.begin() + ptrdiff_t(before), touched.columns.end());
    touched.columns.erase(std::unique(touched.columns.begin(), touched.columns.end()), touched.columns.end());
}

void GpuKernels::MultiplyByTransposeOf(const MatrixView& a, const SparseView& s, const MatrixView& c,
                                       TouchedColumns& touched, double alpha)
{
    AddToColumns(a, s, 1, c, touched, alpha);
}

void GpuKernels::LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                                       TouchedColumns& touched)
{
    AddToColumns(gradient, s, s.rows / tableGradient.columns, tableGradient, touched, 1);
}

} // namespace cntk
