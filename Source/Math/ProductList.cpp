// Checks of arguments, then one call of the backend; what backends do that take products one by one.
#include "Math/ProductList.h"

#include "Common/Error.h"
#include "Math/Kernels.h"

namespace cntk
{

void Kernels::MultiplyAll(std::span<const Product> products)
{
    for (const Product& product : products)
        Ops::Multiply(product);
}

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
    }
    first.c.device->GetKernels().MultiplyAll(products);
}

} // namespace cntk
