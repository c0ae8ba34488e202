// Parameters that are updated in the backward pass, each right behind the product that is its gradient: the gradient is
// then still in the cache, and a pass over memory is saved.
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

    // Asked of parameters whose whole gradient, a dense one, is a single product, and whose values nobody reads any
    // more once it is there. The update is made behind that product; views have the parameter's own shape. No update:
    // the gradient is left in memory, as those of all other parameters are.
    virtual ProductUpdate UpdateOf(const ComputationNode& parameter) = 0;
    // The same for a gradient of some columns that stands for a dense one, but the update is made at once. True: the
    // operands were taken over, for whoever asks for the gradient later; in their place are old ones, to be
    // overwritten. False: nothing was done.
    virtual bool UpdateBy(SliceOperands& /*operands*/, const ComputationNode& /*parameter*/) { return false; }
};

} // namespace cntk
