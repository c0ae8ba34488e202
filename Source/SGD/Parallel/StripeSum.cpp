#include "SGD/Parallel/StripeSum.h"

#include <algorithm>

namespace cntk
{

Stripe StripeOf(size_t whole, size_t rank, size_t workers)
{
    const size_t each = whole / workers, rest = whole % workers;
    return {each * rank + std::min(rank, rest), each + (rank < rest ? 1 : 0)};
}

// A stripe of a worker's own lies where it is in values; those of the others come behind each other into scratch.
template <class ElemType>
void SumOverWorkers(Workers& workers, std::span<ElemType> values, std::vector<ElemType>& scratch)
{
    const size_t count = workers.Count(), rank = workers.Rank();
    const auto stripeOf = [&](size_t i)
    {
        const Stripe stripe = StripeOf(values.size(), i, count);
        return values.subspan(stripe.first, stripe.count);
    };
    const std::span<ElemType> own = stripeOf(rank);
    if (scratch.size() < own.size() * count)
        scratch.resize(own.size() * count);
    std::vector<std::span<const std::byte>> sent(count);
    std::vector<std::span<std::byte>> received(count);
    for (size_t i = 0; i < count; ++i)
    {
        sent[i] = std::as_bytes(stripeOf(i));
        received[i] = std::as_writable_bytes(std::span(scratch).subspan(i * own.size(), own.size()));
    }
    workers.Exchange(sent, received);
    std::copy(own.begin(), own.end(), scratch.begin() + ptrdiff_t(rank * own.size()));
    std::copy(scratch.begin(), scratch.begin() + ptrdiff_t(own.size()), own.begin());
    for (size_t i = 1; i < count; ++i)
        for (size_t k = 0; k < own.size(); ++k)
            own[k] += scratch[i * own.size() + k];
    for (size_t i = 0; i < count; ++i)
    {
        sent[i] = std::as_bytes(own);
        received[i] = std::as_writable_bytes(stripeOf(i));
    }
    workers.Exchange(sent, received);
}

template void SumOverWorkers(Workers&, std::span<float>, std::vector<float>&);
template void SumOverWorkers(Workers&, std::span<double>, std::vector<double>&);

} // namespace cntk
