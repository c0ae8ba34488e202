// An ONNX model in memory, and its file: opset 17, IR version 8, default domain only (onnx.proto has the fields).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cntk
{

// Element types; the values are those of TensorProto.DataType.
enum class OnnxType : int32_t
{
    Float = 1,
    Int64 = 7,
    Bool = 9,
    Double = 11
};

// A dimension: a number, or a name for one that is known only at run time.
struct OnnxDim
{
    int64_t size = 0;
    std::string name{}; // empty: size counts
};

struct OnnxTensor
{
    std::string name;
    OnnxType type = OnnxType::Float;
    std::vector<int64_t> dims;
    // Elements in C order: memory of the network, which must live as long as the model, or memory held here.
    const std::byte* data = nullptr;
    size_t bytes = 0;
    std::shared_ptr<const std::vector<std::byte>> owned{};
};

struct OnnxGraph;

struct OnnxAttribute
{
    std::string name;
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::shared_ptr<OnnxGraph>> value;
};

struct OnnxOperator
{
    std::string type;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::vector<OnnxAttribute> attributes;
};

struct OnnxValueInfo
{
    std::string name;
    OnnxType type = OnnxType::Float;
    std::vector<OnnxDim> dims;
};

struct OnnxGraph
{
    std::string name;
    std::vector<OnnxOperator> operators; // in an order in which they can be computed
    std::vector<OnnxTensor> initializers;
    std::vector<OnnxValueInfo> inputs;
    std::vector<OnnxValueInfo> outputs;
};

struct OnnxModel
{
    OnnxGraph graph;
    std::vector<std::pair<std::string, std::string>> metadata;
};

// Fails (Config) if the program was built without protozero.
void RequireOnnx();

// Fails (Model) if the file would have more than 2 GiB, the limit of the format. Returns the size in bytes.
uint64_t RequireOnnxSize(const OnnxModel& model);
// Writes the file completely or not at all. The same model gives the same bytes.
void WriteOnnx(const OnnxModel& model, const std::string& path);

} // namespace cntk
