// Products of columns with only those columns of a weight matrix that each sample asks for: the output layers of large
// vocabularies, where a dense matrix of vocabulary x minibatch would be too much to compute or to keep.
#pragma once

#include "Math/Matrix.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cntk
{

// The slice of the weights' columns for each sample, and the correct column in it. Samples with the same slice are
// grouped. Host memory; vectors keep their memory between minibatches.
struct ColumnSlices
{
    // Samples that share a slice: members [firstMember, firstMember + memberCount) of the list.
    struct Group
    {
        size_t firstColumn = 0; // of the slice
        size_t columnCount = 0; // more than 0
        size_t firstMember = 0;
        size_t memberCount = 0;  // more than 0
        size_t firstElement = 0; // of the group's block, columnCount x memberCount, among the elements of all groups
    };
    // The slice for a sample.
    struct Request
    {
        int32_t sample = 0; // column of the inputs
        int32_t firstColumn = 0;
        int32_t endColumn = 0;
        int32_t target = 0; // the right column: firstColumn <= target < endColumn
    };

    std::vector<Request> requests; // fill, then call MakeGroups()
    std::vector<Group> groups;     // by firstColumn
    size_t elements = 0;
    bool areDisjoint = true; // no column is in two groups

    void MakeGroups(); // sorts the requests, which then are the members
    size_t Members() const { return requests.size(); }
};

// The operands of a gradient of weights as SliceSoftmaxWeightGradient computes it: so much less than the gradient that
// who may ask for that later keeps these.
struct SliceOperands
{
    ColumnSlices slices;
    Matrix gathered;
    Matrix errors;
    Matrix scale;
};

namespace Ops
{

// For each group: errors = softmax(weights(:, slice)' * inputs(:, members)) - onehot(targets), where losses get
// -log softmax at the target of each member. inputs H x samples, weights H x columns; gathered (H x members) keeps the
// members' inputs in order; errors 1 x slices.elements; losses 1 x members. With wantErrors = false errors are
// undefined. work (H x members): begins what SliceSoftmaxInputGradient does, while a slice is in the cache; without
// data where that does not follow.
void SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                  const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses, bool wantErrors,
                  const MatrixView& work = {});
// inputGradient(:, members) += scale (1x1) * weights(:, slice) * errors; work: what SliceSoftmax left in it; afterwards
// the products without the scale.
void SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& errors,
                               const MatrixView& scale, const MatrixView& work, const MatrixView& inputGradient);
// weightGradient(:, slice) += scale (1x1) * gathered * errors'; adds the slices' columns to touched. isNew: the
// gradient begins with this. Columns that touched names hold an earlier one: they become 0 where no slice has them.
void SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered, const MatrixView& errors,
                                const MatrixView& scale, const MatrixView& weightGradient, TouchedColumns& touched,
                                bool isNew = false);
// weights -= rate * the gradient that SliceSoftmaxWeightGradient adds to zeros. The bits are those of
// Ops::MomentumUpdate with momentum 0 on these columns. Each piece of the gradient is used while it is in the cache and
// never written to memory. Slices must be disjoint. scratch: contiguous, with the weights' shape, undefined afterwards.
// Returns false without a change if the device has no such kernel.
bool SliceSoftmaxDescend(const SliceOperands& operands, const MatrixView& weights, double rate,
                         const MatrixView& scratch);

// The inner products of weights' and inputs' columns that a pattern asks for: for each stored element (i, j) of it
// weights(:, i)' * inputs(:, j), in the order in which it stores them. The pattern's values are not read. output: 1 x
// nonZeros.
void SampledInnerProducts(const MatrixView& weights, const MatrixView& inputs, const SparseView& pattern,
                          const MatrixView& output);

// output (1x1) = -sum labels .* log(probabilities) over the columns whose mask byte is not 0 (empty mask: all), and
// probabilityGradient -= scale (1x1) * labels ./ probabilities there. Only the labels' elements are looked at.
void CrossEntropy(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                  const MatrixView& output);
void CrossEntropyGradient(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                          const MatrixView& scale, const MatrixView& probabilityGradient);

} // namespace Ops

} // namespace cntk
