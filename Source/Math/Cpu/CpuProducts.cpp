// Products of matrices.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/Gemm.h"

namespace cntk
{

void CpuKernels::Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta)
{
    VisitType(c.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Gemm<T>(a.transposed, b.transposed, c.rows, c.columns, a.Columns(), alpha, a.matrix.As<T>(),
                          a.matrix.stride, b.matrix.As<T>(), b.matrix.stride, beta, c.As<T>(), c.stride, m_threads);
              });
}

void CpuKernels::MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias,
                                      ElementwiseOp activation, const MatrixView& c)
{
    Multiply(a, Operand{b}, c, 1, 0);
    const TensorView output(c);
    const TensorView biasColumn(bias);
    const TensorView* sum[] = {&output, &biasColumn};
    Elementwise({ElementwiseOp::Sum, ReduceOp::Sum, 1, 0, sum}, output);
    const TensorView* activated[] = {&output};
    if (activation != ElementwiseOp::Copy)
        Elementwise({activation, ReduceOp::Sum, 1, 0, activated}, output);
}

} // namespace cntk
