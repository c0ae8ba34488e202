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

void Kernels::Pack(std::span<const MatrixView>, bool, void*)
{
    Fail(ErrorKind::Internal, "this device keeps no panels of matrices");
}

void Kernels::PackAndMultiply(std::span<const MatrixView>, void*, const MatrixView&, const MatrixView&)
{
    Fail(ErrorKind::Internal, "this device keeps no panels of matrices");
}

void Kernels::MultiplyPacked(const Operand&, const void*, const MatrixView&, const MatrixView&, double, double)
{
    Fail(ErrorKind::Internal, "this device keeps no panels of matrices");
}

namespace
{

// The shape of matrices one above another, of which a single one is what it is.
MatrixView Whole(std::span<const MatrixView> parts)
{
    if (parts.empty() || parts.front().device == nullptr)
        Fail(ErrorKind::Internal, "PackedOperand: the matrix is on no device");
    MatrixView whole = parts.front();
    for (const MatrixView& part : parts.subspan(1))
    {
        if (part.device != whole.device || part.type != whole.type || part.columns != whole.columns)
            Fail(ErrorKind::Internal, "PackedOperand: matrices one above another differ in device, type or columns");
        whole.rows += part.rows;
        whole.data = nullptr; // not in one piece
    }
    return whole;
}

} // namespace

void PackedOperand::UseMemory(Buffer& memory, size_t offset)
{
    m_shared = &memory;
    m_offset = offset;
    m_own = Buffer();
}

size_t PackedOperand::Reserve(std::span<const MatrixView> parts, Ops::Transpose transpose)
{
    const MatrixView whole = Whole(parts);
    const size_t bytes = whole.device->GetKernels().PackedBytes({whole, transpose == Ops::Transpose::Yes});
    if (bytes == 0)
        return 0;
    Buffer& memory = m_shared != nullptr ? *m_shared : m_own;
    if (memory.GetDevice() != whole.device)
        memory = Buffer(*whole.device);
    memory.Reserve(m_offset + bytes);
    return bytes;
}

bool PackedOperand::TakePanels(std::span<const MatrixView> parts, Ops::Transpose transpose)
{
    m_hasPanels = Reserve(parts, transpose) > 0;
    m_matrix = Whole(parts);
    m_transposed = transpose == Ops::Transpose::Yes;
    if (m_hasPanels)
        m_panels = static_cast<std::byte*>((m_shared != nullptr ? *m_shared : m_own).Data()) + m_offset;
    else if (parts.size() > 1)
        Fail(ErrorKind::Internal, "PackedOperand: this device keeps no panels of matrices; expected them in one piece");
    return m_hasPanels;
}

void PackedOperand::Pack(std::span<const MatrixView> parts, Ops::Transpose transpose)
{
    if (TakePanels(parts, transpose))
        m_matrix.device->GetKernels().Pack(parts, m_transposed, m_panels);
}

void PackedOperand::PackAndMultiply(std::span<const MatrixView> parts, const MatrixView& b, const MatrixView& c)
{
    if (b.columns != 1 || b.rows == 0 || c.rows == 0 || !TakePanels(parts, Ops::Transpose::No))
    {
        Pack(parts, Ops::Transpose::No);
        return Multiply(b, c);
    }
    Check(b, c);
    m_matrix.device->GetKernels().PackAndMultiply(parts, m_panels, b, c);
}

void PackedOperand::Check(const MatrixView& b, const MatrixView& c) const
{
    const Operand a{m_matrix, m_transposed};
    if (b.device != m_matrix.device || c.device != m_matrix.device)
        Fail(ErrorKind::Internal, "PackedOperand: operands are on different devices");
    if (b.type != m_matrix.type || c.type != m_matrix.type)
        Fail(ErrorKind::Internal, "PackedOperand: operands are of different types");
    if (a.Columns() != b.rows || c.rows != a.Rows() || c.columns != b.columns)
        Fail(ErrorKind::Internal, "PackedOperand: the product of [", a.Rows(), " x ", a.Columns(), "] and [", b.rows,
             " x ", b.columns, "] does not fit [", c.rows, " x ", c.columns, "]");
}

void PackedOperand::Multiply(const MatrixView& b, const MatrixView& c, double alpha, double beta) const
{
    if (!m_hasPanels)
        return Ops::Multiply(m_matrix, m_transposed ? Ops::Transpose::Yes : Ops::Transpose::No, b, Ops::Transpose::No,
                             c, alpha, beta);
    Check(b, c);
    if (c.Elements() > 0)
        m_matrix.device->GetKernels().MultiplyPacked({m_matrix, m_transposed}, m_panels, b, c, alpha, beta);
}

} // namespace cntk
