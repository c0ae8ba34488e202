// Numbers added up over workers: each sums a stripe of them, which all get.
#pragma once

#include "Common/Workers.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// A worker's part of so many things: the first ones get one more.
struct Stripe
{
    size_t first = 0;
    size_t count = 0;
};
Stripe StripeOf(size_t whole, size_t rank, size_t workers);

// Collective: values, equally many everywhere, becomes the sum over all workers, made in the order of ranks. scratch is
// memory that grows.
template <class ElemType>
void SumOverWorkers(Workers& workers, std::span<ElemType> values, std::vector<ElemType>& scratch);

} // namespace cntk
