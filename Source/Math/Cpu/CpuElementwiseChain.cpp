// Chains of element-wise operations: so many elements at a time go through all of them that what one link
// writes is still in the cache when the next one reads it. What nobody reads after the chain has memory for that many
// alone, which never leaves the cache.
#include "Math/Cpu/AlignedMemory.h"
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ElementwiseRunner.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/ElementwiseChain.h"

#include <algorithm>
#include <type_traits>

namespace cntk
{

namespace
{

// Bytes that a tile of all links' results may take (a part of the second-level cache: with fewer, calling the links
// costs more than the first level saves), and the least and most elements of a tile.
constexpr size_t c_tileBytes = 384 * 1024;
constexpr size_t c_leastElements = 128;
constexpr size_t c_mostElements = 8192;
constexpr size_t c_rowGranule = 16; // whole registers of any instruction set

struct Tile
{
    size_t elements = 0; // of a whole tile
    size_t row = 0;
    size_t rows = 0;
    size_t column = 0;
    size_t columnOfStep = 0;
    size_t columns = 0;
};

// Temporaries with larger numbers use their memory.
constexpr size_t c_mostTemporaries = 8;

template <class T>
struct BoundPlace
{
    T* data;
    ptrdiff_t stride;
};

// temporaries: of as many elements each as a tile has.
template <class T>
BoundPlace<T> At(const ElementwiseLink::Place& place, const Tile& tile, std::remove_const_t<T>* temporaries)
{
    if (place.temporary != ElementwiseLink::c_kept && size_t(place.temporary) < c_mostTemporaries)
        return {temporaries + size_t(place.temporary) * tile.elements, ptrdiff_t(tile.rows)};
    const size_t column = place.isOfStep ? tile.columnOfStep : tile.column;
    return {static_cast<T*>(place.data) + column * place.stride + tile.row, ptrdiff_t(place.stride)};
}

template <class T>
void RunTile(const VectorKernels<T>& kernels, const ElementwiseChain& chain, const Tile& tile, T* temporaries)
{
    for (const ElementwiseLink& link : chain.links)
    {
        ElementwiseLoop<T> loop;
        loop.alpha = T(link.alpha);
        loop.beta = T(link.beta);
        loop.inner = tile.rows;
        loop.outer = tile.columns;
        for (size_t i = 0; i < ArityOf(link.op); ++i)
        {
            const BoundPlace<const T> input = At<const T>(link.inputs[i], tile, temporaries);
            loop.inputs[i] = input.data;
            loop.inputStrides[i] = input.stride;
        }
        const BoundPlace<T> output = At<T>(link.output, tile, temporaries);
        loop.output = output.data;
        loop.outputStride = output.stride;
        kernels.elementwise[size_t(link.op)][0](loop);
    }
}

// The places of a known chain's operands, each where a link has it first.
template <class T>
ChainBlock<T> BlockOf(const ElementwiseChain& chain, const KnownChain& known, const Tile& tile)
{
    ChainBlock<T> block{{}, {}, chain.rows, tile.columns};
    const auto set = [&](size_t operand, const ElementwiseLink::Place& place)
    {
        if (known.IsTemporary(operand))
            return;
        const BoundPlace<T> at = At<T>(place, tile, nullptr);
        block.operands[operand] = at.data;
        block.strides[operand] = at.stride;
    };
    for (size_t i = 0; i < known.linkCount; ++i)
    {
        set(known.links[i].first, chain.links[i].inputs[0]);
        if (ArityOf(known.links[i].op) > 1)
            set(known.links[i].second, chain.links[i].inputs[1]);
        set(known.links[i].output, chain.links[i].output);
    }
    return block;
}

} // namespace

void CpuKernels::RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep)
{
    size_t operations = 0;
    for (const ElementwiseLink& link : chain.links)
        operations += OperationsOf(link.op);
    const size_t elements =
        std::clamp(c_tileBytes / SizeOf(chain.type) / chain.links.size() / c_rowGranule * c_rowGranule, c_leastElements,
                   c_mostElements);
    const size_t tilesDown = (chain.rows + elements - 1) / elements;
    const size_t rowsEach = ((chain.rows + tilesDown - 1) / tilesDown + c_rowGranule - 1) / c_rowGranule * c_rowGranule;
    const size_t columnsEach = std::max<size_t>(1, elements / chain.rows);
    const int parts =
        std::min(UsefulThreads(operations * chain.rows * columns, m_pool), int(std::min<size_t>(columns, c_mostParts)));
    const size_t tileElements = rowsEach * columnsEach;
    Visit(chain.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              const auto known = chain.known == KnownChains::c_none ? nullptr : kernels.knownChains[chain.known];
              if (known != nullptr)
                  return ForEachPart(m_pool, columns, 1, parts,
                                     [&](int, size_t begin, size_t end)
                                     {
                                         known(BlockOf<T>(chain, KnownChains::c_all[chain.known],
                                                          {.rows = chain.rows,
                                                           .column = firstColumn + begin,
                                                           .columnOfStep = firstOfStep + begin,
                                                           .columns = end - begin}));
                                     });
              ForEachPart(m_pool, columns, 1, parts,
                          [&](int, size_t begin, size_t end)
                          {
                              static thread_local GrowingMemory memory;
                              T* const temporaries = memory.Of<T>(c_mostTemporaries * tileElements);
                              for (size_t column = begin; column < end; column += columnsEach)
                                  for (size_t row = 0; row < chain.rows; row += rowsEach)
                                      RunTile(kernels, chain,
                                              Tile{tileElements, row, std::min(rowsEach, chain.rows - row),
                                                   firstColumn + column, firstOfStep + column,
                                                   std::min(columnsEach, end - column)},
                                              temporaries);
                          });
          });
}

} // namespace cntk
