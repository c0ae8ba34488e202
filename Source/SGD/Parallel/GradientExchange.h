// DataParallelSGD (engine sheet, section 16): after each minibatch the workers add up their gradients and what they
// have counted, so that all make the same update. Sums are made in the order of ranks: they do not depend on how
// messages travel, and all workers have the same bits.
#pragma once

#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "SGD/Parallel/QuantizedSum.h"
#include "SGD/Parallel/SharedNumbers.h"
#include "SGD/Parallel/StripeSum.h"

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
    // parameters: those that are trained, in the same order everywhere. quantizer: of gradients that travel in fewer
    // bits than they have; all of them then count as dense. isBuffered: they travel while the next minibatch is
    // computed. workers must outlive this.
    GradientExchange(Workers& workers, const std::vector<std::shared_ptr<LearnableParameterNode>>& parameters,
                     const std::optional<QuantizerSettings>& quantizer = {}, bool isBuffered = false);
    ~GradientExchange();

    // Both are collective.
    // numbers becomes the sums of all workers'. Where one of them has an error instead, all fail with it.
    void Share(std::span<double> numbers, const std::optional<Error>& error = {});
    // The parameters' gradients, which must have memory, become the sums over all workers. Columns that none has
    // touched stay untouched. hasOwn: this worker has a gradient of the minibatch, else what is there is not read.
    // columns: of the minibatch. Returns of how many columns the sums are: with buffers they are those of the minibatch
    // before, 0 (and gradients of no use) behind the first one.
    size_t SumGradients(bool hasOwn, size_t columns);
    // With buffers: the sums of the last minibatch, likewise; 0: there are none.
    size_t LastGradients();

    // With buffers, the counts of a minibatch are late as its gradients are, same as in CNTK v1.1: takes the counts of
    // this minibatch (empty: there is none) and gives those of the previous one (empty: there was none). Without
    // buffers it changes nothing.
    void DelayCounts(std::vector<double>& counts);
    // Counts that DelayCounts has taken and not given yet.
    const std::vector<double>& LateCounts() const { return m_lateCounts; }

    // Before an epoch: what quantisers have lost is forgotten.
    void BeginEpoch();

    Workers& GetWorkers() { return m_workers; }
    // Spent in here, waiting for others included, since the last call.
    double TakeSeconds();

private:
    // What a worker has of a parameter's gradient; of several the largest counts.
    enum class Has : uint8_t
    {
        Nothing,
        Columns,         // of a sparse gradient
        ColumnsForDense, // of one that stands for a dense one
        All
    };
    // Of all workers together.
    struct Union
    {
        Has has = Has::Nothing;
        std::vector<int32_t> columns = {}; // where it is not All
    };
    struct Parameter
    {
        std::shared_ptr<LearnableParameterNode> node;
        size_t maskAt = 0; // a bit for each column
        Union now = {};
        Union before = {}; // of the minibatch whose sums are on their way
    };
    void NoteOwn(bool hasOwn);
    void NoteUnion();
    bool OwnHas(size_t place, size_t column) const;
    // Sums of one type of elements.
    template <class ElemType>
    struct Typed
    {
        std::vector<ElemType> values;   // what is sent
        std::vector<ElemType> buffered; // on its way
        std::vector<ElemType> scratch;
        std::optional<QuantizedSum<ElemType>> quantized;
    };
    template <class ElemType>
    void Quantize(Typed<ElemType>& typed, const QuantizerSettings& settings);
    static size_t ElementsSent(const Parameter& parameter, const Union& sent);
    template <class ElemType>
    std::span<ElemType> PackAll(Typed<ElemType>& typed);
    template <class ElemType>
    static void SumAll(Workers& workers, Typed<ElemType>& typed, std::span<ElemType> values);
    template <class ElemType>
    size_t SumBuffered(Typed<ElemType>& typed, size_t columns);
    size_t TakeBuffered();
    void WaitForBuffered();
    void MarkTouched(Union Parameter::*sent);
    template <class ElemType>
    void Pack(ElemType* target) const;
    template <class ElemType>
    void Unpack(const ElemType* source, Union Parameter::*sent) const;
    template <class Visit>
    static void VisitRuns(const Parameter& parameter, const Union& sent, const Visit& visit);

    Workers& m_workers;
    std::vector<Parameter> m_parameters;
    // A worker's message: what it has of each parameter, then the masks.
    std::vector<std::byte> m_own, m_all;
    SharedNumbers m_numbers;
    std::variant<Typed<float>, Typed<double>> m_typed;
    bool m_isQuantized = false;
    std::unique_ptr<Workers> m_background; // with buffers; else null
    std::future<void> m_sum;               // of what is on its way
    size_t m_bufferedColumns = 0;          // of it; 0: nothing is
    std::vector<double> m_lateCounts;
    double m_seconds = 0;
};

} // namespace cntk
