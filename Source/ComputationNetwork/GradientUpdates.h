// Parameters that are updated in the backward pass, each right behind the product that is its gradient: the gradient is
// then still in the cache, and a pass over memory is saved.
#pragma once

#include "Math/ProductList.h"

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
};

} // namespace cntk
