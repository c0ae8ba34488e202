// Checks a chain and calls the backend; runs it link by link for backends that have no kernel for it; finds known
// chains.
#include "Math/ElementwiseChain.h"

#include "Common/Error.h"
#include "Math/Kernels.h"

#include <array>

namespace cntk
{

namespace
{

TensorView ViewOf(const ElementwiseLink::Place& place, const ElementwiseChain& chain, size_t firstColumn,
                  size_t columns)
{
    TensorView view;
    view.data = static_cast<std::byte*>(place.data) + firstColumn * place.stride * SizeOf(chain.type);
    view.type = chain.type;
    view.device = chain.device;
    view.rank = 2;
    view.dims[0] = chain.rows;
    view.strides[0] = 1;
    view.dims[1] = place.stride == 0 ? 1 : columns;
    view.strides[1] = ptrdiff_t(place.stride);
    return view;
}

} // namespace

void Kernels::RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep)
{
    const auto viewOf = [&](const ElementwiseLink::Place& place)
    { return ViewOf(place, chain, place.isOfStep ? firstOfStep : firstColumn, columns); };
    for (const ElementwiseLink& link : chain.links)
    {
        TensorView inputs[3];
        const TensorView* pointers[3] = {};
        const size_t arity = ArityOf(link.op);
        for (size_t i = 0; i < arity; ++i)
        {
            inputs[i] = viewOf(link.inputs[i]);
            pointers[i] = &inputs[i];
        }
        Elementwise({link.op, ReduceOp::Sum, link.alpha, link.beta, {pointers, arity}}, viewOf(link.output));
    }
}

void Ops::RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep)
{
    if (chain.rows == 0 || columns == 0 || chain.links.empty())
        return;
    if (chain.device == nullptr)
        Fail(ErrorKind::Internal, "RunChain: the chain is on no device");
    for (const ElementwiseLink& link : chain.links)
    {
        bool hasMemory = link.output.data != nullptr;
        for (size_t i = 0; i < ArityOf(link.op); ++i)
            hasMemory = hasMemory && link.inputs[i].data != nullptr;
        if (!hasMemory)
            Fail(ErrorKind::Internal, "RunChain: an operand of ", NameOf(link.op), " has no memory yet");
        if (columns > 1 && link.output.stride < chain.rows)
            Fail(ErrorKind::Internal, "RunChain: the columns that ", NameOf(link.op), " writes are ",
                 link.output.stride, " elements apart, but have ", chain.rows);
    }
    chain.device->GetKernels().RunChain(chain, firstColumn, columns, firstOfStep);
}

// ---- known chains ---------------------------------------------------------------------------------------------------

namespace
{

using Place = ElementwiseLink::Place;

bool IsSame(const Place& a, const Place& b)
{
    return a.data == b.data && a.stride == b.stride && a.isOfStep == b.isOfStep && a.temporary == b.temporary;
}

// The place of each operand of a known chain.
class Places
{
public:
    explicit Places(const KnownChain& known) : m_known(known) {}

    bool Reads(const Place& place, size_t operand)
    {
        if (!m_known.IsTemporary(operand))
            return Knows(place, operand);
        return m_places[operand] != nullptr && IsSame(*m_places[operand], place);
    }

    // A temporary's place may have been another one's, which nobody reads any more.
    bool Writes(const Place& place, size_t operand, bool adds)
    {
        if (!m_known.IsTemporary(operand))
            return Knows(place, operand);
        if (adds)
            return Reads(place, operand);
        if (place.temporary == ElementwiseLink::c_kept)
            return false;
        for (size_t i = m_known.firstTemporary; i < m_known.operandCount; ++i)
            if (m_places[i] != nullptr && m_places[i]->temporary == place.temporary)
                m_places[i] = nullptr;
        m_places[operand] = &place;
        return true;
    }

private:
    // The place of this operand alone.
    bool Knows(const Place& place, size_t operand)
    {
        if (place.temporary != ElementwiseLink::c_kept)
            return false;
        if (m_places[operand] != nullptr)
            return IsSame(*m_places[operand], place);
        for (size_t i = 0; i < m_known.firstTemporary; ++i)
            if (m_places[i] != nullptr && m_places[i]->data == place.data)
                return false;
        m_places[operand] = &place;
        return true;
    }

    const KnownChain& m_known;
    std::array<const Place*, KnownChain::c_mostOperands> m_places{};
};

bool IsIt(const ElementwiseChain& chain, const KnownChain& known)
{
    if (chain.links.size() != known.linkCount)
        return false;
    Places places(known);
    for (size_t i = 0; i < known.linkCount; ++i)
    {
        const ElementwiseLink& link = chain.links[i];
        const KnownChain::Link& expected = known.links[i];
        if (link.op != expected.op || link.alpha != 1 || link.beta != (expected.adds ? 1 : 0) ||
            !places.Reads(link.inputs[0], expected.first) ||
            (ArityOf(link.op) > 1 && !places.Reads(link.inputs[1], expected.second)) ||
            !places.Writes(link.output, expected.output, expected.adds))
            return false;
    }
    return true;
}

} // namespace

int KnownChains::Find(const ElementwiseChain& chain)
{
    for (size_t i = 0; i < c_count; ++i)
        if (IsIt(chain, c_all[i]))
            return int(i);
    return c_none;
}

} // namespace cntk
