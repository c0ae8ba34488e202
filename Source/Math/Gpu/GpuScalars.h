// The factors of products in device memory, where cuBLAS reads them.
#pragma once

#include "Math/DataType.h"
#include "Math/Gpu/GpuContext.h"

namespace cntk
{

// 0 and 1 are there from the start. Other factors are written by a kernel that is queued before the product: the host
// does not wait, and a graph that was captured with them has them for good.
class GpuScalars
{
public:
    struct Factors
    {
        const void* alpha;
        const void* beta;
    };

    explicit GpuScalars(GpuContext& context);

    // For what is queued next, until the next call.
    Factors Of(DataType type, double alpha, double beta);

private:
    template <class T>
    Factors FactorsIn(T* scalars, double alpha, double beta);

    GpuContext& m_context;
    GpuArray<float> m_floats; // 0, 1, alpha, beta
    GpuArray<double> m_doubles;
};

} // namespace cntk
