// A library that has only cuDNN's version function.
#include <cstddef>

extern "C" size_t cudnnGetVersion();
size_t cudnnGetVersion()
{
    return CUDNN_TEST_VERSION;
}
