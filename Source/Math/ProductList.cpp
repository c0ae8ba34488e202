// Checks of arguments, then one call of the backend; what backends do that take products one by one.
#include "Math/ProductList.h"

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
    if (update.smoothed.data == nullptr && update.momentum != 0)
        Fail(ErrorKind::Internal, "MultiplyAll: an update with momentum needs a smoothed gradient");
    for (const MatrixView* view : {&update.parameter, &update.smoothed})
        if (view->data != nullptr &&
            (view->device != product.c.device || view->type != product.c.type || view->rows != product.c.rows ||
             view->columns != product.c.columns || !view->IsContiguous()))
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

} // namespace cntk
