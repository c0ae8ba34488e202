// The functions of the project's own matrix product.
#pragma once

#include <cstddef>

namespace cntk
{

// Changes each block of C after the last step has been added to it, while it is in the cache. Derived types hold what
// `apply` needs.
template <class T>
struct GemmEpilogue
{
    // firstRow, firstColumn: where the block begins in the whole product's C.
    void (*apply)(const GemmEpilogue& self, T* block, size_t stride, size_t firstRow, size_t firstColumn, size_t rows,
                  size_t columns) = nullptr;
    // Matrices of C's size that it reads at the block's place, which is prefetched. Both or none (null).
    const T* beside[2] = {};
    size_t besideStride = 0;
    bool replacesC = false; // with such matrices: nobody else reads C, which need not be written to memory
};

// c = beta*c + alpha*op(a)*op(b), column-major; c is m x n, op(a) m x k.
template <class T>
struct GemmTask
{
    bool transA = false;
    bool transB = false;
    size_t m = 0;
    size_t n = 0;
    size_t k = 0;
    T alpha = 1;
    const T* a = nullptr;
    size_t lda = 0;
    const T* b = nullptr;
    size_t ldb = 0;
    T beta = 0;
    T* c = nullptr;
    size_t ldc = 0;
    const GemmEpilogue<T>* epilogue = nullptr; // null: nothing
    size_t firstRow = 0;                       // of c in the whole product's, for the epilogue
    size_t firstColumn = 0;
};

// Returns the product that computes some rows and columns of the task's C.
template <class T>
GemmTask<T> PartOf(const GemmTask<T>& task, size_t row, size_t rows, size_t column, size_t columns)
{
    GemmTask<T> part = task;
    part.m = rows;
    part.n = columns;
    part.a += task.transA ? row * task.lda : row;
    part.b += task.transB ? column : column * task.ldb;
    part.c += row + column * task.ldc;
    part.firstRow += row;
    part.firstColumn += column;
    return part;
}

// True if b is packed once for both.
template <class T>
bool HaveOneB(const GemmTask<T>& x, const GemmTask<T>& y)
{
    return x.b == y.b && x.ldb == y.ldb && x.transB == y.transB && x.n == y.n && x.k == y.k && x.m == y.m &&
           x.transA == y.transA;
}

// The functions of one instruction set for one element type. A panel holds the rows of op(a), or the columns of op(b),
// of one register tile.
template <class T>
struct GemmFunctions
{
    // Computes whole products with their epilogues on the calling thread. They have the same op(b), m and transA.
    void (*multiply)(const GemmTask<T>* tasks, size_t count, T* scratchA, T* scratchB);
    // Pack some rows of op(a) or columns of op(b) for the steps [step, step + depth).
    void (*packA)(const GemmTask<T>& task, size_t row, size_t rows, size_t step, size_t depth, T* to);
    void (*packB)(const GemmTask<T>& task, size_t column, size_t columns, size_t step, size_t depth, T* to);
    // Multiplies at most tileRows packed rows by packed columns. The epilogue, if any, reads C alone.
    void (*multiplyPanel)(const GemmTask<T>& task, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                          size_t depth, const T* packedA, const T* packedB);
    // Multiplies packed rows by columns that the function packs into scratchB if it has to. After the last steps it
    // applies the epilogue.
    void (*multiplyColumns)(const GemmTask<T>& task, size_t row, size_t rows, size_t column, size_t columns,
                            size_t step, size_t depth, const T* packedA, T* scratchB);
    size_t (*depthEach)(size_t k);             // steps that are packed at a time and whose sums are added up
    bool (*canReadB)(const GemmTask<T>& task); // true if multiplyColumns does not pack b
    size_t tileRows;                           // of the register tile
    size_t tileColumns;
    size_t depth;    // largest number of steps of a panel
    size_t scratchA; // elements that multiply needs
    size_t scratchB;
};

} // namespace cntk
