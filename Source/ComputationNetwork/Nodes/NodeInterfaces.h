// Optional abilities of node types. A node class that has one derives from the interface besides ComputationNode. The
// evaluator asks each node with Interface<...>(node).
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "Math/Products.h"
#include "Math/SampledProducts.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

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

// Returns the node's implementation of an ability; null if its type does not have it.
template <class Ability>
Ability* Interface(ComputationNode& node)
{
    return dynamic_cast<Ability*>(&node);
}

// BackpropTo is a single matrix product over the whole minibatch. Several such products run as one batch (Times).
class BackpropByProducts
{
public:
    virtual ~BackpropByProducts() = default;
    // Appends the product to `products`, does the rest of BackpropTo, and returns true. Returns false and does nothing
    // if this input needs more than one product.
    virtual bool ListBackprop(size_t input, std::vector<Product>& products) = 0;
};

// The backward pass can update a parameter without storing its gradient (class-based softmax).
class BackpropByUpdates
{
public:
    virtual ~BackpropByUpdates() = default;
    // Updates a parameter instead of adding to its gradient, if the whole minibatch contributes at once and nothing
    // else adds to the gradient. Returns false if it did nothing.
    virtual bool BackpropUpdating(size_t input, GradientUpdates& updates) = 0;
};

// The node's layout follows from the values of its input (types with the trait makesLayout).
class LayoutMaker
{
public:
    virtual ~LayoutMaker() = default;
    // Gives the layout at least as many columns as it can get. Called once per minibatch, before memory is bound.
    virtual void ReserveLayout() = 0;
    // Sets the actual columns. Called right before ForwardProp, when the input's value is known.
    virtual void MakeLayout() = 0;
};

// The work of a minibatch depends on more than shapes, layouts and memory: on settings, a random seed, or saved state.
// A device that captured the work (RepeatedWork.h) must know when it may repeat it.
class StepState
{
public:
    virtual ~StepState() = default;
    // Appends these settings and states. Work is repeated only for an equal key. Called after BeginForwardProp.
    virtual void AppendStepKey(std::vector<uint64_t>& key) const = 0;
    // Returns a counter that each ForwardProp advances (a seed, a count), or null. ForwardProp of such a node also runs
    // when captured work is repeated. The device must read values that follow from the counter each time, or the key
    // must contain them.
    virtual uint64_t* StepCounter() { return nullptr; }
};

// The node can store the rows of its value as an image for a window above it (LegacyReshape).
class ImageSource
{
public:
    virtual ~ImageSource() = default;
    // Called when a window (convolution, pooling) reads the value as an image. Returns true if this changes the node's
    // dimensions in the next validation pass: an image of one row is stored like a vector.
    virtual bool ShowToWindow() = 0;
};

} // namespace cntk
