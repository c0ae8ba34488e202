// Fields are copied as a model file stores them, without the values of parameters.
#include "EvalLibrary/NetworkCopy.h"

#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <unordered_map>
#include <utility>

namespace cntk
{

namespace
{

constexpr uint64_t c_archiveVersion = 8; // of ModelArchive

void CopyFields(ComputationNode& from, ComputationNode& to, Device& device)
{
    std::string bytes;
    {
        ByteWriter out(&bytes);
        ModelArchive archive(out);
        archive.SetElementType(from.GetDataType());
        from.SerializeFields(archive);
    }
    ByteReader in(bytes, from.Name(), "copy of node");
    ModelArchive archive(in, c_archiveVersion, false, to.GetDataType(), device);
    archive.SetElementType(from.GetDataType());
    to.SerializeFields(archive);
}

void CopyNode(ComputationNode& from, ComputationNode& to, Device& device)
{
    auto* const parameter = As<LearnableParameterNode>(&from);
    if (parameter == nullptr)
        return CopyFields(from, to, device);
    auto& shared = *As<LearnableParameterNode>(&to);
    shared.ShareStorage(parameter->Storage(), parameter->SampleLayout());
    shared.SetLearningRateMultiplier(0); // models never change
}

} // namespace

std::unique_ptr<ComputationNetwork> CopyNetwork(const ComputationNetwork& network,
                                                const std::vector<std::string>& outputs,
                                                const std::shared_ptr<Device>& device)
{
    std::vector<ComputationNodePtr> roots;
    for (const std::string& name : outputs)
        roots.push_back(network.Require(name));
    auto copy = std::make_unique<ComputationNetwork>(network.GetDataType(), device, network.Registry());
    const std::vector<ComputationNodePtr> nodes = ComputationNetwork::Below(roots);
    std::unordered_map<const ComputationNode*, ComputationNodePtr> copies;
    for (const ComputationNodePtr& node : nodes)
    {
        const ComputationNodePtr made = copy->AddUnconnected(node->TypeName(), node->Name());
        CopyNode(*node, *made, *device);
        copies[node.get()] = made;
    }
    for (const ComputationNodePtr& node : nodes)
    {
        if (node->InputCount() == 0)
            continue;
        std::vector<ComputationNodePtr> inputs;
        for (const ComputationNodePtr& input : node->Inputs())
            inputs.push_back(copies.at(input.get()));
        copy->SetInputs(copies.at(node.get()), std::move(inputs));
    }
    for (const ComputationNodePtr& root : roots)
        copy->AddToGroup(NodeGroup::Output, copies.at(root.get()));
    copy->Validate();
    return copy;
}

} // namespace cntk
