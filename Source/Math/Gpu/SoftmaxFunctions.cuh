// What kernels of softmax and of its criteria share.
#pragma once

#include "Math/Gpu/DeviceFunctions.cuh"

namespace cntk
{

// log sum exp of a column, for all threads of its team: its largest element and the sum of exp(x - largest), read in
// one pass.
template <class T, bool isBlock>
__device__ T LogSumOf(const ColumnTeam<isBlock>& team, const T* input, size_t rows)
{
    T largest = -T(INFINITY);
    T sum = 0;
    for (size_t row = team.lane; row < rows; row += team.size)
    {
        const T value = input[row];
        if (value > largest)
        {
            sum = sum * Exponential(largest - value) + T(1);
            largest = value;
        }
        else if (value != -T(INFINITY)) // whose difference to itself is no number
            sum += Exponential(value - largest);
    }
    const T all = team.Reduce(largest, -T(INFINITY), TakingLarger());
    // A thread without elements has no largest one; where all are minus infinity, as on the CPU, nothing is a number.
    sum = team.lane < rows ? sum * Exponential(largest - all) : T(0);
    return all + std::log(team.Reduce(sum, T(0), Adding()));
}

} // namespace cntk
