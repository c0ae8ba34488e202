// Fused element-wise operations: a thread computes all operations of a chain for its element. A time step of a
// recurrent loop is then one launch instead of some twenty.
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

constexpr size_t c_mostLinks = 32; // per launch, so that the arguments stay below a kernel's limit
constexpr unsigned c_chainThreads = 128;
constexpr size_t c_operands = 3;

// The first column of a matrix, and the step to the next one. Step 0: the same column for all.
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
    int8_t from[c_operands]; // the link that computed the input last; -1: read from memory
    int8_t fromBefore;       // the same for the previous value of the output
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

// Each thread reads only its own results, so no barrier is needed.
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

// ---- which operations may be fused ----------------------------------------------------------------------------------

template <class T>
DevicePlace<T> PlaceOf(const ElementwiseLink::Place& place, size_t firstColumn, size_t columns, size_t firstOfStep)
{
    return {static_cast<T*>(place.data) + (place.isOfStep ? firstOfStep : firstColumn) * place.stride,
            columns == 1 ? 0 : place.stride};
}

// True if an element of one place may be a different element of the other. Threads would then depend on each other.
template <class T>
bool Overlap(const DevicePlace<T>& a, const DevicePlace<T>& b, size_t rows, size_t columns)
{
    if (a == b)
        return false;
    const auto end = [&](const DevicePlace<T>& place) { return place.data + (columns - 1) * place.step + rows; };
    if (a.data >= end(b) || b.data >= end(a))
        return false;
    if (a.step != b.step || a.step == 0)
        return true;
    // Rows of one matrix.
    const size_t distance = size_t(a.data > b.data ? a.data - b.data : b.data - a.data) % a.step;
    return distance < rows || a.step - distance < rows;
}

// The distinct places of a chain. They are few, so a linear search suffices.
template <class T>
class Places
{
public:
    struct Known
    {
        DevicePlace<T> place;
        int8_t writer; // the last link that wrote it so far, or -1
    };

    Known& Find(const DevicePlace<T>& place)
    {
        for (size_t i = 0; i < m_count; ++i)
            if (m_known[i].place == place)
                return m_known[i];
        return m_known[m_count++] = {place, -1};
    }
    bool OverlapWithWritten(size_t rows, size_t columns) const
    {
        for (size_t i = 0; i < m_count; ++i)
            for (size_t j = i + 1; j < m_count; ++j)
                if ((m_known[i].writer >= 0 || m_known[j].writer >= 0) &&
                    Overlap(m_known[i].place, m_known[j].place, rows, columns))
                    return true;
        return false;
    }

private:
    std::array<Known, c_mostLinks*(c_operands + 1)> m_known; // entries from m_count on are not set
    size_t m_count = 0;
};

// Fills in the chain of one launch. Returns false if the links cannot be fused.
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
        DeviceLink<T>& target = chain.links[i];
        target.op = link.op;
        target.alpha = T(link.alpha);
        target.beta = T(link.beta);
        // Inputs beyond the arity repeat the first one.
        for (size_t k = 0; k < c_operands; ++k)
        {
            target.inputs[k] = k < ArityOf(link.op) ? placeOf(link.inputs[k]) : target.inputs[0];
            target.from[k] = k < ArityOf(link.op) ? places.Find(target.inputs[k]).writer : target.from[0];
        }
        target.output = placeOf(link.output);
        typename Places<T>::Known& output = places.Find(target.output);
        target.fromBefore = std::exchange(output.writer, int8_t(i));
        target.isKept = keepsAll || link.output.temporary == ElementwiseLink::c_kept;
    }
    return !places.OverlapWithWritten(chain.rows, chain.columns);
}

} // namespace

// Temporaries are only read in the launch that computes them, unless a chain needs several launches.
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
                          DeviceChain<T> fused{};
                          fused.rows = chain.rows;
                          fused.columns = columns;
                          if (!MakeChain(some, links.size() > c_mostLinks, firstColumn, firstOfStep, fused))
                              return false;
                          Launch("RunChain", m_context.Stream(), BlocksFor(chain.rows * columns, c_chainThreads),
                                 c_chainThreads, RunLinks<T>, fused);
                          return true;
                      });
        if (isDone)
            continue;
        // Runs the operations one by one; all temporaries have memory.
        ElementwiseChain separate{chain.device, chain.type, chain.rows, {some.begin(), some.end()}};
        Kernels::RunChain(separate, firstColumn, columns, firstOfStep);
    }
}

} // namespace cntk
