// What backends do that run one task after another.
#include "Math/Apart.h"

namespace cntk
{

void Kernels::RunApart(size_t tasks, void (*task)(const void* body, size_t index), const void* body)
{
    for (size_t index = 0; index < tasks; ++index)
        task(body, index);
}

} // namespace cntk
