// Products of matrices beyond Ops::Multiply: lists of products that are computed together, with updates of parameters,
// and products whose left operand is packed in advance.
#pragma once

#include "Math/Matrix.h"
#include "Math/Operations.h"

#include <cstddef>
#include <span>

namespace cntk
{

// The update of a parameter whose gradient is a product, applied block by block while the gradient is in the cache. The
// bits are those of Ops::MomentumUpdate on all columns. Parameter, smoothed gradient and gradient are contiguous and
// have the same shape.
struct ProductUpdate
{
    MatrixView parameter = {}; // no data: no update
    MatrixView smoothed = {};
    double rate = 0;
    double momentum = 0;
    bool keepsGradient = true; // false: the gradient's memory has no defined content afterwards
};

// C = beta*C + alpha * op(A) * op(B)
struct Product
{
    MatrixView a;
    Ops::Transpose transposeA = Ops::Transpose::No;
    MatrixView b;
    Ops::Transpose transposeB = Ops::Transpose::No;
    MatrixView c;
    double alpha = 1;
    double beta = 0;
    // No product of the list reads what it changes.
    ProductUpdate update = {};
};

// The inner products of all columns of a and all columns of b, which have the same number of rows.
struct ColumnProducts
{
    MatrixView a;
    MatrixView b;
};

namespace Ops
{

// Does not apply the update.
void Multiply(const Product& product);
// No product reads or writes what another one writes. The bits are those of one Multiply for each.
void MultiplyAll(std::span<const Product> products);
// True if MultiplyAll can apply an update after a product with this result and `steps` as its inner dimension. Other
// products must have no update: the device cannot apply it, or it would not be faster.
bool CanUpdateBehind(const MatrixView& gradient, size_t steps);
// c(i, j) = the sum over all terms, at least one, of column i of a times column j of b. The bits do not depend on the
// number of threads; they may differ from those of one Multiply for each term.
void SumColumnProducts(std::span<const ColumnProducts> terms, const MatrixView& c);

} // namespace Ops

// A matrix that is the left operand of many products, such as a weight in a recurrent loop. The backend rearranges it
// once into the panels that its kernels read; backends without panels multiply the matrix itself. Move only.
class PackedOperand
{
public:
    // Puts the panels into shared memory, `offset` bytes (a multiple of 64) after its beginning, instead of the
    // operand's own. Operands may share memory if none of them is packed before the last product of another.
    void UseMemory(Buffer& memory, size_t offset);
    // Allocates memory for the panels of op(a) and returns its size. `parts` is a stack of matrices with the same
    // number of columns. 0: the backend keeps no panels, and there must be one part.
    size_t Reserve(std::span<const MatrixView> parts, Ops::Transpose transpose);
    // Packs the current values. The operand refers to the parts until the next Pack.
    void Pack(std::span<const MatrixView> parts, Ops::Transpose transpose);
    void Pack(const MatrixView& a, Ops::Transpose transpose) { Pack({&a, 1}, transpose); }
    // Packs without transposing, then computes c = a * b.
    void PackAndMultiply(std::span<const MatrixView> parts, const MatrixView& b, const MatrixView& c);

    // c = beta*c + alpha * op(a) * b
    void Multiply(const MatrixView& b, const MatrixView& c, double alpha = 1, double beta = 0) const;

    size_t Bytes() const { return m_own.Bytes(); } // of its own memory

private:
    // Returns false if the device keeps no panels.
    bool TakePanels(std::span<const MatrixView> parts, Ops::Transpose transpose);
    void Check(const MatrixView& b, const MatrixView& c) const;

    MatrixView m_matrix;
    bool m_transposed = false;
    bool m_hasPanels = false;
    Buffer m_own;
    Buffer* m_shared = nullptr;
    size_t m_offset = 0; // in the shared memory
    void* m_panels = nullptr;
};

} // namespace cntk
