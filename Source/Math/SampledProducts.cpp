// Groups of samples, checks of arguments, then one call of the backend.
#include "Math/SampledProducts.h"

#include "Common/Error.h"
#include "Math/Kernels.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace cntk
{

void ColumnSlices::MakeGroups()
{
    std::sort(
        requests.begin(), requests.end(),
        [](const Request& a, const Request& b)
        { return std::tie(a.firstColumn, a.endColumn, a.sample) < std::tie(b.firstColumn, b.endColumn, b.sample); });
    groups.clear();
    elements = 0;
    areDisjoint = true;
    for (size_t i = 0; i < requests.size(); ++i)
    {
        const Request& request = requests[i];
        const size_t columns = size_t(request.endColumn - request.firstColumn);
        if (groups.empty() || groups.back().firstColumn != size_t(request.firstColumn) ||
            groups.back().columnCount != columns)
        {
            if (!groups.empty() && groups.back().firstColumn + groups.back().columnCount > size_t(request.firstColumn))
                areDisjoint = false;
            groups.push_back({size_t(request.firstColumn), columns, i, 0, elements});
        }
        ++groups.back().memberCount;
        elements += columns;
    }
}

bool Kernels::SliceSoftmaxDescend(const SliceOperands&, const MatrixView&, double, const MatrixView&)
{
    return false;
}

namespace Ops
{

namespace
{

[[noreturn]] [[gnu::cold]] void FailSizes(const char* operation, const char* name, const MatrixView& found, size_t rows,
                                          size_t columns)
{
    Fail(ErrorKind::Internal, operation, ": ", name, " is [", found.rows, " x ", found.columns, "]; expected [", rows,
         " x ", columns, "]");
}

void CheckSizes(const char* operation, const char* name, const MatrixView& found, size_t rows, size_t columns)
{
    if (found.rows != rows || found.columns != columns)
        FailSizes(operation, name, found, rows, columns);
    if (!found.IsContiguous())
        Fail(ErrorKind::Internal, operation, ": ", name, " is not contiguous");
}

template <class First, class... Rest>
Kernels& KernelsOf(const char* operation, const First& first, const Rest&... rest)
{
    if (!first.device || ((rest.device != first.device) || ...))
        Fail(ErrorKind::Internal, operation, ": operands are on different devices");
    if (((rest.type != first.type) || ...))
        Fail(ErrorKind::Internal, operation, ": operands are of different types");
    return first.device->GetKernels();
}

// Slices lie within the weights, samples within the inputs.
void CheckSlices(const char* operation, const ColumnSlices& slices, size_t columns, size_t samples)
{
    size_t members = 0;
    for (const ColumnSlices::Group& group : slices.groups)
    {
        members += group.memberCount;
        if (group.firstColumn + group.columnCount > columns)
            Fail(ErrorKind::Internal, operation, ": slice ", group.firstColumn, " to ",
                 group.firstColumn + group.columnCount, " is outside of ", columns, " columns");
    }
    if (members != slices.Members())
        Fail(ErrorKind::Internal, operation, ": ", slices.Members(), " members, of which ", members, " are grouped");
    for (const ColumnSlices::Request& request : slices.requests)
        if (request.sample < 0 || size_t(request.sample) >= samples || request.target < request.firstColumn ||
            request.target >= request.endColumn)
            Fail(ErrorKind::Internal, operation, ": sample ", request.sample, " of ", samples, " asks for column ",
                 request.target, " of ", request.firstColumn, " to ", request.endColumn);
}

} // namespace

void SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                  const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses, bool wantErrors,
                  const MatrixView& work)
{
    constexpr const char* name = "SliceSoftmax";
    Kernels& kernels = KernelsOf(name, weights, inputs, gathered, errors, losses);
    CheckSlices(name, slices, weights.columns, inputs.columns);
    if (inputs.rows != weights.rows)
        FailSizes(name, "the inputs", inputs, weights.rows, inputs.columns);
    CheckSizes(name, "gathered", gathered, weights.rows, slices.Members());
    CheckSizes(name, "errors", errors, 1, slices.elements);
    CheckSizes(name, "losses", losses, 1, slices.Members());
    if (work.data != nullptr)
    {
        KernelsOf(name, weights, work);
        CheckSizes(name, "work", work, weights.rows, slices.Members());
    }
    if (slices.Members() > 0)
        kernels.SliceSoftmax(slices, weights, inputs, gathered, errors, losses, wantErrors, work);
}

void SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& errors,
                               const MatrixView& scale, const MatrixView& work, const MatrixView& inputGradient)
{
    constexpr const char* name = "SliceSoftmaxInputGradient";
    Kernels& kernels = KernelsOf(name, weights, errors, scale, work, inputGradient);
    CheckSlices(name, slices, weights.columns, inputGradient.columns);
    if (inputGradient.rows != weights.rows)
        FailSizes(name, "the input gradient", inputGradient, weights.rows, inputGradient.columns);
    CheckSizes(name, "work", work, weights.rows, slices.Members());
    CheckSizes(name, "errors", errors, 1, slices.elements);
    CheckSizes(name, "the scale", scale, 1, 1);
    if (slices.Members() > 0)
        kernels.SliceSoftmaxInputGradient(slices, weights, errors, scale, work, inputGradient);
}

