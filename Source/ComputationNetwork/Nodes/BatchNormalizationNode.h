// BatchNormalization. Declared in a header because training sets its time constants.
#pragma once

#include "ComputationNetwork/Nodes/ImageGeometry.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"

#include <cstdint>

namespace cntk
{

// Computes out = scale * (x - mean) * invStdDev + bias. In training the statistics are those of the minibatch, blended
// with running ones that two parameters keep. Otherwise the running statistics are used.
class BatchNormalizationNode final : public ComputationNode, public StepState
{
public:
    void InferShape(ShapeInference& inference) override;
    void ForwardProp(const FrameRange& range) override;
    void BackpropTo(size_t input, const FrameRange& range) override;
    std::vector<TemporarySpec> Temporaries() const override;
    void AppendStepKey(std::vector<uint64_t>& key) const override;
    uint64_t* StepCounter() override { return &m_minibatches; }
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override;
    std::string DescribeFields() const override;

    // Samples after which running statistics have forgotten 1 - 1/e of the past; 0: only the minibatch counts.
    void SetNormalizationTimeConstant(double samples) { m_normalizationTimeConstant = samples; }
    void SetBlendTimeConstant(double samples) { m_blendTimeConstant = samples; }
    // Number of minibatches in the running statistics.
    uint64_t Minibatches() const { return m_minibatches; }
    void SetMinibatches(uint64_t count) { m_minibatches = count; }

private:
    // Each of Statistics() groups of elements of a sample has its own mean and variance.
    size_t Statistics() const;
    TensorView Grouped(const MatrixView& samples) const;
    TensorView PerGroup(const MatrixView& vector) const;
    size_t ValuesPerStatistic(const FrameRange& range) const;
    void ComputeStatistics(const FrameRange& range, size_t values);
    void AddInputGradient(const FrameRange& range);
    void VarianceToDeviation();

    bool m_isSpatial = false;
    double m_normalizationTimeConstant = 0;
    double m_blendTimeConstant = 0;
    ImageLayout m_imageLayout = ImageLayout::Chw;
    uint64_t m_minibatches = 0;
    double m_epsilon = 0.00001;
    bool m_usesCntkEngine = true; // stored only: there is one engine
    bool m_holdsVariance = false; // of a file of version 13 or later, until the running variance has been converted
};

} // namespace cntk
