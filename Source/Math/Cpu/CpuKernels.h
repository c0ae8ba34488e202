// The CPU backend: vectorised kernels, threads where the work is worth them.
#pragma once

#include "Math/Reference/ReferenceKernels.h"

namespace cntk
{

class CpuKernels final : public ReferenceKernels
{
public:
    explicit CpuKernels(int threads) : m_threads(threads) {}

    void Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta) override;
    void MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias, ElementwiseOp activation,
                              const MatrixView& c) override;

private:
    int m_threads;
};

} // namespace cntk
