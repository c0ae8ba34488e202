#include "SGD/Parallel/GradientExchange.h"

#include "Common/StartThread.h"
#include "Math/Operations.h"

#include <algorithm>
#include <chrono>

namespace cntk
{

namespace
{

// Adds its lifetime to seconds.
class Stopwatch
{
public:
    explicit Stopwatch(double& seconds) : m_seconds(seconds) {}
    ~Stopwatch() { m_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - m_began).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double& m_seconds;
    std::chrono::steady_clock::time_point m_began = std::chrono::steady_clock::now();
};

} // namespace

GradientExchange::GradientExchange(Workers& workers,
                                   const std::vector<std::shared_ptr<LearnableParameterNode>>& parameters,
                                   const std::optional<QuantizerSettings>& quantizer, bool isBuffered)
    : m_workers(workers), m_isQuantized(quantizer.has_value())
{
    size_t size = parameters.size();
    for (const auto& node : parameters)
    {
        m_parameters.push_back({.node = node, .maskAt = size});
        size += (node->Values().Columns() + 7) / 8;
    }
    if (isBuffered)
        m_background = workers.Another();
    m_own.resize(size);
    m_all.resize(size * workers.Count());
    if (!parameters.empty() && parameters.front()->GetDataType() == DataType::Float64)
        m_typed.emplace<Typed<double>>();
    if (!quantizer)
        return;
    std::visit(
        [&]<class ElemType>(Typed<ElemType>& typed)
        {
            std::vector<typename QuantizedSum<ElemType>::Shape> shapes;
            for (const auto& node : parameters)
                shapes.push_back({node->Values().Rows(), node->Values().Columns()});
            typed.quantized.emplace(m_background ? *m_background : m_workers, *quantizer, std::move(shapes));
        },
        m_typed);
}

GradientExchange::~GradientExchange()
{
    if (m_sum.valid())
        m_sum.wait();
}

void GradientExchange::Share(std::span<double> numbers, const std::optional<Error>& error)
{
    const Stopwatch watch(m_seconds);
    SumCounts(m_workers, numbers, error);
}

void GradientExchange::DescribeOwn(bool hasOwn)
{
    std::fill(m_own.begin(), m_own.end(), std::byte{0});
    for (size_t i = 0; hasOwn && i < m_parameters.size(); ++i)
    {
        const Parameter& parameter = m_parameters[i];
        const TouchedColumns& touched = parameter.node->GradientColumns();
        m_own[i] = std::byte(touched.all              ? Coverage::All
                             : touched.standsForDense ? Coverage::ColumnsForDense
                                                      : Coverage::Columns);
        for (const int32_t column : touched.columns)
            m_own[parameter.maskAt + size_t(column) / 8] |= std::byte(1 << column % 8);
    }
}

bool GradientExchange::OwnHas(size_t index, size_t column) const
{
    return Coverage(m_own[index]) == Coverage::All ||
           (m_own[m_parameters[index].maskAt + column / 8] >> column % 8 & std::byte{1}) != std::byte{0};
}

size_t GradientExchange::ElementsSent(const Parameter& parameter, const Union& sent)
{
    const Matrix& values = parameter.node->Values();
    return values.Rows() * (sent.coverage == Coverage::All ? values.Columns() : sent.columns.size());
}

// Quantised gradients are always dense: the quantisation errors of earlier minibatches are in other columns.
void GradientExchange::FindUnions()
{
    if (m_isQuantized)
    {
        for (Parameter& parameter : m_parameters)
            parameter.now.coverage = Coverage::All;
        return;
    }
    m_workers.Gather(m_own, m_all);
    for (size_t i = 0; i < m_parameters.size(); ++i)
    {
        Parameter& parameter = m_parameters[i];
        parameter.now.coverage = Coverage::Nothing;
        parameter.now.columns.clear();
        for (size_t begin = 0; begin < m_all.size(); begin += m_own.size())
            parameter.now.coverage = std::max(parameter.now.coverage, Coverage(m_all[begin + i]));
        if (parameter.now.coverage == Coverage::All)
            continue;
        for (size_t byte = 0; byte < (parameter.node->Values().Columns() + 7) / 8; ++byte)
        {
            std::byte mask{0};
            for (size_t begin = 0; begin < m_all.size(); begin += m_own.size())
                mask |= m_all[begin + parameter.maskAt + byte];
            for (int bit = 0; mask != std::byte{0} && bit < 8; ++bit)
                if ((mask >> bit & std::byte{1}) != std::byte{0})
                    parameter.now.columns.push_back(int32_t(byte * 8) + bit);
        }
    }
}

// Calls visit(first column, count, packed elements before them) for each run of consecutive columns that is sent.
template <class Visit>
void GradientExchange::VisitRuns(const Parameter& parameter, const Union& sent, const Visit& visit)
{
    const Matrix& values = parameter.node->Values();
    if (sent.coverage == Coverage::All)
        return visit(0, values.Columns(), 0);
    const std::vector<int32_t>& columns = sent.columns;
    for (size_t begin = 0; begin < columns.size();)
    {
        size_t end = begin + 1;
        while (end < columns.size() && columns[end] == columns[end - 1] + 1)
            ++end;
        visit(size_t(columns[begin]), end - begin, begin * values.Rows());
        begin = end;
    }
}

// Packs the gradients of all parameters, one after another, into typed.values.
template <class ElemType>
std::span<ElemType> GradientExchange::Pack(Typed<ElemType>& typed) const
{
    size_t size = 0;
    for (const Parameter& parameter : m_parameters)
        size += ElementsSent(parameter, parameter.now);
    if (typed.values.size() < size)
        typed.values.resize(size);
    ElemType* target = typed.values.data();
    for (size_t index = 0; index < m_parameters.size(); ++index)
    {
        const Parameter& parameter = m_parameters[index];
        const MatrixView gradient = parameter.node->Gradient();
        VisitRuns(parameter, parameter.now,
                  [&](size_t first, size_t count, size_t before)
                  {
                      const MatrixView columns = gradient.Columns(first, count);
                      ElemType* const run = target + before;
                      if (Coverage(m_own[index]) != Coverage::Nothing)
                          gradient.device->CopyToHost(run, columns.data, columns.Elements() * sizeof(ElemType));
                      for (size_t i = 0; i < count; ++i)
                          if (!OwnHas(index, first + i))
                              std::fill_n(run + i * gradient.rows, gradient.rows, ElemType(0));
                  });
        target += ElementsSent(parameter, parameter.now);
    }
    return {typed.values.data(), size};
}

// Copies packed sums into the gradients and marks their touched columns.
template <class ElemType>
void GradientExchange::Unpack(const ElemType* source, Union Parameter::*sent) const
{
    for (const Parameter& parameter : m_parameters)
    {
        const MatrixView gradient = parameter.node->Gradient();
        const Union& sums = parameter.*sent;
        VisitRuns(parameter, sums,
                  [&](size_t first, size_t count, size_t before)
                  {
                      const MatrixView columns = gradient.Columns(first, count);
                      gradient.device->CopyFromHost(columns.data, source + before,
                                                    columns.Elements() * sizeof(ElemType));
                  });
        source += ElementsSent(parameter, sums);
        TouchedColumns& touched = parameter.node->GradientColumns();
        touched.all = sums.coverage == Coverage::All;
        touched.standsForDense = sums.coverage == Coverage::ColumnsForDense;
        touched.columns.assign(sums.columns.begin(), sums.columns.end());
    }
}

template <class ElemType>
void GradientExchange::Sum(Workers& workers, Typed<ElemType>& typed, std::span<ElemType> values)
{
    if (typed.quantized)
        typed.quantized->Sum(values);
    else
        SumOverWorkers(workers, values, typed.scratch);
}

size_t GradientExchange::SumGradients(bool hasOwn, size_t columns)
{
    const Stopwatch watch(m_seconds);
    DescribeOwn(hasOwn);
    FindUnions();
    // Clears the gradients of the previous minibatch. Only the touched columns are written below.
    if (!hasOwn)
        for (const Parameter& parameter : m_parameters)
            Ops::Fill(parameter.node->Gradient(), 0);
    if (m_background)
        return std::visit([&](auto& typed) { return SumBuffered(typed, columns); }, m_typed);
    std::visit(
        [&](auto& typed)
        {
            const auto values = Pack(typed);
            Sum(m_workers, typed, values);
            Unpack(values.data(), &Parameter::now);
        },
        m_typed);
    return columns;
}

// Packs this minibatch's gradients, replaces them by the sums of the previous minibatch, and starts the exchange.
template <class ElemType>
size_t GradientExchange::SumBuffered(Typed<ElemType>& typed, size_t columns)
{
    const size_t size = Pack(typed).size();
    const size_t before = TakePending();
    std::swap(typed.values, typed.pending);
    for (Parameter& parameter : m_parameters)
        std::swap(parameter.now, parameter.pending);
    m_pendingColumns = columns;
    m_sum = StartTask([this, &typed, size] { Sum(*m_background, typed, std::span(typed.pending.data(), size)); });
    return before;
}

void GradientExchange::WaitForPending()
{
    if (m_sum.valid())
        m_sum.get();
}

// Writes the pending sums over the gradients.
size_t GradientExchange::TakePending()
{
    WaitForPending();
    if (m_pendingColumns == 0)
        return 0;
    for (const Parameter& parameter : m_parameters)
    {
        const TouchedColumns& touched = parameter.node->GradientColumns();
        if (touched.all && parameter.pending.coverage != Coverage::All)
            Ops::Fill(parameter.node->Gradient(), 0);
        else if (!touched.all)
            Ops::ZeroColumns(parameter.node->Gradient(), touched.columns);
    }
    std::visit([&](auto& typed) { Unpack(typed.pending.data(), &Parameter::pending); }, m_typed);
    return std::exchange(m_pendingColumns, 0);
}

size_t GradientExchange::LastGradients()
{
    const Stopwatch watch(m_seconds);
    return TakePending();
}

void GradientExchange::DelayCounts(std::vector<double>& counts)
{
    if (m_background)
        std::swap(counts, m_lateCounts);
}

void GradientExchange::BeginEpoch()
{
    m_lateCounts.clear();
    WaitForPending();
    m_pendingColumns = 0; // of an epoch that was interrupted
    std::visit(
        [](auto& typed)
        {
            if (typed.quantized)
                typed.quantized->Reset();
        },
        m_typed);
}

double GradientExchange::TakeSeconds()
{
    return std::exchange(m_seconds, 0);
}

} // namespace cntk
