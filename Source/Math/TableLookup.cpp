// Checks of arguments, then one call of the backend.
#include "Math/TableLookup.h"

#include "Common/Error.h"
#include "Math/Kernels.h"

namespace cntk::Ops
{

namespace
{

Kernels& CheckedKernels(const char* operation, const MatrixView& table, const SparseView& s, const MatrixView& words)
{
    if (!table.device || s.device != table.device || words.device != table.device)
        Fail(ErrorKind::Internal, operation, ": operands are on different devices");
    if (s.type != table.type || words.type != table.type)
        Fail(ErrorKind::Internal, operation, ": operands are of different types");
    if (table.columns == 0 || s.rows % table.columns != 0)
        Fail(ErrorKind::Internal, operation, ": samples of ", s.rows, " rows are no words of a table of ",
             table.columns, " columns");
    const size_t count = s.rows / table.columns;
    if (words.rows != count * table.rows || words.columns != s.columns)
        Fail(ErrorKind::Internal, operation, ": ", s.columns, " samples of ", count, " words of ", table.rows,
             " rows do not fit [", words.rows, " x ", words.columns, "]");
    return table.device->GetKernels();
}

} // namespace

void LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output)
{
    Kernels& kernels = CheckedKernels("LookUpColumns", table, s, output);
    if (output.Elements() > 0)
        kernels.LookUpColumns(table, s, output);
}

void LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                           TouchedColumns& touched)
{
    Kernels& kernels = CheckedKernels("LookUpColumnsGradient", tableGradient, s, gradient);
    touched.isRecorded = true;
    if (gradient.Elements() > 0)
        kernels.LookUpColumnsGradient(gradient, s, tableGradient, touched);
}

} // namespace cntk::Ops
