// The call of the backend; what backends do that have no pass of their own.
#include "Math/ElementwiseChain.h"

#include "Common/Error.h"
#include "Math/Kernels.h"

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

} // namespace cntk
