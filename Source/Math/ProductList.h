// Products that are computed together: the gradients of several weights after a recurrent loop, of which each alone is
// too small for all threads; the gradient of what several weights are multiplied with, which is one sum.
#pragma once

#include "Math/Operations.h"

#include <span>

namespace cntk
{

// The update of a parameter whose gradient is a product, block by block right behind it, while the gradient is in the
// cache. To the last bit what Ops::MomentumUpdate gives with all columns of it; without momentum and smoothed gradient,
// Ops::Descend. Parameter and smoothed gradient are of the gradient's shape and, as that is, in one piece.
struct ProductUpdate
{
    MatrixView parameter = {}; // no data: no update
    MatrixView smoothed = {};  // no data: none, and no momentum
    double rate = 0;
    double momentum = 0;
    bool keepsGradient = true; // false: what is in the gradient's memory afterwards is nobody's business
};

// C = beta*C + alpha * op(A) * op(B)
struct Product
{
    MatrixView a;
    Ops::Transpose transposeA = Ops::Transpose::No;
    MatrixView b;
    Ops::Transpose transposeB = Ops::Transpose::No;
    MatrixView c;
    double alpha = 1;
    double beta = 0;
    // What it changes no product of the list reads.
    ProductUpdate update = {};
};

// Of two matrices of as many rows each: every column of the one times every column of the other.
struct ColumnProducts
{
    MatrixView a;
    MatrixView b;
};

namespace Ops
{

// Of one, without its update.
void Multiply(const Product& product);
// No product reads or writes what another one writes. To the last bit what Multiply gives of each.
void MultiplyAll(std::span<const Product> products);
// Whether MultiplyAll makes an update behind a product of so many steps (its inner dimension) with this result, whose
// memory does not matter here. All other products must have none: the device cannot, or it would not be faster.
bool CanUpdateBehind(const MatrixView& gradient, size_t steps);
// c(i, j) = the sum over all terms of column i of a times column j of b, of which there is one at least. The same bits
// with any number of threads; not those of a Multiply for each term where the device adds up the terms on the way.
void SumColumnProducts(std::span<const ColumnProducts> terms, const MatrixView& c);

} // namespace Ops

} // namespace cntk