namespace
{

// Zeroes columns in [first, end).
void ClearColumns(Kernels& kernels, const MatrixView& matrix, size_t first, size_t end)
{
    if (first < end && matrix.rows > 0)
        kernels.Fill(matrix.Columns(first, end - first), 0);
}

// Zeroes what the gradient before left in columns that no slice has, or in all; returns whether the slices' columns are
// to be replaced.
bool BeginWeightGradient(Kernels& kernels, const ColumnSlices& slices, const MatrixView& gradient,
                         TouchedColumns& touched)
{
    const bool replaces = slices.areDisjoint;
    const std::vector<int32_t>& columns = touched.columns;
    size_t done = 0; // columns before that one are cleared
    size_t group = 0;
    const auto clearTo = [&](size_t end)
    {
        if (touched.all)
            ClearColumns(kernels, gradient, done, end);
        else
            for (auto at = std::lower_bound(columns.begin(), columns.end(), int32_t(done));
                 at != columns.end() && size_t(*at) < end;)
            {
                const auto first = at;
                while (++at != columns.end() && size_t(*at) < end && *at == *(at - 1) + 1)
                {
                }
                ClearColumns(kernels, gradient, size_t(*first), size_t(*(at - 1)) + 1);
            }
    };
    for (; replaces && group < slices.groups.size(); ++group)
    {
        clearTo(slices.groups[group].firstColumn);
        done = slices.groups[group].firstColumn + slices.groups[group].columnCount;
    }
    clearTo(gradient.columns);
    touched.all = false;
    touched.columns.clear();
    return replaces;
}

} // namespace

void SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered, const MatrixView& errors,
                                const MatrixView& scale, const MatrixView& weightGradient, TouchedColumns& touched,
                                bool isNew)
{
    constexpr const char* name = "SliceSoftmaxWeightGradient";
    Kernels& kernels = KernelsOf(name, gathered, errors, scale, weightGradient);
    CheckSlices(name, slices, weightGradient.columns, SIZE_MAX);
    CheckSizes(name, "gathered", gathered, weightGradient.rows, slices.Members());
    CheckSizes(name, "errors", errors, 1, slices.elements);
    CheckSizes(name, "the scale", scale, 1, 1);
    touched.isRecorded = true;
    const bool replaces = isNew && BeginWeightGradient(kernels, slices, weightGradient, touched);
    if (slices.Members() == 0)
        return;
    kernels.SliceSoftmaxWeightGradient(slices, gathered, errors, scale, weightGradient, replaces ? 0 : 1);
    if (touched.all)
        return;
    const size_t before = touched.columns.size();
    for (const ColumnSlices::Group& group : slices.groups)
    {
        const size_t first = touched.columns.size();
        touched.columns.resize(first + group.columnCount);
        std::iota(touched.columns.begin() + ptrdiff_t(first), touched.columns.end(), int32_t(group.firstColumn));
    }
    if (before == 0 && slices.areDisjoint) // in order as they are
        return;
    touched.Order(weightGradient.columns);
}

