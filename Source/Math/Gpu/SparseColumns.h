// What the host works out for the gradient of sparse samples, in memory that is kept from minibatch to minibatch.
#pragma once

#include "Math/Gpu/GpuContext.h"
#include "Math/TensorView.h"

#include <cstdint>
#include <vector>

namespace cntk
{

// What is added to one column of a target.
struct Addend
{
    int32_t column; // of the target
    int32_t sample; // column of the source
    int32_t block;  // of the sample's rows
    int32_t at;     // of the values
};

class SparseColumns
{
public:
    // Sorted by target column, then by place. Each sample's rows are words times the target's columns.
    void Find(GpuContext& context, const SparseView& s, size_t words);

    const std::vector<Addend>& Addends() const { return m_addends; }
    // Addends of one column are a run: Runs()[r] to Runs()[r + 1].
    const std::vector<int32_t>& Runs() const { return m_runs; }

private:
    std::vector<int32_t> m_starts;
    std::vector<int32_t> m_rows;
    std::vector<Addend> m_addends;
    std::vector<int32_t> m_runs;
};

} // namespace cntk
