// The sum replaces the column next to those of the other steps. Its operand is any of the first columns.
#include "ComputationNetwork/Loops/LoopBeginnings.h"

#include "Math/Operations.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Counts the steps from the first one on, in the delay's direction, in which all sequences begin.
size_t StepsOfBeginning(const DelayNode& delay, size_t steps)
{
    size_t count = 0;
    while (count < steps &&
           delay.SourceOfStep(delay.Direction() > 0 ? count : steps - 1 - count) == DelayNode::c_initial)
        count++;
    return count;
}

} // namespace

void LoopBeginnings::Sum(const DelayNode& operand, const MatrixView& gradient, std::span<Product> products)
{
    const MBLayout& layout = *operand.GetMBLayout();
    const size_t columns = gradient.columns;
    const size_t equal = StepsOfBeginning(operand, layout.TimeSteps()) * layout.ParallelSequences();
    if (equal < 2 || columns - equal + 1 < c_leastSteps)
        return;
    const auto reads = [&](const Product& product)
    { return product.a.IsWithin(gradient) || product.b.IsWithin(gradient); };
    const auto isOfWeight = [&](const Product& product)
    {
        return product.transposeA == Ops::Transpose::No && product.transposeB == Ops::Transpose::Yes &&
               product.a.columns == columns && product.b.data == operand.Value().data && product.b.columns == columns;
    };
    if (std::none_of(products.begin(), products.end(), reads) ||
        !std::all_of(products.begin(), products.end(),
                     [&](const Product& product) { return !reads(product) || isOfWeight(product); }))
        return;
    const bool isForward = operand.Direction() > 0;
    const size_t first = isForward ? 0 : columns - equal, place = isForward ? equal - 1 : columns - equal;
    if (m_memory.GetDevice() == nullptr)
        m_memory = Buffer(operand.GetDevice());
    m_memory.Reserve(gradient.rows * SizeOf(gradient.type));
    m_place = gradient.Columns(place, 1);
    m_saved = m_place;
    m_saved.data = m_memory.Data();
    Ops::Copy(m_place, m_saved);
    for (size_t column = first; column < first + equal; column++)
        if (column != place)
            Ops::Elementwise(ElementwiseOp::Copy, gradient.Columns(column, 1), m_place, 1, 1);
    for (Product& product : products)
        if (reads(product))
        {
            const size_t from = isForward ? place : 0, count = columns - equal + 1;
            product.a = product.a.Columns(from, count);
            product.b = product.b.Columns(from, count);
        }
}

void LoopBeginnings::Restore()
{
    if (m_place.data != nullptr)
        Ops::Copy(m_saved, m_place);
    m_place = m_saved = {};
}

} // namespace cntk