bool SliceSoftmaxDescend(const SliceOperands& operands, const MatrixView& weights, double rate,
                         const MatrixView& scratch)
{
    constexpr const char* name = "SliceSoftmaxDescend";
    const ColumnSlices& slices = operands.slices;
    const MatrixView gathered = operands.gathered, errors = operands.errors, scale = operands.scale;
    Kernels& kernels = KernelsOf(name, weights, gathered, errors, scale, scratch);
    CheckSlices(name, slices, weights.columns, SIZE_MAX);
    CheckSizes(name, "gathered", gathered, weights.rows, slices.Members());
    CheckSizes(name, "errors", errors, 1, slices.elements);
    CheckSizes(name, "the scale", scale, 1, 1);
    CheckSizes(name, "the weights", weights, weights.rows, weights.columns);
    CheckSizes(name, "the scratch memory", scratch, weights.rows, weights.columns);
    if (!slices.areDisjoint)
        Fail(ErrorKind::Internal, name, ": slices overlap");
    return slices.Members() == 0 || kernels.SliceSoftmaxDescend(operands, weights, rate, scratch);
}

void SampledInnerProducts(const MatrixView& weights, const MatrixView& inputs, const SparseView& pattern,
                          const MatrixView& output)
{
    constexpr const char* name = "SampledInnerProducts";
    Kernels& kernels = KernelsOf(name, weights, inputs, pattern, output);
    if (inputs.rows != weights.rows)
        FailSizes(name, "the inputs", inputs, weights.rows, inputs.columns);
    if (pattern.rows != weights.columns || pattern.columns != inputs.columns)
        Fail(ErrorKind::Internal, name, ": a pattern of [", pattern.rows, " x ", pattern.columns, "] for ",
             weights.columns, " columns of weights and ", inputs.columns, " of inputs");
    CheckSizes(name, "the output", output, 1, pattern.nonZeros);
    if (pattern.nonZeros > 0)
        kernels.SampledInnerProducts(weights, inputs, pattern, output);
}

namespace
{

void CheckLabels(const char* operation, const SparseView& labels, const MatrixView& probabilities,
                 std::span<const uint8_t> mask)
{
    if (labels.rows != probabilities.rows || labels.columns != probabilities.columns)
        FailSizes(operation, "the matrix of probabilities", probabilities, labels.rows, labels.columns);
    if (!mask.empty() && mask.size() != labels.columns)
        Fail(ErrorKind::Internal, operation, ": a mask of ", mask.size(), " columns does not fit ", labels.columns,
             " columns");
}

} // namespace

void CrossEntropy(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                  const MatrixView& output)
{
    constexpr const char* name = "CrossEntropy";
    Kernels& kernels = KernelsOf(name, probabilities, labels, output);
    CheckLabels(name, labels, probabilities, mask);
    CheckSizes(name, "the output", output, 1, 1);
    kernels.CrossEntropy(labels, probabilities, mask, output);
}

void CrossEntropyGradient(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                          const MatrixView& scale, const MatrixView& probabilityGradient)
{
    constexpr const char* name = "CrossEntropyGradient";
    Kernels& kernels = KernelsOf(name, probabilities, labels, scale, probabilityGradient);
    CheckLabels(name, labels, probabilities, mask);
    CheckSizes(name, "the scale", scale, 1, 1);
    if (probabilityGradient.rows != labels.rows || probabilityGradient.columns != labels.columns)
        FailSizes(name, "the gradient", probabilityGradient, labels.rows, labels.columns);
    if (labels.columns > 0)
        kernels.CrossEntropyGradient(labels, probabilities, mask, scale, probabilityGradient);
}

} // namespace Ops

} // namespace cntk
