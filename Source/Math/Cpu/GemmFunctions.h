// The functions of the project's own matrix product.
#pragma once

#include <cstddef>

namespace cntk
{

// What is done to each block of C when no step is added to it any more, while it is in the cache. Others derive from
// it.
template <class T>
struct GemmEpilogue
{
    // firstRow, firstColumn: of the block in the whole product's C.
    void (*apply)(const GemmEpilogue& self, T* block, size_t stride, size_t firstRow, size_t firstColumn, size_t rows,
                  size_t columns) = nullptr;
    // Matrices of C's size that it reads at the block's place, which is then asked for ahead: both or none (null).
    const T* beside[2] = {};
    size_t besideStride = 0;
    bool replacesC = false; // with such matrices: nobody else reads C, which may be written elsewhere
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

// Of the task's C some rows and columns.
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

// Whether b is packed for one as for the other.
template <class T>
bool HaveOneB(const GemmTask<T>& x, const GemmTask<T>& y)
{
    return x.b == y.b && x.ldb == y.ldb && x.transB == y.transB && x.n == y.n && x.k == y.k && x.m == y.m &&
           x.transA == y.transA;
}

// The functions of one instruction set for one element type.
template <class T>
struct GemmFunctions
{
    // Whole products on the calling thread, which have the same op(b), m and transA, with their epilogues.
    void (*multiply)(const GemmTask<T>* tasks, size_t count, T* scratchA, T* scratchB);
    // Parts of a product that threads share: panels of some rows of op(a) or columns of op(b) for the steps
    // [step, step+depth), and a tile of C of such panels, behind the last steps with its epilogue; packedB may be null
    // where canTilesReadB.
    void (*packA)(const GemmTask<T>& task, size_t row, size_t rows, size_t step, size_t depth, T* to);
    // Of an a that is not transposed, and on the way those steps of the rows of c, which has one column; or of a panel
    // that is there already. b is not transposed, and there is no epilogue.
    void (*packAndMultiply)(const GemmTask<T>& task, size_t row, size_t rows, size_t step, size_t depth, T* to);
    void (*multiplyPanel)(const GemmTask<T>& task, size_t row, size_t rows, size_t step, size_t depth, const T* panel);
    void (*packB)(const GemmTask<T>& task, size_t column, size_t columns, size_t step, size_t depth, T* to);
    void (*tile)(const GemmTask<T>& task, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                 size_t depth, const T* packedA, const T* packedB);
    // The same for columns that are read by the calling thread alone, whose scratchB holds what becomes of them.
    void (*multiplyColumns)(const GemmTask<T>& task, size_t row, size_t rows, size_t column, size_t columns,
                            size_t step, size_t depth, const T* packedA, T* scratchB);
    size_t (*depthEach)(size_t k);                  // steps that are packed at a time, and whose sums are added up
    bool (*canTilesReadB)(const GemmTask<T>& task); // as it lies
    bool keepsRows;  // whether scratchA stays in a second-level cache beside what passes by
    size_t tileRows; // of the register tile; panels of A and B have so many rows and columns
    size_t tileColumns;
    size_t depth;    // most steps of a panel
    size_t scratchA; // elements that multiply needs
    size_t scratchB;
};

} // namespace cntk
