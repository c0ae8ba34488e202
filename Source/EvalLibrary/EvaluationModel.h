// A loaded model of the evaluation library: a network that never changes, and the descriptions of its nodes.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "EvalLibrary/Include/cntk/cntk.h"
#include "Math/Device.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cntk
{

// Fills the members that the caller's structure has. Fails (Usage) without a structure or its size. The strings and
// arrays of the node must outlive the structure's use.
void DescribeNode(const ComputationNode& node, cntk_node_info* info);
// Sets the members that the caller's structure has to NULL and 0, but for its size. Without a structure: nothing.
void ForgetNode(cntk_node_info* info);

// Threads may call all functions at once.
class EvaluationModel
{
public:
    struct Settings
    {
        std::optional<DataType> dataType; // empty: the precision of the file
        std::string deviceId = "cpu";
        int threads = 1;                       // of one evaluation; 0: all cores
        std::vector<std::string> outputs = {}; // instead of the model's output nodes
    };

    static std::shared_ptr<const EvaluationModel> Load(const std::string& path, const Settings& settings);
    static std::shared_ptr<const EvaluationModel> LoadMemory(std::string_view bytes, const Settings& settings);
    // config: a text in the config language. Fails (Config) without modelPath.
    static std::shared_ptr<const EvaluationModel> Open(const std::string& config);

    const ComputationNetwork& Network() const { return *m_network; }
    // Groups are in the order of the model; inputs, parameters and all nodes in the order of names.
    std::span<const ComputationNodePtr> Group(cntk_group group) const;
    const ComputationNodePtr& Require(std::string_view name) const; // fails (Model) with similar names
    // Fail (Model) for a node whose values the model does not store. values: room for all elements.
    size_t ParameterElements(std::string_view name) const;
    void CopyParameter(std::string_view name, DataType type, void* values) const;

    // Nodes to evaluate: those of the names, or the model's outputs. Fails (Model) if there are none.
    std::vector<std::string> OutputNames(std::span<const char* const> names) const;
    // Returns a network of its own that computes the outputs, with the parameters of this model. On the CPU it also has
    // a device of its own, so that it can run beside others.
    std::unique_ptr<ComputationNetwork> MakeNetwork(const std::vector<std::string>& outputs) const;
    // Null: evaluators need no lock. A GPU runs one evaluator at a time.
    std::mutex* DeviceLock() const { return m_device->IsHostMemory() ? nullptr : &m_deviceLock; }

private:
    const Matrix& RequireStored(std::string_view name) const;
    EvaluationModel(std::shared_ptr<Device> device, std::unique_ptr<ComputationNetwork> network,
                    const Settings& settings);

    Settings m_settings;
    std::shared_ptr<Device> m_device; // outlives the parameters
    std::unique_ptr<ComputationNetwork> m_network;
    std::vector<std::vector<ComputationNodePtr>> m_groups;
    std::unordered_map<std::string, ComputationNodePtr> m_nodes; // by lower-case name
    mutable std::mutex m_deviceLock;
    mutable std::mutex m_copyLock;
};

} // namespace cntk
