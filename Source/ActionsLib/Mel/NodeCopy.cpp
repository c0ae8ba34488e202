// Copies fields with the functions that write and read model files, through an archive in memory.
#include "ActionsLib/Mel/NodeCopy.h"

#include "Common/Error.h"
#include "ComputationNetwork/Files/ModelArchive.h"

#include <algorithm>
#include <unordered_map>
#include <variant>

namespace cntk
{
namespace
{

using StoredField = std::variant<bool, int32_t, uint32_t, int64_t, uint64_t, float, double, std::string, TensorShape,
                                 Matrix, std::vector<bool>>;

// Records the fields of a node and returns them in the same order.
class FieldMemory final : public ModelArchive
{
public:
    FieldMemory(DataType type, Device& device) : m_type(type), m_device(device) {}
    void Rewind() { m_isLoading = true; }
    // Empties the archive for the next node.
    void Clear()
    {
        m_fields.clear();
        m_next = 0;
        m_isLoading = false;
    }

    bool IsLoading() const override { return m_isLoading; }
    uint64_t Version() const override { return 8; }
    bool IsOldDialect() const override { return false; }
    DataType ElementType() const override { return m_type; }

    void Field(bool& value) override { Exchange(value); }
    void Field(int32_t& value) override { Exchange(value); }
    void Field(uint32_t& value) override { Exchange(value); }
    void Field(int64_t& value) override { Exchange(value); }
    void Field(uint64_t& value) override { Exchange(value); }
    void Field(float& value) override { Exchange(value); }
    void Field(double& value) override { Exchange(value); }
    void ElementField(double& value) override { Exchange(value); }
    void WideText(std::string& value) override { Exchange(value); }
    void NarrowText(std::string& value) override { Exchange(value); }
    void Shape(TensorShape& shape, bool) override { Exchange(shape); }
    void List(std::vector<bool>& values) override { Exchange(values); }

    void MatrixField(Matrix& matrix) override
    {
        if (!m_isLoading)
        {
            m_fields.push_back(matrix.IsAllocated() ? matrix.Clone() : Matrix(0, 0, m_type, m_device));
            return;
        }
        matrix = std::move(std::get<Matrix>(Next()));
    }

    bool Mark(std::string_view mark) override
    {
        if (!m_isLoading)
        {
            m_fields.push_back(std::string(mark));
            return true;
        }
        const auto* next = AtEnd() ? nullptr : std::get_if<std::string>(&m_fields[m_next]);
        if (next == nullptr || *next != mark)
            return false;
        ++m_next;
        return true;
    }

    int32_t PeekInt32() override
    {
        const auto* next = AtEnd() ? nullptr : std::get_if<int32_t>(&m_fields[m_next]);
        return next == nullptr ? 0 : *next;
    }

private:
    template <class T>
    void Exchange(T& value)
    {
        if (!m_isLoading)
        {
            m_fields.push_back(value);
            return;
        }
        value = std::get<T>(Next());
    }

    bool AtEnd() const { return m_next == m_fields.size(); }
    StoredField& Next() { return m_fields.at(m_next++); }

    DataType m_type;
    Device& m_device;
    bool m_isLoading = false;
    std::vector<StoredField> m_fields;
    size_t m_next = 0;
};

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

// Copies fields and values to a node of the same type.
void CopyFields(ComputationNode& from, ComputationNode& to, FieldMemory& memory)
{
    memory.Clear();
    from.SerializeFields(memory);
    memory.Rewind();
    to.SerializeFields(memory);
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
    FieldMemory memory(target.GetDataType(), target.GetDevice());
    for (const NodeCopyPair& pair : pairs)
    {
        Copy copy;
        copy.node = FindOrMake(target, pair, copy.isNew);
        CopyFields(*pair.from, *copy.node, memory);
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
    FieldMemory memory(target.GetDataType(), target.GetDevice());
    for (const NodeCopyPair& pair : pairs)
    {
        bool isNew = false;
        const ComputationNodePtr to = FindOrMake(target, pair, isNew);
        CopyFields(*pair.from, *to, memory);
        if (!isNew)
            continue;
        made.push_back(to->Name());
        target.SetPartialInputs(to, std::vector<ComputationNodePtr>(pair.from->InputCount()));
    }
    return made;
}

} // namespace cntk
