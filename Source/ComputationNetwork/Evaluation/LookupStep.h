// Words embedded by a LookupTable whose only readers are products with weights. A word occurs many times in a
// minibatch, and its column of each product is computed once. The backward pass sums the gradients of all places of a
// word before the products, which then have one column per distinct word. Samples of several words (windows of a text)
// are hardly ever equal, but their words are. Each word is multiplied with its columns of the weights, and a sample is
// the sum of its words' results.
#pragma once

#include "ComputationNetwork/Evaluation/DistinctColumns.h"
#include "ComputationNetwork/Evaluation/Steps.h"
#include "Math/Products.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// The embedding node has neither value nor gradient in memory. This class
// owns the embeddings and products of the distinct words. Samples need not be one-hot: equal columns of the sparse
// input are found by DistinctColumns.
class LookupStep final : public Step
{
public:
    LookupStep(const PlanStep& plan, StepCalls calls);

    void Forward() override;
    // Propagates gradients along the chains to the products. From there on, gradients are those of the distinct words.
    void Backward(BackwardPass& pass) override;
    void Bind() override;
    size_t Bytes() const override { return m_memory.Bytes(); }

private:
    // A product, its sum with a bias, and a non-linearity. Only the last one has a value.
    struct Chain
    {
        const ComputationNode* product = nullptr;
        const ComputationNode* bias = nullptr; // or null
        ElementwiseOp activation = ElementwiseOp::Copy;
        const ComputationNode* last = nullptr;
        // Values and sums of gradients for the distinct words of all parts. The values stay in the cache where all
        // chains use the same memory for them.
        MatrixView columns = {};
        MatrixView sums = {};
        bool isSummed = false;
    };
    // Some rows of the samples: one of their words, or all of them.
    struct Part
    {
        DistinctColumns distinct;
        size_t firstRow = 0;    // of the embedding, and the first column of the weights that it meets
        size_t firstColumn = 0; // among those of all parts
        MatrixView embedded = {};
        MatrixView gradient = {};          // of the embeddings
        std::vector<ColumnProducts> terms; // the gradient is their sum
    };
    bool IsProduct(const ComputationNode& node) const
    {
        return node.InputCount() == 2 && node.Input(1).get() == m_lookup;
    }
    void FindWords();
    void FindNumbers(size_t samples, DataType type);
    void ComputeChain(const Chain& chain) const;
    bool AreWorthApart(size_t tasks) const;
    void SumParts();
    void SumParts(const Chain& chain, const MatrixView& columns, const SparseView& numbers);
    void ComputeGradient(Part& part) const;
    // Appends the pending products that add up to the gradient of a product's weight. Each computes some columns of it.
    void ListWeightGradient(const ComputationNode& product, std::vector<Product>& products);
    void AddTableGradient();
    void SumGradients(Chain& asked);
    void SumGradientsOf(Chain& chain);
    static MatrixView SumOfGradients(const Chain& chain, const Part& part);
    static MatrixView WeightsOf(const Chain& chain, const Part& part);
    std::span<Part> Parts() { return std::span(m_parts).first(m_partCount); }

    const ComputationNode* m_lookup = nullptr;
    ComputationNode* m_table = nullptr;
    const ComputationNode* m_words = nullptr;
    std::vector<Chain> m_chains;
    std::vector<Part> m_parts; // one for each word that a sample can have
    size_t m_partCount = 1;    // in this minibatch
    size_t m_count = 0;        // columns of all parts
    SparseOnes m_numbers;      // the columns of the parts that add up to each sample, [m_count x columns]
    Buffer m_memory;
    MatrixView m_embedded;  // of all parts, [rows of the table x all words]
    MatrixView m_gradients; // of these
};

} // namespace cntk
