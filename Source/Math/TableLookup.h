// Columns of a table picked by sparse one-hot samples of one or several words: embeddings. What a product of the table
// with each word's block of rows would give, without cutting the sparse matrix up.
#pragma once

#include "Math/Matrix.h"

namespace cntk::Ops
{

// s has words * table.columns rows: for each sample the one-hot columns of so many words below one another.
// output(block w, j) = table * s(block w, j) with blocks of table.rows rows in the output.
void LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output);
// tableGradient += sum over words and samples of gradient(block w, j) * s(block w, j)'; adds the columns that were
// changed to touched.
void LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                           TouchedColumns& touched);

} // namespace cntk::Ops
