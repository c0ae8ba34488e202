// What a user can do about memory that ran out: which buffers of the network are the largest, how much all need
// together, and the minibatch that would fit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cntk
{

// A value, gradient or temporary of the plan, as large as the minibatch at hand makes it.
struct PlannedBuffer
{
    std::string name; // "the gradient of 'H1'"
    size_t slot = 0;  // buffers of one slot share memory; slots are numbered from 0
    size_t bytes = 0;
    bool growsWithMinibatch = true; // its size is in proportion to the columns of the minibatch
};

// Notes for the error, the first one about the slot that could not be had. columns: of the minibatch. availableBytes:
// what all slots together may take.
std::vector<std::string> DescribeShortage(const std::vector<PlannedBuffer>& buffers, size_t slot, size_t columns,
                                          size_t availableBytes);

// "1.5 GB": three digits, powers of 1000.
std::string BytesInWords(size_t bytes);

} // namespace cntk
