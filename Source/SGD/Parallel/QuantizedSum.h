// Matrices added up over workers in few bits each (engine sheet, section 16: 1-bit SGD): a worker quantises its own,
// the owner of a stripe of columns adds up what all have sent of it and quantises the sum. What both lose is added next
// time.
#pragma once

#include "Common/Workers.h"
#include "SGD/Parallel/GradientQuantizer.h"
#include "SGD/Parallel/StripeSum.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

template <class ElemType>
class QuantizedSum
{
public:
    struct Shape
    {
        size_t rows = 0;
        size_t columns = 0;
    };

    // shapes: the same everywhere. workers must outlive this.
    QuantizedSum(Workers& workers, QuantizerSettings settings, std::vector<Shape> shapes);

    // Forgets what was lost so far.
    void Reset();
    // Collective. values: all matrices, column-major, one behind the other; becomes the sums, the same in all workers.
    void Sum(std::span<ElemType> values);

private:
    // visit(place of the first element, rows, columns) of each matrix's stripe of that worker.
    template <class Visit>
    void VisitStripes(size_t rank, const Visit& visit) const;
    size_t BytesOfStripes(size_t rank) const;
    void QuantizeFor(size_t rank, std::span<ElemType> values);
    void SumOwn(std::span<ElemType> values);

    Workers& m_workers;
    GradientQuantizer<ElemType> m_quantizer;
    std::vector<Shape> m_shapes;
    std::vector<ElemType> m_lost;    // of own values
    std::vector<ElemType> m_sumLost; // of own stripes' sums, where they lie in values
    std::vector<std::vector<std::byte>> m_sent, m_received;
    std::vector<std::byte> m_sum; // own stripes
};

} // namespace cntk
