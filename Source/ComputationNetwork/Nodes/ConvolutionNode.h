// Convolution (book 2.5). Declared in a header for the plan's fusion with a bias and a non-linearity, and for the limit
// of temporary memory that training sets.
#pragma once

#include "ComputationNetwork/Nodes/ImageGeometry.h"

#include <cstdint>

namespace cntk
{

class ConvolutionNode final : public ComputationNode
{
public:
    static constexpr NodeKind c_kind = NodeKind::Convolution;
    void InferShape(ShapeInference& inference) override;
    void ForwardProp(const FrameRange& range) override;
    void BackpropTo(size_t input, const FrameRange& range) override;
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override;
    std::string DescribeFields() const override;

    // Computes output = activation(convolution + bias), with a bias of one value for each map.
    void ComputeWithEnding(const MatrixView& bias, ElementwiseOp activation, const MatrixView& output) const;
    // Returns true if the bias, without a layout, has one value for each map, the same at all positions.
    bool IsMapBias(const ComputationNode& bias) const;

    // Limits the samples whose temporary form is in memory at once; 0: as many as are useful.
    void SetMaxTempMemSizeInSamples(uint64_t samples) { m_maxTempMem = samples; }

private:
    void SetTwoDimensionalParameters(const NodeParameters& parameters);
    void LoadOldFields(ModelArchive& archive);
    bool HasAllKernels(const TensorShape& weights) const;

    ImageLayout m_imageLayout = ImageLayout::Hwc;
    bool m_isTwoDimensional = true; // created from seven arguments: width and height, all channels
    WindowSpec m_spec;
    uint64_t m_maxTempMem = 0;
    bool m_transposes = false; // in files after version 8; only false is supported
    ConvolutionGeometry m_geometry;
};

} // namespace cntk
