// Networks as ONNX models, for onnxruntime and other programs.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "Exchange/OnnxConversion.h"
#include "Exchange/OnnxModel.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct OnnxResult
{
    OnnxModel model;
    size_t parameters = 0; // and statistics, among the initializers
    size_t numbers = 0;    // their values
    std::vector<std::string> warnings;
};

// Converts the nodes that the outputs need. Computes nodes that depend on parameters alone. Fails (Model) with all
// nodes that have no counterpart in ONNX. The network must live as long as the model, which refers to its parameters.
OnnxResult ConvertToOnnx(ComputationNetwork& network, const OnnxExportOptions& options);

// Describes the ONNX form of a node type for the reference page: "MatMul", "refused: needs labels". Empty for a type
// that the export does not know.
std::string OnnxFormOf(std::string_view type);

} // namespace cntk
