// Chains of element-wise operations: so many elements at a time go through all of them that what one link
// writes is still in the cache when the next one reads it.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ElementwiseRunner.h"
#include "Math/Cpu/Threads.h"
#include "Math/ElementwiseChain.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Bytes that a tile of all links' results may take (a part of the second-level cache: with fewer, calling the links
// costs more than the first level saves), and the least and most elements of a tile.
constexpr size_t c_tileBytes = 192 * 1024;
constexpr size_t c_leastElements = 128;
constexpr size_t c_mostElements = 8192;
constexpr size_t c_rowGranule = 16; // whole registers of any instruction set

struct Tile
{
    size_t row = 0;
    size_t rows = 0;
    size_t column = 0;
    size_t columnOfStep = 0;
    size_t columns = 0;
};

template <class T>
T* At(const ElementwiseLink::Place& place, const Tile& tile)
{
    const size_t column = place.isOfStep ? tile.columnOfStep : tile.column;
    return static_cast<T*>(place.data) + column * place.stride + tile.row;
}

template <class T>
void RunTile(const VectorKernels<T>& kernels, const ElementwiseChain& chain, const Tile& tile)
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
            loop.inputs[i] = At<const T>(link.inputs[i], tile);
            loop.inputStrides[i] = ptrdiff_t(link.inputs[i].stride);
        }
        loop.output = At<T>(link.output, tile);
        loop.outputStride = ptrdiff_t(link.output.stride);
        kernels.elementwise[size_t(link.op)][0](loop);
    }
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
    Visit(chain.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              ForEachPart(m_pool, columns, 1, parts,
                          [&](int, size_t begin, size_t end)
                          {
                              for (size_t column = begin; column < end; column += columnsEach)
                                  for (size_t row = 0; row < chain.rows; row += rowsEach)
                                      RunTile(kernels, chain,
                                              Tile{row, std::min(rowsEach, chain.rows - row), firstColumn + column,
                                                   firstOfStep + column, std::min(columnsEach, end - column)});
                          });
          });
}

} // namespace cntk
