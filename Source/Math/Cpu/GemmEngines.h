// The engines that compute matrix products: our own kernels, and libraries that are opened when first used. Libraries
// run on the calling thread alone: a second pool of threads beside ours (ThreadPool.h) would slow down both.
#pragma once

#include "Math/Cpu/GemmFunctions.h"
#include "Math/Device.h"

#include <string>

namespace cntk
{

const char* NameOf(MatrixEngine engine);

// Sets environment variables of OpenBLAS, unless the user has set them: the processor's core type, since Debian's
// version does not know recent processors and would run at a half or a fifth of their speed. OpenBLAS reads them when
// it is loaded, possibly by a reader's plugin, so this is called when the program starts.
void PrepareEngines();

// Computes a product without its epilogue.
template <class T>
using LibraryProduct = void (*)(const GemmTask<T>& task);
// Null for our own kernels and where the library is missing or lacks the element type (oneDNN: double).
template <class T>
LibraryProduct<T> FindLibraryProduct(MatrixEngine engine);

// The engine that matrixEngine=auto takes on this processor. The answer depends on the whole product's shape alone, so
// that it is the same for every number of threads and every run.
template <class T>
MatrixEngine FastestEngine(const GemmTask<T>& product);

// "OpenBLAS Haswell"; empty where the library is missing. Loads it.
std::string DescribeEngine(MatrixEngine engine);

} // namespace cntk
