// Gradients of a loop's weights at the beginning of sequences. If all sequences begin at a step, a weight is multiplied
// with the initial value in every column. The gradients of such steps are summed before the product.
#pragma once

#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "Math/Products.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// For the products of one group, which share an operand. Requires a device that computes in host memory.
class LoopBeginnings
{
public:
    // Products that would be left with fewer steps than this are not changed. With at least this many steps a parameter
    // can be updated right after its product with any number of threads (Ops::CanUpdateBehind). Summing therefore never
    // changes which parameters are updated there.
    static constexpr size_t c_leastSteps = 64;

    // Shortens those products of the list that compute gradients of the group's weights. Until Restore, one column of
    // the gradient holds the sum of the omitted steps. gradient: of all products, a column per sample of the minibatch.
    void Sum(const DelayNode& operand, const MatrixView& gradient, std::span<Product> products);
    void Restore();

private:
    Buffer m_memory;
    MatrixView m_place, m_saved; // the column of the sum and its original content; no data: none
};

} // namespace cntk
