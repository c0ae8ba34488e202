// Kernel cases of products with the columns that samples select, and of criteria with sparse labels.
#include "Math/SampledProducts.h"
#include "MathTests/KernelCases.h"

namespace cntk
{

namespace
{

// Classes of given sizes one after another; most samples select one of them.
ColumnSlices MakeSlices(KernelCaseRun& run, const std::vector<size_t>& sizes, size_t samples)
{
    ColumnSlices slices;
    for (size_t sample = 0; sample < samples; ++sample)
    {
        if (run.Random(8) == 0)
            continue;
        const size_t chosen = run.Random(sizes.size());
        size_t first = 0;
        for (size_t i = 0; i < chosen; ++i)
            first += sizes[i];
        slices.requests.push_back({int32_t(sample), int32_t(first), int32_t(first + sizes[chosen]),
                                   int32_t(first + run.Random(sizes[chosen]))});
    }
    slices.MakeGroups();
    return slices;
}

void RunSlices(KernelCaseRun& run, size_t rows, const std::vector<size_t>& sizes, size_t samples, size_t pad)
{
    size_t columns = 3; // that no sample selects
    for (size_t size : sizes)
        columns += size;
    const ColumnSlices slices = MakeSlices(run, sizes, samples);
    const MatrixView weights = run.Input(rows, columns, pad, -1, 1);
    const MatrixView inputs = run.Input(rows, samples, pad, -1, 1);
    for (double scale : {1.0, -0.75})
    {
        const MatrixView gathered = run.Undefined(rows, slices.Members());
        const MatrixView errors = run.Undefined(1, slices.elements);
        const MatrixView work = run.Undefined(rows, slices.Members());
        Ops::SliceSoftmax(slices, weights, inputs, gathered, errors, run.Undefined(1, slices.Members()), true, work);
        const MatrixView factor = run.Output(1, 1);
        Ops::Fill(factor, scale);
        Ops::SliceSoftmaxInputGradient(slices, weights, errors, factor, work, run.Output(rows, samples, pad));
        TouchedColumns touched;
        touched.columns = {0, 1};
        Ops::SliceSoftmaxWeightGradient(slices, gathered, errors, factor, run.Output(rows, columns, pad), touched);
        for (const int32_t column : touched.columns)
            run.Record(column);
        Ops::SliceSoftmaxWeightGradient(slices, gathered, errors, factor, run.Output(rows, columns, pad), touched,
                                        true);
    }
}

} // namespace

std::vector<KernelCase> SampledProductsCases()
{
    std::vector<KernelCase> cases;
    cases.push_back({"SliceSoftmax",
                     [](KernelCaseRun& run)
                     {
                         for (size_t pad : {0, 5})
                         {
                             RunSlices(run, 1, {1}, 1, pad);
                             RunSlices(run, 7, {3, 1, 5}, 0, pad);
                             RunSlices(run, 7, {3, 1, 5}, 4, pad);
                             RunSlices(run, 33, {9, 17, 4, 70, 2}, 60, pad);
                             RunSlices(run, 64, {300, 5}, 40, pad);
                         }
                     },
                     256});
    // Large enough for several threads: many classes, and one larger than all others.
    cases.push_back({"SliceSoftmaxLarge",
                     [](KernelCaseRun& run)
                     {
                         RunSlices(run, 96, std::vector<size_t>(40, 50), 160, 0);
                         RunSlices(run, 96, {1200, 3}, 90, 0);
                     },
                     256});
    cases.push_back({"SampledInnerProducts", [](KernelCaseRun& run)
                     {
                         for (size_t pad : {0, 2})
                             for (size_t rows : {1, 9, 70})
                             {
                                 const SparseView pattern = run.Sparse(50, 20, 0.2);
                                 Ops::SampledInnerProducts(run.Input(rows, 50, pad), run.Input(rows, 20, pad), pattern,
                                                           run.Undefined(1, pattern.nonZeros));
                             }
                     }});
    cases.push_back({"CrossEntropySparse", [](KernelCaseRun& run)
                     {
                         for (size_t columns : {0, 1, 30})
                             for (const std::vector<uint8_t>& mask : {std::vector<uint8_t>(), run.Mask(columns)})
                                 for (double density : {0.1, 1.0})
                                 {
                                     const SparseView labels = run.Sparse(20, columns, density);
                                     // A few values are not above 0, because the logarithm and the division have
                                     // floors.
                                     const MatrixView p = run.Input(20, columns, 1, -0.1, 1);
                                     Ops::CrossEntropy(labels, p, mask, run.Undefined(1, 1));
                                     Ops::CrossEntropyGradient(labels, p, mask, run.Input(1, 1),
                                                               run.Output(20, columns, 2));
                                 }
                     }});
    return cases;
}

} // namespace cntk
