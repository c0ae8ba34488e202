// A matrix that is the left operand of many products (a weight that a recurrent loop multiplies at each time step): the
// backend rearranges it once into the panels that its kernels read.
#pragma once

#include "Math/Matrix.h"
#include "Math/Operations.h"

#include <cstddef>
#include <span>

namespace cntk
{

// Move only. Backends that keep no panels multiply the matrix as it lies.
class PackedOperand
{
public:
    // Memory of others for the panels, from so many bytes on (a multiple of 64); its own without. Operands whose panels
    // are not needed at the same time may share it: from Pack until the last product they are.
    void UseMemory(Buffer& memory, size_t offset);
    // Memory for the panels of op(a), so that Pack allocates nothing, and how many bytes they take. a: matrices of as
    // many columns each, one above another. 0: the backend keeps no panels, and a must be one matrix.
    size_t Reserve(std::span<const MatrixView> parts, Ops::Transpose transpose);
    // The panels are those of the values that a has now. a is referred to until the next Pack.
    void Pack(std::span<const MatrixView> parts, Ops::Transpose transpose);
    void Pack(const MatrixView& a, Ops::Transpose transpose) { Pack({&a, 1}, transpose); }
    // The same without transposing, and then c = a * b, which is made on the way where b has one column: to the last
    // bit what Multiply gives.
    void PackAndMultiply(std::span<const MatrixView> parts, const MatrixView& b, const MatrixView& c);

    // c = beta*c + alpha * op(a) * b; to the last bit what Ops::Multiply gives where the backend has one kernel for
    // both.
    void Multiply(const MatrixView& b, const MatrixView& c, double alpha = 1, double beta = 0) const;

    size_t Bytes() const { return m_own.Bytes(); } // of its own memory

private:
    // False: the device keeps none.
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
