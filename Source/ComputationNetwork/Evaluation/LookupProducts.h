// Words embedded by a LookupTable that only products of weights read: a minibatch has a word many times, and its column
// of each product is computed once. Backward the gradients of all places of a word are summed before they go into
// products, so that all of them have as many columns as there are different words. Of samples of several words, windows
// of a text, hardly two are alike, but their words are: each word is multiplied with its columns of the weights, and a
// sample is the sum of what its words give.
#pragma once

#include "ComputationNetwork/Evaluation/DistinctColumns.h"
#include "ComputationNetwork/Evaluation/NodeBinder.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "Math/Products.h"

#include <cstddef>
#include <span>
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

    // Backward, once a minibatch in this order. From the beginning on the gradients of all products are there that no
    // bias or activation follows, those of others when they are asked for.
    void BeginBackward();
    // What is added to the gradient of a product's weight, as products that are still to be computed, each of some
    // columns of it.
    void ListWeightGradient(const ComputationNode& product, std::vector<Product>& products);
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
        // Of all parts' words that differ: values, which stay in the cache where all chains have the same memory for
        // them, and sums of gradients.
        MatrixView columns = {};
        MatrixView sums = {};
        bool isSummed = false;
    };
    // Some rows of the samples: one of their words, or all of them.
    struct Part
    {
        DistinctColumns distinct;
        size_t firstRow = 0;    // of the embedding, and so the first of the weights' columns that it meets
        size_t firstColumn = 0; // among those of all parts
        MatrixView embedded = {};
        MatrixView gradient = {};          // of these
        std::vector<ColumnProducts> terms; // of which that is the sum
    };
    void FindWords();
    void FindNumbers(size_t samples, DataType type);
    void ComputeChain(const Chain& chain) const;
    bool AreWorthApart(size_t tasks) const;
    void SumParts();
    void SumParts(const Chain& chain, const MatrixView& columns, const SparseView& numbers);
    void ComputeGradient(Part& part) const;
    void SumGradients(Chain& asked);
    void SumGradientsOf(Chain& chain);
    static MatrixView SumOfGradients(const Chain& chain, const Part& part);
    static MatrixView WeightsOf(const Chain& chain, const Part& part);
    std::span<Part> Parts() { return std::span(m_parts).first(m_partCount); }

    const ComputationNode* m_lookup = nullptr;
    ComputationNode* m_table = nullptr;
    const ComputationNode* m_words = nullptr;
    bool m_needsGradient = false; // the table does
    std::vector<Chain> m_chains;
    std::vector<Part> m_parts; // as many as a sample can have words
    size_t m_partCount = 1;    // of the minibatch
    size_t m_count = 0;        // columns of all parts
    SparseOnes m_numbers;      // which columns of the parts each sample is the sum of, [m_count x columns]
    Buffer m_memory;
    MatrixView m_embedded;  // of all parts, [rows of the table x all words]
    MatrixView m_gradients; // of these
};

} // namespace cntk
