// The instruction set that a file of this folder is being compiled for, and what the files give to CpuKernelTable.
//
// Everything else in this folder is in unnamed namespaces, and nothing from the standard library is called: the linker
// keeps one copy of an inline function for the whole program, which must not be one with newer instructions.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"

namespace cntk
{

#if defined(__AVX512F__)
constexpr InstructionSet c_compiledFor = InstructionSet::Avx512;
constexpr size_t c_registerBytes = 64;
#elif defined(__AVX2__)
constexpr InstructionSet c_compiledFor = InstructionSet::Avx2;
constexpr size_t c_registerBytes = 32;
#else
constexpr InstructionSet c_compiledFor = InstructionSet::Baseline;
constexpr size_t c_registerBytes = 16;
#endif

template <InstructionSet>
ProductKernels MakeProductKernels();
template <InstructionSet>
ForFloatAndDouble<VectorKernels> MakeVectorKernels();
template <InstructionSet>
ForFloatAndDouble<UpdateKernels> MakeUpdateKernels();
template <InstructionSet>
ForFloatAndDouble<NoiseFunction> MakeNoiseKernels();
template <InstructionSet>
ForFloatAndDouble<ImageFunctions> MakeImageKernels();

// Each is defined in the file of its name.
#define CNTK_DECLARE_KERNELS(set)                                                                                      \
    template <>                                                                                                        \
    ProductKernels MakeProductKernels<InstructionSet::set>();                                                          \
    template <>                                                                                                        \
    ForFloatAndDouble<VectorKernels> MakeVectorKernels<InstructionSet::set>();                                         \
    template <>                                                                                                        \
    ForFloatAndDouble<UpdateKernels> MakeUpdateKernels<InstructionSet::set>();                                         \
    template <>                                                                                                        \
    ForFloatAndDouble<NoiseFunction> MakeNoiseKernels<InstructionSet::set>();                                          \
    template <>                                                                                                        \
    ForFloatAndDouble<ImageFunctions> MakeImageKernels<InstructionSet::set>();
CNTK_DECLARE_KERNELS(Baseline)
CNTK_DECLARE_KERNELS(Avx2)
CNTK_DECLARE_KERNELS(Avx512)
#undef CNTK_DECLARE_KERNELS

} // namespace cntk
