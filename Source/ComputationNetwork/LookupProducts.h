// Words embedded by a LookupTable that only products of weights read: a minibatch has a word many times, and its column
// of each product is computed once. Backward the gradients of all places of a word are summed before they go into
// products, so that all of them have as many columns as there are different words.
#pragma once

#include "ComputationNetwork/DistinctColumns.h"
#include "ComputationNetwork/EvaluationPlan.h"
#include "ComputationNetwork/NodeBinder.h"
#include "Math/ProductList.h"

#include <cstddef>
#include <vector>

namespace cntk
{

// Of one step of a plan (PlanStep::Kind::Lookup). The embedding itself has neither value nor gradient; what is there of
// it, and of the products, for the words that differ is this class's own memory. Samples need not be one-hot: what is
// looked for are equal columns of the sparse input (DistinctColumns).
class LookupProducts
{
public:
    LookupProducts(const PlanStep& step, const EvaluationPlan& plan);

    // After the evaluator bound the nodes' memory.
    void Bind();
    size_t Bytes() const { return m_memory.Bytes(); }

    void Forward();

    // Backward, once a minibatch in this order. The gradients of all products are there.
    void BeginBackward();
    // What is added to the gradient of a product's weight, as a product that is still to be computed.
    Product WeightGradient(const ComputationNode& product);
    void AddTableGradient();

    bool IsLookup(const ComputationNode& node) const { return &node == m_lookup; }
    bool IsProduct(const ComputationNode& node) const
    {
        return node.InputCount() == 2 && node.Input(1).get() == m_lookup;
    }

private:
    // A product, the sum of it and a bias, and a non-linearity, of which the last has a value.
    struct Chain
    {
        const ComputationNode* product = nullptr;
        const ComputationNode* bias = nullptr; // or null
        ElementwiseOp activation = ElementwiseOp::Copy;
        const ComputationNode* last = nullptr;
        MatrixView columns = {}; // of the words that differ: first values, later sums of gradients
        bool isSummed = false;
    };
    MatrixView SumOfGradients(Chain& chain);

    const ComputationNode* m_lookup = nullptr;
    ComputationNode* m_table = nullptr;
    const ComputationNode* m_words = nullptr;
    bool m_needsGradient = false; // the table does
    std::vector<Chain> m_chains;
    DistinctColumns m_distinct;
    Buffer m_memory;
    MatrixView m_embedded; // of the words that differ
    MatrixView m_gradient; // of these
};

} // namespace cntk
