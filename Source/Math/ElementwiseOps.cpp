// Arity and name of each formula, from the one list.
#include "Math/ElementwiseOps.h"

namespace cntk
{

namespace
{

struct Row
{
    const char* name;
    size_t arity;
};

constexpr Row c_rows[] = {
#define CNTK_TABLE_ROW(name, arity, expression) {#name, arity},
    CNTK_ELEMENTWISE_OPS(CNTK_TABLE_ROW)
#undef CNTK_TABLE_ROW
};

} // namespace

size_t ArityOf(ElementwiseOp op)
{
    return c_rows[size_t(op)].arity;
}

const char* NameOf(ElementwiseOp op)
{
    return c_rows[size_t(op)].name;
}

} // namespace cntk
