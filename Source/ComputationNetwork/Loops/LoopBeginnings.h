// Gradients of a loop's weights where all sequences begin: all columns that a weight is multiplied with are one and the
// same there, the initial value, so that the gradients of these steps are summed before they go into the product.
#pragma once

#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "Math/Products.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// Of a group of products that have one operand. For devices of host memory.
class LoopBeginnings
{
public:
    // Products that would be left with fewer steps stay as they are. From as many on a parameter can be updated right
    // behind its product with any number of threads (Ops::CanUpdateBehind): sums do not change which ones are.
    static constexpr size_t c_leastSteps = 64;

    // gradient: of all products, a column a sample of the minibatch. Some of the products of the list are gradients of
    // the group's weights: they get fewer steps, and a column of the gradient holds the sum until Restore.
    void Sum(const DelayNode& operand, const MatrixView& gradient, std::span<Product> products);
    void Restore();

private:
    Buffer m_memory;
    MatrixView m_place, m_saved; // the column that has the sum, and what was there; no data: none
};

} // namespace cntk
