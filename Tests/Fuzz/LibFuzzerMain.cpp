// One target for clang's libFuzzer. CNTK_FUZZ_TARGET is the name of the target.
#include "Fuzz/FuzzTarget.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

namespace
{

const cntk::FuzzTarget& Target()
{
    static const std::vector<cntk::FuzzTarget> all = cntk::AllFuzzTargets();
    return cntk::RequireFuzzTarget(all, CNTK_FUZZ_TARGET);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    cntk::RunFuzzTarget(Target(), {reinterpret_cast<const char*>(data), size});
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned seed)
{
    // Every second change ignores the structure.
    if (Target().mutate == nullptr || seed % 2 == 0)
        return LLVMFuzzerMutate(data, size, maxSize);
    return Target().mutate(data, size, maxSize, seed);
}
