// Checks arguments, then makes one call of the backend; and what backends without lists or panels do.
#include "Math/Products.h"

#include "Common/Error.h"
#include "Math/Kernels.h"

namespace cntk
{

bool Kernels::CanUpdateBehind(const MatrixView&, size_t) const
{
    return false;
}

void Kernels::MultiplyAll(std::span<const Product> products)
{
    for (const Product& product : products)
        Ops::Multiply(product);
}

void Kernels::SumColumnProducts(std::span<const ColumnProducts> terms, const MatrixView& c)
{
    for (const ColumnProducts& term : terms)
        Multiply(Operand{term.a, true}, Operand{term.b}, c, 1, &term == &terms.front() ? 0 : 1);
}

bool Ops::CanUpdateBehind(const MatrixView& gradient, size_t steps)
{
    return gradient.device->GetKernels().CanUpdateBehind(gradient, steps);
}

namespace
{

void CheckUpdate(const Product& product)
{
    const ProductUpdate& update = product.update;
    const size_t steps = Operand{product.a, product.transposeA == Ops::Transpose::Yes}.Columns();
    if (!Ops::CanUpdateBehind(product.c, steps))
        Fail(ErrorKind::Internal, "MultiplyAll: no update can be made behind a product [", product.c.rows, " x ",
             product.c.columns, "] of ", steps, " steps on this device");
    for (const MatrixView* view : {&update.parameter, &update.smoothed})
        if (view->data == nullptr || view->device != product.c.device || view->type != product.c.type ||
            view->rows != product.c.rows || view->columns != product.c.columns || !view->IsContiguous())
            Fail(ErrorKind::Internal, "MultiplyAll: an update of [", view->rows, " x ", view->columns,
                 "] does not fit a gradient of [", product.c.rows, " x ", product.c.columns,
                 "], is of another device or type, or is not in one piece");
}

} // namespace

void Ops::Multiply(const Product& product)
{
    Multiply(product.a, product.transposeA, product.b, product.transposeB, product.c, product.alpha, product.beta);
}

void Ops::MultiplyAll(std::span<const Product> products)
{
    if (products.empty())
        return;
    const Product& first = products.front();
    if (first.c.device == nullptr)
        Fail(ErrorKind::Internal, "MultiplyAll: the result is on no device");
    for (const Product& product : products)
    {
        const Operand a{product.a, product.transposeA == Transpose::Yes};
        const Operand b{product.b, product.transposeB == Transpose::Yes};
        for (const MatrixView* view : {&product.a, &product.b, &product.c})
            if (view->device != first.c.device || view->type != first.c.type)
                Fail(ErrorKind::Internal, "MultiplyAll: operands are on different devices or of different types");
        if (a.Columns() != b.Rows() || product.c.rows != a.Rows() || product.c.columns != b.Columns())
            Fail(ErrorKind::Internal, "MultiplyAll: the product of [", a.Rows(), " x ", a.Columns(), "] and [",
                 b.Rows(), " x ", b.Columns(), "] does not fit [", product.c.rows, " x ", product.c.columns, "]");
        if (product.update.parameter.data != nullptr)
            CheckUpdate(product);
    }
    first.c.device->GetKernels().MultiplyAll(products);
}

void Ops::SumColumnProducts(std::span<const ColumnProducts> terms, const MatrixView& c)
{
    if (c.device == nullptr || terms.empty())
        Fail(ErrorKind::Internal, "SumColumnProducts: there are ", terms.size(),
             " terms; there must be one, and a device that the result is on");
    for (const ColumnProducts& term : terms)
    {
        for (const MatrixView* view : {&term.a, &term.b})
            if (view->device != c.device || view->type != c.type)
                Fail(ErrorKind::Internal, "SumColumnProducts: operands are on different devices or of different types");
        if (term.a.rows != term.b.rows || term.a.columns != c.rows || term.b.columns != c.columns)
            Fail(ErrorKind::Internal, "SumColumnProducts: columns of [", term.a.rows, " x ", term.a.columns, "] and [",
                 term.b.rows, " x ", term.b.columns, "] do not fit [", c.rows, " x ", c.columns, "]");
    }
    if (c.Elements() > 0)
        c.device->GetKernels().SumColumnProducts(terms, c);
}

size_t Kernels::PackedBytes(const Operand&)
{
    return 0;
}

void Kernels::Pack(std::span<const MatrixView>, bool, void*)
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
    Pack(parts, Ops::Transpose::No);
    Multiply(b, c);
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
