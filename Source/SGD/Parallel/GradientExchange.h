// DataParallelSGD (engine sheet, section 16): after each minibatch the workers sum their gradients and counts, so that
// all make the same update. Sums are added in the order of ranks, so that all workers get the same bits.
#pragma once

#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "SGD/Parallel/WorkerAgreement.h"
#include "SGD/Parallel/WorkerSums.h"

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace cntk
{

class GradientExchange
{
public:
    // parameters: the trained ones, in the same order in all workers. quantizer: settings for quantised gradients,
    // which are dense. isBuffered: gradients are exchanged while the next minibatch is computed. workers must outlive
    // this.
    GradientExchange(Workers& workers, const std::vector<std::shared_ptr<LearnableParameterNode>>& parameters,
                     const std::optional<QuantizerSettings>& quantizer = {}, bool isBuffered = false);
    ~GradientExchange();

    // Collective: SumCounts of all workers.
    void Share(std::span<double> numbers, const std::optional<Error>& error = {});
    // Collective: replaces the parameters' gradients, which must have memory, by their sums over all workers. Columns
    // that no worker has touched remain untouched. hasOwn: this worker has a gradient of the minibatch; otherwise its
    // gradient memory is not read. columns: of the minibatch. Returns the columns that the sums cover: with buffering
    // those of the previous minibatch, or 0 (and undefined gradients) if there was none.
    size_t SumGradients(bool hasOwn, size_t columns);
    // With buffering: gets the sums of the last minibatch likewise. Returns 0 if there are none.
    size_t LastGradients();

    // With buffering, replaces the counts of this minibatch by those of the previous one, so that counts are as late as
    // gradients, same as in CNTK v1.1. Empty: there is no such minibatch. Without buffering, does nothing.
    void DelayCounts(std::vector<double>& counts);
    // Counts that DelayCounts has taken and not yet returned.
    const std::vector<double>& LateCounts() const { return m_lateCounts; }

    // Before an epoch: clears quantisation errors and buffers.
    void BeginEpoch();

    Workers& GetWorkers() { return m_workers; }
    // Returns the seconds spent in exchanges, waiting included, since the last call.
    double TakeSeconds();

private:
    // Columns of a gradient that may be nonzero. The union of several workers is the largest.
    enum class Coverage : uint8_t
    {
        Nothing,
        Columns,         // touched columns of a sparse gradient
        ColumnsForDense, // the same, if TouchedColumns::standsForDense
        All
    };
    struct Union
    {
        Coverage coverage = Coverage::Nothing;
        std::vector<int32_t> columns = {}; // column indices; empty for All
    };
    struct Parameter
    {
        std::shared_ptr<LearnableParameterNode> node;
        size_t maskAt = 0;  // offset of its column mask in messages
        Union now = {};     // of all workers
        Union pending = {}; // of the minibatch whose gradients are being exchanged
    };
    template <class ElemType>
    struct Typed
    {
        std::vector<ElemType> values;  // packed gradients
        std::vector<ElemType> pending; // packed gradients that are being exchanged
        std::vector<ElemType> scratch;
        std::optional<QuantizedSum<ElemType>> quantized;
    };
    void DescribeOwn(bool hasOwn);
    void FindUnions();
    bool OwnHas(size_t index, size_t column) const;
    static size_t ElementsSent(const Parameter& parameter, const Union& sent);
    template <class ElemType>
    std::span<ElemType> Pack(Typed<ElemType>& typed) const;
    template <class ElemType>
    void Unpack(const ElemType* source, Union Parameter::*sent) const;
    template <class Visit>
    static void VisitRuns(const Parameter& parameter, const Union& sent, const Visit& visit);
    template <class ElemType>
    static void Sum(Workers& workers, Typed<ElemType>& typed, std::span<ElemType> values);
    template <class ElemType>
    size_t SumBuffered(Typed<ElemType>& typed, size_t columns);
    size_t TakePending();
    void WaitForPending();

    Workers& m_workers;
    std::vector<Parameter> m_parameters;
    // Messages of this worker and of all: the coverage of each parameter, then a bit for each column.
    std::vector<std::byte> m_own, m_all;
    std::variant<Typed<float>, Typed<double>> m_typed;
    bool m_isQuantized = false;
    std::unique_ptr<Workers> m_background; // set if buffered
    std::future<void> m_sum;
    size_t m_pendingColumns = 0; // of the minibatch whose gradients are being exchanged; 0: none
    std::vector<double> m_lateCounts;
    double m_seconds = 0;
};

} // namespace cntk
