// Chains of element-wise operations: a thread takes its element through all links, so that a time step of a recurrent
// loop is one launch where it would be some twenty.
#include "Math/ElementwiseChain.h"
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace cntk
{

namespace
{

constexpr size_t c_mostLinks = 32; // of a launch: with them the arguments are below what a kernel may have
constexpr unsigned c_chainThreads = 128;
constexpr size_t c_operands = 3;

// A column of a matrix, and how far the next one is; 0: one column for all.
template <class T>
struct DevicePlace
{
    T* data;
    size_t step;

    bool operator==(const DevicePlace&) const = default;
};

template <class T>
struct DeviceLink
{
    ElementwiseOp op;
    int8_t from[c_operands]; // the link that computed the input last, or -1: it is in memory
    int8_t fromBefore;       // the same of what the output held
    bool isKept;             // the output is written to memory
    T alpha;
    T beta;
    DevicePlace<T> inputs[c_operands];
    DevicePlace<T> output;
};

template <class T>
struct DeviceChain
{
    DeviceLink<T> links[c_mostLinks];
    unsigned count;
    size_t rows;
    size_t columns;
};

// Results stay with their thread until the end of the chain: nobody else reads them, so there is nothing to wait for.
template <class T>
__global__ void RunLinks(const DeviceChain<T> chain)
{
    __shared__ T results[c_mostLinks][c_chainThreads];
    for (size_t index = FirstElement(); index < chain.rows * chain.columns; index += ElementStep())
    {
        const size_t column = index / chain.rows;
        const size_t row = index % chain.rows;
        const auto valueAt = [&](const DevicePlace<T>& place, int8_t from)
        { return from >= 0 ? results[from][threadIdx.x] : place.data[column * place.step + row]; };
        for (unsigned i = 0; i < chain.count; ++i)
        {
            const DeviceLink<T>& link = chain.links[i];
            const T value =
                EvaluateElementwise(link.op, valueAt(link.inputs[0], link.from[0]),
                                    valueAt(link.inputs[1], link.from[1]), valueAt(link.inputs[2], link.from[2]));
            const T result = link.beta == T(0) ? link.alpha * value
                                               : link.beta * valueAt(link.output, link.fromBefore) + link.alpha * value;
            results[i][threadIdx.x] = result;
            if (link.isKept)
                link.output.data[column * link.output.step + row] = result;
        }
    }
}

// ---- what may run as one --------------------------------------------------------------------------------------------

template <class T>
DevicePlace<T> PlaceOf(const ElementwiseLink::Place& place, size_t firstColumn, size_t columns, size_t firstOfStep)
{
    return {static_cast<T*>(place.data) + (place.isOfStep ? firstOfStep : firstColumn) * place.stride,
            columns == 1 ? 0 : place.stride};
}

// Whether an element of one place may be another element of the other: then threads would have to wait for one another.
template <class T>
bool AreMixed(const DevicePlace<T>& a, const DevicePlace<T>& b, size_t rows, size_t columns)
{
    if (a == b)
        return false;
    const auto end = [&](const DevicePlace<T>& place) { return place.data + (columns - 1) * place.step + rows; };
    if (a.data >= end(b) || b.data >= end(a))
        return false;
    if (a.step != b.step || a.step == 0)
        return true;
    // Rows of one matrix.
    const size_t apart = size_t(a.data > b.data ? a.data - b.data : b.data - a.data) % a.step;
    return apart < rows || a.step - apart < rows;
}

// The places of a chain, each once; few enough to be looked for one after another.
template <class T>
class Places
{
public:
    struct Known
    {
        DevicePlace<T> place;
        int8_t writer; // the last link so far that wrote it, or -1
    };

    Known& Find(const DevicePlace<T>& place)
    {
        for (size_t i = 0; i < m_count; ++i)
            if (m_known[i].place == place)
                return m_known[i];
        return m_known[m_count++] = {place, -1};
    }
    bool AreMixedWithWritten(size_t rows, size_t columns) const
    {
        for (size_t i = 0; i < m_count; ++i)
            for (size_t j = i + 1; j < m_count; ++j)
                if ((m_known[i].writer >= 0 || m_known[j].writer >= 0) &&
                    AreMixed(m_known[i].place, m_known[j].place, rows, columns))
                    return true;
        return false;
    }

private:
    std::array<Known, c_mostLinks*(c_operands + 1)> m_known; // those behind the count have not been set
    size_t m_count = 0;
};

// Some of the links as a launch takes them. False: they cannot be one.
template <class T>
bool MakeChain(std::span<const ElementwiseLink> links, bool keepsAll, size_t firstColumn, size_t firstOfStep,
               DeviceChain<T>& chain)
{
    const auto placeOf = [&](const ElementwiseLink::Place& place)
    { return PlaceOf<T>(place, firstColumn, chain.columns, firstOfStep); };
    Places<T> places;
    chain.count = unsigned(links.size());
    for (size_t i = 0; i < links.size(); ++i)
    {
        const ElementwiseLink& link = links[i];
        DeviceLink<T>& there = chain.links[i];
        there.op = link.op;
        there.alpha = T(link.alpha);
        there.beta = T(link.beta);
        // Inputs beyond the arity are the first one once more, which costs nothing.
        for (size_t k = 0; k < c_operands; ++k)
        {
            there.inputs[k] = k < ArityOf(link.op) ? placeOf(link.inputs[k]) : there.inputs[0];
            there.from[k] = k < ArityOf(link.op) ? places.Find(there.inputs[k]).writer : there.from[0];
        }
        there.output = placeOf(link.output);
        typename Places<T>::Known& output = places.Find(there.output);
        there.fromBefore = std::exchange(output.writer, int8_t(i));
        there.isKept = keepsAll || link.output.temporary == ElementwiseLink::c_kept;
    }
    return !places.AreMixedWithWritten(chain.rows, chain.columns);
}

} // namespace

// What a temporary holds is read in the launch that computes it alone, unless a chain takes several.
void GpuKernels::RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep)
{
    if (m_context.Repeats())
        return;
    const std::span<const ElementwiseLink> links(chain.links);
    for (size_t first = 0; first < links.size(); first += c_mostLinks)
    {
        const auto some = links.subspan(first, std::min(c_mostLinks, links.size() - first));
        const bool isDone =
            VisitType(chain.type,
                      [&](auto tag)
                      {
                          using T = decltype(tag);
                          DeviceChain<T> there{};
                          there.rows = chain.rows;
                          there.columns = columns;
                          if (!MakeChain(some, links.size() > c_mostLinks, firstColumn, firstOfStep, there))
                              return false;
                          Launch("RunChain", m_context.Stream(), BlocksFor(chain.rows * columns, c_chainThreads),
                                 c_chainThreads, RunLinks<T>, there);
                          return true;
                      });
        if (isDone)
            continue;
        // With memory for all that they write.
        ElementwiseChain apart{chain.device, chain.type, chain.rows, {some.begin(), some.end()}};
        Kernels::RunChain(apart, firstColumn, columns, firstOfStep);
    }
}

} // namespace cntk
