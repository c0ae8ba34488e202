// Sums matrices over workers, in full precision or with few bits per element (1-bit SGD, Seide et al. 2014). Each
// worker sums its stripe of the elements, in the order of ranks, and sends the sum to all others.
//
// Quantisation is column by column. A column becomes its range [lower, upper], two elements, and a code of b bits per
// element. Code q stands for the middle of part q of 2^b equal parts of the range,
//     lower + (q + 0.5) * (upper - lower) / 2^b,
// or for lower if the range is narrower than 1e-36. Codes are packed into words of the element's size: with w words per
// column, word k holds the codes of rows k, k + w, k + 2w, ..., the first one in the lowest bits.
#pragma once

#include "Common/Workers.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// Part of `whole` items that belongs to a worker. The first workers get one item more if the division has a rest.
struct Stripe
{
    size_t first = 0;
    size_t count = 0;
};
Stripe StripeOf(size_t whole, size_t rank, size_t workers);

// Collective: replaces values, equally many in each worker, by their sums. scratch: memory that is reused.
template <class ElemType>
void SumOverWorkers(Workers& workers, std::span<ElemType> values, std::vector<ElemType>& scratch);

struct QuantizerSettings
{
    size_t bits = 1; // a power of two below the width of an element
    // For 1 bit. True: negative values become their mean, the other values become theirs. False: values below the
    // column's mean, and the others, become the mean -+ the mean absolute deviation.
    bool useZeroThreshold = true;
};

// Quantises gradients. Has no state, so several threads may use one object. Quantised columns follow each other, so
// that ranges of columns can be sent and dequantised separately.
template <class ElemType>
class GradientQuantizer
{
public:
    explicit GradientQuantizer(QuantizerSettings settings);

    // Bytes of so many quantised columns.
    size_t BytesOf(size_t rows, size_t columns) const;

    // Quantises values + residual (column-major) and leaves the quantisation error in residual. target: BytesOf(rows,
    // columns) bytes of any alignment. A column with NaN or infinite elements dequantises to NaN or infinite elements.
    void Quantize(std::span<const ElemType> values, std::span<ElemType> residual, size_t rows,
                  std::span<std::byte> target) const;

    // Writes the dequantised columns to target, or adds them.
    void Dequantize(std::span<const std::byte> source, size_t rows, std::span<ElemType> target, bool add) const;

private:
    QuantizerSettings m_settings;
};

// Sums matrices in few bits. A worker quantises its matrices, the owner of a stripe of columns sums and quantises the
// sum. Both add their quantisation errors to the values of the next call.
template <class ElemType>
class QuantizedSum
{
public:
    struct Shape
    {
        size_t rows = 0;
        size_t columns = 0;
    };

    // shapes: equal in all workers. workers must outlive this.
    QuantizedSum(Workers& workers, QuantizerSettings settings, std::vector<Shape> shapes);

    // Clears the quantisation errors.
    void Reset();
    // Collective. values: all matrices, column-major, one after another; replaced by the sums.
    void Sum(std::span<ElemType> values);

private:
    // Calls visit(index of the first element, rows, columns) for the worker's stripe of each matrix.
    template <class Visit>
    void VisitStripes(size_t rank, const Visit& visit) const;
    size_t BytesOfStripes(size_t rank) const;
    void QuantizeFor(size_t rank, std::span<ElemType> values);
    void SumOwn(std::span<ElemType> values);

    Workers& m_workers;
    GradientQuantizer<ElemType> m_quantizer;
    std::vector<Shape> m_shapes;
    std::vector<ElemType> m_residual;    // quantisation errors of this worker's values
    std::vector<ElemType> m_sumResidual; // those of the sums of its stripes
    std::vector<std::vector<std::byte>> m_sent, m_received;
    std::vector<std::byte> m_sum; // quantised sums of its stripes
};

} // namespace cntk
