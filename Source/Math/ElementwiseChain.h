// Element-wise operations that run one after another over the same elements, in one pass. A time step of a recurrent
// loop has some twenty of them, on so few elements that separate calls would cost more than the computation.
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
    // A matrix and the stride of its columns; 0: one column for all.
    struct Place
    {
        void* data = nullptr;
        size_t stride = 0;
        bool isOfStep = false; // it has only the columns of one time step
        // A number for values that only later links of this chain read; their memory need not be written. Values whose
        // lifetimes do not overlap share a number.
        int temporary = c_kept;
    };

    ElementwiseOp op = ElementwiseOp::Copy;
    double alpha = 1;
    double beta = 0;
    Place inputs[3]; // as many as the operation has
    Place output;
};

// All matrices have the same number of rows, element type and device.
struct ElementwiseChain
{
    Device* device = nullptr;
    DataType type = DataType::Float32;
    size_t rows = 0;
    std::vector<ElementwiseLink> links; // a link may read and write what those before it wrote
    int known = KnownChains::c_none;    // KnownChains::Find of the links, if it was called
};

namespace Ops
{

// Runs columns [firstColumn, firstColumn + columns) through all links, with the bits of one Elementwise for each link.
// firstOfStep: the first column in places that have only the columns of one time step.
void RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep = 0);

} // namespace Ops

} // namespace cntk
