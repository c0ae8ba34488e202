// Node types without a counterpart in ONNX, and what to export instead. Sums of parameters alone are computed at
// export.
#include "Exchange/OnnxConversion.h"

namespace cntk
{

namespace
{

constexpr OnnxRow Refused(std::string_view type, std::string_view why, int exportInstead = -1)
{
    OnnxRow row{type, why};
    row.exportInstead = exportInstead;
    row.isRefused = true;
    return row;
}

constexpr std::string_view c_needsLabels = "needs labels";
constexpr std::string_view c_sumsSamples = "sums over the samples of a minibatch";
constexpr std::string_view c_needsMinibatch = "depends on how a minibatch was put together";

constexpr OnnxRow c_refusedRows[] = {
    Refused("CrossEntropyWithSoftmax", c_needsLabels, 1),
    Refused("CrossEntropy", c_needsLabels, 1),
    Refused("ClassBasedCrossEntropyWithSoftmax", c_needsLabels, 1),
    Refused("NCEBasedCrossEntropyWithSoftmax", c_needsLabels, 1),
    Refused("SquareError", c_needsLabels, 1),
    Refused("Logistic", c_needsLabels, 1),
    Refused("ErrorPrediction", c_needsLabels, 1),
    Refused("CRF", c_needsLabels, 1),
    Refused("SequenceWithSoftmax", c_needsLabels, 1),
    Refused("DummyCriterion", c_sumsSamples, 2),
    Refused("SumElements", c_sumsSamples, 0),
    Refused("MatrixL1Reg", c_sumsSamples, 0),
    Refused("MatrixL2Reg", c_sumsSamples, 0),
    Refused("SequenceDecoderNode", c_needsMinibatch, 1),
    Refused("Where", c_needsMinibatch, 0),
    Refused("PackedIndex", c_needsMinibatch, 1),
    Refused("GatherPacked", c_needsMinibatch, 1),
    Refused("ScatterPacked", c_needsMinibatch, 2),
    Refused("CosDistanceWithNegativeSamples", c_needsMinibatch, 0),
    Refused("StrideTimes", c_needsMinibatch, 1),
    Refused("PairNetwork", "takes its value from another network"),
};

} // namespace

std::span<const OnnxRow> OnnxRefusedRows()
{
    return c_refusedRows;
}

} // namespace cntk
