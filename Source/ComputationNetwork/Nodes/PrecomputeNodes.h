// Mean and InvStdDev (book 2.4.4): statistics of the training data, computed in a pass over the data before training
// and then fixed. The learner runs the pass.
#pragma once

#include "ComputationNetwork/ComputationNode.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// The pass: BeginPrecompute() on every node that has not been computed, a forward pass for each minibatch, then
// MarkComputed(). Repeated passes of Begin and Mark give the statistics of the last one.
class PrecomputeNode : public ComputationNode
{
public:
    static constexpr NodeKind c_kind = NodeKind::Statistic;
    void InferShape(ShapeInference& inference) override;
    // Adds the minibatch to the statistics during the pass; afterwards does nothing. Fails (Model) before the pass.
    void ForwardProp(const FrameRange& range) override;
    void BeginForwardProp() override;
    std::vector<TemporarySpec> Temporaries() const override;
    void SerializeFields(ModelArchive& archive) override;
    std::string DescribeFields() const override;
    bool ReadsInputs() const override { return !m_hasComputed; }

    virtual bool NeedsVariance() const = 0; // true for InvStdDev, false for Mean
    bool HasComputed() const { return m_hasComputed; }
    void BeginPrecompute();
    // Fails (Data) if the pass had no samples.
    void MarkComputed();
    // Sets statistics known from elsewhere (a converted model): SampleElements() values.
    void SetComputed(std::span<const double> values);

    const Matrix& Values() const { return m_statistics; }

protected:
    // Number, mean and sum of squared deviations of the samples so far, in double precision.
    const std::vector<double>& MeanSoFar() const { return m_mean; }
    double VarianceSoFar(size_t row) const { return m_sumOfSquares[row] / double(m_samples); }
    virtual double Statistic(size_t row) const = 0;

private:
    void Add(size_t samples, const std::vector<double>& sum, const std::vector<double>& sumOfSquares);
    void Resize();

    bool m_hasComputed = false;
    bool m_isComputing = false;
    bool m_isLoaded = false; // the matrix is a file's: its size, which bounds the memory, must fit
    Matrix m_statistics;
    size_t m_samples = 0;
    std::vector<double> m_mean;
    std::vector<double> m_sumOfSquares;
};

class MeanNode final : public PrecomputeNode
{
public:
    bool NeedsVariance() const override { return false; }

protected:
    double Statistic(size_t row) const override { return MeanSoFar()[row]; }
};

// Computes 1 / sqrt(variance), the variance biased (1/N) and at least 1e-10.
class InvStdDevNode final : public PrecomputeNode
{
public:
    bool NeedsVariance() const override { return true; }

protected:
    double Statistic(size_t row) const override;
};

// Returns the values that a model stores for a node (parameters and these statistics); null for all other nodes.
const Matrix* StoredValues(const ComputationNode& node);

} // namespace cntk
