#include "Exchange/ModelValues.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <algorithm>
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

// Copies a matrix. Elements of a row are sourceStep and targetStep elements apart, rows sourceRow and targetRow. Works
// in small blocks, so that both sides stay in the cache.
template <class Element>
void CopyBlocks(const Element* source, size_t sourceRow, size_t sourceStep, Element* target, size_t targetRow,
                size_t targetStep, size_t rows, size_t columns)
{
    constexpr size_t c_blockRows = 32, c_blockColumns = 16;
    for (size_t firstColumn = 0; firstColumn < columns; firstColumn += c_blockColumns)
        for (size_t firstRow = 0; firstRow < rows; firstRow += c_blockRows)
        {
            const size_t endRow = std::min(firstRow + c_blockRows, rows);
            const size_t endColumn = std::min(firstColumn + c_blockColumns, columns);
            for (size_t row = firstRow; row < endRow; ++row)
                for (size_t column = firstColumn; column < endColumn; ++column)
                    target[row * targetRow + column * targetStep] = source[row * sourceRow + column * sourceStep];
        }
}

// Calls copy(offset of a matrix in the tensor, step between its columns there, offset in a row, step between its rows
// in C order) for each index of the dimensions between the first and the last.
template <class Copy>
void VisitMatrices(const TensorShape& dims, size_t first, Copy&& copy)
{
    const size_t rank = dims.Rank(), last = rank < 2 ? 1 : dims[rank - 1], rows = std::max<size_t>(dims[0], 1);
    const size_t middle = last == 0 ? 0 : ElementsOfRow(dims) / last;
    for (size_t index = 0; index < middle; ++index)
    {
        size_t rest = index, reversed = 0;
        for (size_t axis = 1; axis + 1 < rank; ++axis)
        {
            reversed = reversed * dims[axis] + rest % dims[axis];
            rest /= dims[axis];
        }
        copy(index * rows + first, rows * middle, reversed * last, middle * last);
    }
}

template <class Element>
void CopyOut(const Element* tensor, const TensorShape& dims, size_t first, size_t end, Element* target)
{
    const size_t columns = dims.Rank() < 2 ? 1 : dims[dims.Rank() - 1];
    VisitMatrices(dims, first,
                  [&](size_t place, size_t columnStep, size_t placeInRow, size_t rowStep) {
                      CopyBlocks(tensor + place, 1, columnStep, target + placeInRow, rowStep, 1, end - first, columns);
                  });
}

template <class Element>
void CopyIn(const Element* source, const TensorShape& dims, size_t first, size_t end, Element* tensor)
{
    const size_t columns = dims.Rank() < 2 ? 1 : dims[dims.Rank() - 1];
    VisitMatrices(dims, first,
                  [&](size_t place, size_t columnStep, size_t placeInRow, size_t rowStep) {
                      CopyBlocks(source + placeInRow, rowStep, 1, tensor + place, 1, columnStep, end - first, columns);
                  });
}

} // namespace

size_t ElementsOfRow(const TensorShape& dims)
{
    return dims.Elements() / std::max<size_t>(dims[0], 1);
}

size_t RowsOfSlice(const TensorShape& dims, size_t elementSize)
{
    constexpr size_t c_bytes = size_t(4) << 20;
    return std::max<size_t>(1, c_bytes / std::max<size_t>(1, ElementsOfRow(dims) * elementSize));
}

void CopyRowsToCOrder(const std::byte* tensor, const TensorShape& dims, size_t elementSize, size_t first, size_t end,
                      std::byte* rows)
{
    if (elementSize == sizeof(uint32_t))
        CopyOut(reinterpret_cast<const uint32_t*>(tensor), dims, first, end, reinterpret_cast<uint32_t*>(rows));
    else
        CopyOut(reinterpret_cast<const uint64_t*>(tensor), dims, first, end, reinterpret_cast<uint64_t*>(rows));
}

void CopyRowsFromCOrder(const std::byte* rows, const TensorShape& dims, size_t elementSize, size_t first, size_t end,
                        std::byte* tensor)
{
    if (elementSize == sizeof(uint32_t))
        CopyIn(reinterpret_cast<const uint32_t*>(rows), dims, first, end, reinterpret_cast<uint32_t*>(tensor));
    else
        CopyIn(reinterpret_cast<const uint64_t*>(rows), dims, first, end, reinterpret_cast<uint64_t*>(tensor));
}

std::string DescribeCounts(size_t parameters, size_t numbers)
{
    return Concat(Counted(parameters, "parameter"), " with ", Counted(numbers, "value"));
}

} // namespace cntk
