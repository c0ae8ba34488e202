// Products that are computed together: the gradients of several weights after a recurrent loop, of which each alone is
// too small for all threads.
#pragma once

#include "Math/Operations.h"

#include <span>

namespace cntk
{

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
};

namespace Ops
{

void Multiply(const Product& product);
// No product reads or writes what another one writes. To the last bit what Multiply gives of each.
void MultiplyAll(std::span<const Product> products);

} // namespace Ops

} // namespace cntk
