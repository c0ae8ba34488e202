// Element-wise operations that run one after another over the same elements, in one pass: a recurrent loop's time step
// has some twenty of them, on so few elements that each alone would cost more in being called than in computing.
#pragma once

#include "Math/ElementwiseOps.h"
#include "Math/KnownChains.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <vector>

namespace cntk
{

// output = beta * output + alpha * op(inputs)
struct ElementwiseLink
{
    static constexpr int c_kept = -1;
    // A matrix whose columns are so many elements apart; 0: one column stands for all.
    struct Place
    {
        void* data = nullptr;
        size_t stride = 0;
        bool isOfStep = false; // it has the columns of one time step alone
        // What only later links of the same chain read has a number, and its memory need not be written; the same
        // number where lives do not overlap.
        int temporary = c_kept;
    };

    ElementwiseOp op = ElementwiseOp::Copy;
    double alpha = 1;
    double beta = 0;
    Place inputs[3]; // as many as the operation has
    Place output;
};

// All matrices have so many rows, and elements of one type on one device.
struct ElementwiseChain
{
    Device* device = nullptr;
    DataType type = DataType::Float32;
    size_t rows = 0;
    std::vector<ElementwiseLink> links; // a link may read and write what those before it wrote
    int known = KnownChains::c_none;    // KnownChains::Find of the links, if somebody looked
};

namespace Ops
{

// Columns [firstColumn, firstColumn + columns) through all links; to the last bit what Elementwise gives link by link.
// firstOfStep: which column the first one is where a place has those of one time step.
void RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep = 0);

} // namespace Ops

} // namespace cntk
