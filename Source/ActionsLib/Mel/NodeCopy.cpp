// Copies fields with the functions that write and read model files, through an archive in memory.
#include "ActionsLib/Mel/NodeCopy.h"

#include "Common/Error.h"
#include "ComputationNetwork/ModelArchive.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace cntk
{
namespace
{

// Returns the node of the pair's name, which must have the type of `from`; creates it if it does not exist.
ComputationNodePtr FindOrMake(ComputationNetwork& target, const NodeCopyPair& pair, bool& isNew)
{
    ComputationNodePtr to = target.Find(pair.to);
    isNew = to == nullptr;
    if (isNew)
        return target.AddUnconnected(pair.from->TypeName(), pair.to);
    if (to == pair.from)
        Fail(ErrorKind::Model, "CopyNode: You are copying the node to the same network with same node name ('", pair.to,
             "')");
    if (&to->Type() != &pair.from->Type())
        Fail(ErrorKind::Model, "cannot copy node '", pair.from->Name(), "' (", pair.from->TypeName(), ") onto '",
             to->Name(), "', which is a ", to->TypeName(), "; expected a node of the same type, or a new name");
    return to;
}

// Copies fields and values to a node of the same type, by writing and reading them in memory.
void CopyFields(ComputationNode& from, ComputationNode& to)
{
    std::string bytes;
    ByteWriter out(&bytes);
    ModelArchive writer(out);
    writer.SetElementType(from.GetDataType());
    from.SerializeFields(writer);
    ByteReader in(bytes, from.Name(), "copy of node");
    ModelArchive reader(in, writer.Version(), false, to.GetDataType(), to.GetDevice());
    reader.SetElementType(from.GetDataType());
    to.SerializeFields(reader);
}

} // namespace

void CopyNodes(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target)
{
    struct Copy
    {
        ComputationNodePtr node;
        bool isNew = false;
    };
    // If a source has several copies (a wildcard target), links go to its last copy.
    std::unordered_map<const ComputationNode*, ComputationNodePtr> copies;
    std::vector<Copy> made;
    copies.reserve(pairs.size());
    made.reserve(pairs.size());
    for (const NodeCopyPair& pair : pairs)
    {
        Copy copy;
        copy.node = FindOrMake(target, pair, copy.isNew);
        CopyFields(*pair.from, *copy.node);
        copies[pair.from.get()] = copy.node;
        made.push_back(std::move(copy));
    }
    for (size_t i = 0; i < pairs.size(); ++i)
    {
        const ComputationNodePtr& to = made[i].node;
        if (pairs[i].from->InputCount() == 0) // a new node has none, an existing node keeps its inputs
            continue;
        // Inputs that are not copied stay, even if the target had more or fewer inputs than the source.
        std::vector<ComputationNodePtr> inputs =
            made[i].isNew ? std::vector<ComputationNodePtr>(pairs[i].from->InputCount()) : to->Inputs();
        for (size_t n = 0; n < pairs[i].from->InputCount(); ++n)
        {
            const auto copy = copies.find(pairs[i].from->Input(n).get());
            if (copy == copies.end())
                continue;
            inputs.resize(std::max(inputs.size(), n + 1));
            inputs[n] = copy->second;
        }
        target.SetPartialInputs(to, std::move(inputs));
    }
}

std::vector<std::string> CopyNodeValues(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target)
{
    std::vector<std::string> made;
    for (const NodeCopyPair& pair : pairs)
    {
        bool isNew = false;
        const ComputationNodePtr to = FindOrMake(target, pair, isNew);
        CopyFields(*pair.from, *to);
        if (!isNew)
            continue;
        made.push_back(to->Name());
        target.SetPartialInputs(to, std::vector<ComputationNodePtr>(pair.from->InputCount()));
    }
    return made;
}

} // namespace cntk
