#include "Exchange/ModelValues.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace cntk
{

namespace
{

std::vector<std::string> NamesOfParameters(const ComputationNetwork& network)
{
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : network.Nodes())
        if (StoredValues(*node) != nullptr)
            names.push_back(node->Name());
    return names;
}

} // namespace

ExportedValues SelectValues(const ComputationNetwork& network, const std::vector<std::string>& patterns, Log& log)
{
    std::unordered_set<const ComputationNode*> selected;
    for (const std::string& pattern : patterns)
    {
        bool isMatched = false;
        for (const ComputationNodePtr& node : network.FindPattern(pattern))
            if (StoredValues(*node) != nullptr)
            {
                selected.insert(node.get());
                isMatched = true;
            }
        if (!isMatched && pattern != "*")
            Fail(ErrorKind::Config, "nodeNames: no parameter of the model has a name like '", pattern, "'",
                 DidYouMean(pattern, NamesOfParameters(network)));
    }
    ExportedValues values;
    for (const ComputationNodePtr& node : network.Nodes())
    {
        if (!selected.contains(node.get()))
            continue;
        const auto* const statistic = As<PrecomputeNode>(node.get());
        if (statistic != nullptr && !statistic->HasComputed())
        {
            log.Warn(Concat("'", node->Name(), "' (", node->TypeName(),
                            ") is not computed yet and is left out; a training computes it"));
            continue;
        }
        values.numbers += StoredValues(*node)->Elements();
        values.nodes.push_back(node);
    }
    return values;
}

namespace
{

// Transposes a matrix whose rows are 1 and columns sourceStep elements apart. The results' rows are targetStep elements
// apart. Works in small blocks, so that both sides stay in the cache.
template <class Element>
void TransposeBlocks(const Element* source, size_t rows, size_t columns, size_t sourceStep, Element* target,
                     size_t targetStep)
{
    constexpr size_t c_block = 32;
    for (size_t firstColumn = 0; firstColumn < columns; firstColumn += c_block)
        for (size_t firstRow = 0; firstRow < rows; firstRow += c_block)
        {
            const size_t endRow = std::min(firstRow + c_block, rows);
            const size_t endColumn = std::min(firstColumn + c_block, columns);
            for (size_t row = firstRow; row < endRow; ++row)
                for (size_t column = firstColumn; column < endColumn; ++column)
                    target[row * targetStep + column] = source[row + column * sourceStep];
        }
}

template <class Element>
void ReverseElements(const Element* source, const TensorShape& dims, Element* target)
{
    const size_t rank = dims.Rank();
    if (rank < 2)
    {
        std::memcpy(target, source, dims.Elements() * sizeof(Element));
        return;
    }
    const size_t first = dims[0], last = dims[rank - 1];
    const size_t all = dims.Elements();
    if (all == 0)
        return;
    const size_t middle = all / (first * last);
    // The dimensions in between keep their order among themselves only after reversing their indices, too.
    for (size_t index = 0; index < middle; ++index)
    {
        size_t rest = index, reversed = 0;
        for (size_t axis = 1; axis + 1 < rank; ++axis)
        {
            reversed = reversed * dims[axis] + rest % dims[axis];
            rest /= dims[axis];
        }
        TransposeBlocks(source + index * first, first, last, first * middle, target + reversed * last, middle * last);
    }
}

} // namespace

void ReverseOrder(const std::byte* source, const TensorShape& dims, size_t elementSize, std::byte* target)
{
    if (elementSize == sizeof(uint32_t))
        ReverseElements(reinterpret_cast<const uint32_t*>(source), dims, reinterpret_cast<uint32_t*>(target));
    else
        ReverseElements(reinterpret_cast<const uint64_t*>(source), dims, reinterpret_cast<uint64_t*>(target));
}

std::vector<std::byte> ValuesInCOrder(const ComputationNode& node)
{
    const Matrix& values = *StoredValues(node);
    std::vector<std::byte> ordered(values.Elements() * SizeOf(values.Type()));
    const MatrixView view = values.View(); // exports load their models on the CPU
    ReverseOrder(view.As<std::byte>(), node.SampleLayout(), SizeOf(values.Type()), ordered.data());
    return ordered;
}

std::string DescribeCounts(size_t parameters, size_t numbers)
{
    return Concat(Counted(parameters, "parameter"), " with ", Counted(numbers, "value"));
}

} // namespace cntk
