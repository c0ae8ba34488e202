// Checks of arguments, then one call of the backend; what backends without panels do.
#include "Math/PackedOperand.h"

#include "Common/Error.h"
#include "Math/Kernels.h"

namespace cntk
{

size_t Kernels::PackedBytes(const Operand&)
{
    return 0;
}

void Kernels::Pack(const Operand&, void*)
{
    Fail(ErrorKind::Internal, "this device keeps no panels of matrices");
}

void Kernels::MultiplyPacked(const Operand&, const void*, const MatrixView&, const MatrixView&, double, double)
{
    Fail(ErrorKind::Internal, "this device keeps no panels of matrices");
}

void PackedOperand::Reserve(const MatrixView& a, Ops::Transpose transpose)
{
    if (a.device == nullptr)
        Fail(ErrorKind::Internal, "PackedOperand: the matrix is on no device");
    const size_t bytes = a.device->GetKernels().PackedBytes({a, transpose == Ops::Transpose::Yes});
    m_hasPanels = bytes > 0;
    if (!m_hasPanels)
        return;
    if (m_panels.GetDevice() != a.device)
        m_panels = Buffer(*a.device);
    m_panels.Reserve(bytes);
}

void PackedOperand::Pack(const MatrixView& a, Ops::Transpose transpose)
{
    Reserve(a, transpose);
    m_matrix = a;
    m_transposed = transpose == Ops::Transpose::Yes;
    if (m_hasPanels)
        a.device->GetKernels().Pack({m_matrix, m_transposed}, m_panels.Data());
}

void PackedOperand::Multiply(const MatrixView& b, const MatrixView& c, double alpha, double beta) const
{
    if (!m_hasPanels)
        return Ops::Multiply(m_matrix, m_transposed ? Ops::Transpose::Yes : Ops::Transpose::No, b, Ops::Transpose::No,
                             c, alpha, beta);
    const Operand a{m_matrix, m_transposed};
    if (b.device != m_matrix.device || c.device != m_matrix.device)
        Fail(ErrorKind::Internal, "PackedOperand: operands are on different devices");
    if (b.type != m_matrix.type || c.type != m_matrix.type)
        Fail(ErrorKind::Internal, "PackedOperand: operands are of different types");
    if (a.Columns() != b.rows || c.rows != a.Rows() || c.columns != b.columns)
        Fail(ErrorKind::Internal, "PackedOperand: the product of [", a.Rows(), " x ", a.Columns(), "] and [", b.rows,
             " x ", b.columns, "] does not fit [", c.rows, " x ", c.columns, "]");
    if (c.Elements() > 0)
        m_matrix.device->GetKernels().MultiplyPacked(a, m_panels.Data(), b, c, alpha, beta);
}

} // namespace cntk
