// Advice for out-of-memory errors: the largest buffers of the network, the total memory needed, and the minibatch size
// that would fit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cntk
{

// A value, gradient or temporary of the plan, with its size for the current minibatch.
struct PlannedBuffer
{
    std::string name; // "the gradient of 'H1'"
    size_t slot = 0;  // buffers of one slot share memory; slots are numbered from 0
    size_t bytes = 0;
    bool growsWithMinibatch = true; // its size is proportional to the columns of the minibatch
};

// Returns notes for the error, the first one about the slot that could not be allocated. columns: of the minibatch.
// availableBytes: the limit for all slots together.
std::vector<std::string> DescribeShortage(const std::vector<PlannedBuffer>& buffers, size_t slot, size_t columns,
                                          size_t availableBytes);

// Formats a size as "1.5 GB": three digits, powers of 1000.
std::string BytesInWords(size_t bytes);

} // namespace cntk
