// A library that has cuDNN's version function alone.
#include <cstddef>

extern "C" size_t cudnnGetVersion();
size_t cudnnGetVersion()
{
    return CUDNN_TEST_VERSION;
}
