// Parameters that are updated during the backward pass, each right after the product that computes its gradient. The
// gradient is then still in the cache, which saves a pass over memory.
#pragma once

#include "Math/Products.h"
#include "Math/SampledProducts.h"

namespace cntk
{

class ComputationNode;

class GradientUpdates
{
public:
    virtual ~GradientUpdates() = default;

    // Returns the update of a parameter whose whole dense gradient is a single product and whose values nobody reads
    // after it. The update runs after that product. Views have the parameter's own shape. With no update, the gradient
    // stays in memory like those of all other parameters.
    virtual ProductUpdate UpdateOf(const ComputationNode& parameter) = 0;
    // Updates at once by a gradient of some columns that stands for a dense one. Returns true if it took over the
    // operands, for later readers of the gradient, and left old ones in their place, which may be overwritten. Returns
    // false if it did nothing.
    virtual bool UpdateBy(SliceOperands& /*operands*/, const ComputationNode& /*parameter*/) { return false; }
};

} // namespace cntk
