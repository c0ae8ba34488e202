#include "SGD/Parallel/GradientExchange.h"

#include "Math/Operations.h"

#include <algorithm>
#include <chrono>
#include <type_traits>

namespace cntk
{

namespace
{

// Adds the time until it goes.
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
    : m_workers(workers), m_numbers(workers), m_isQuantized(quantizer.has_value())
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
    if (quantizer)
        std::visit([&](auto& typed) { Quantize(typed, *quantizer); }, m_typed);
}

GradientExchange::~GradientExchange()
{
    if (m_sum.valid())
        m_sum.wait();
}

template <class ElemType>
void GradientExchange::Quantize(Typed<ElemType>& typed, const QuantizerSettings& settings)
{
    std::vector<typename QuantizedSum<ElemType>::Shape> shapes;
    for (const Parameter& parameter : m_parameters)
        shapes.push_back({parameter.node->Values().Rows(), parameter.node->Values().Columns()});
    typed.quantized.emplace(m_background ? *m_background : m_workers, settings, std::move(shapes));
}

void GradientExchange::Share(std::span<double> numbers, const std::optional<Error>& error)
{
    const Stopwatch watch(m_seconds);
    m_numbers.Sum(numbers, error);
}

void GradientExchange::NoteOwn(bool hasOwn)
{
    std::fill(m_own.begin(), m_own.end(), std::byte{0});
    for (size_t place = 0; hasOwn && place < m_parameters.size(); ++place)
    {
        const Parameter& parameter = m_parameters[place];
        const TouchedColumns& touched = parameter.node->GradientColumns();
        m_own[place] = std::byte(touched.all ? Has::All : touched.standsForDense ? Has::ColumnsForDense : Has::Columns);
        for (const int32_t column : touched.columns)
            m_own[parameter.maskAt + size_t(column) / 8] |= std::byte(1 << column % 8);
    }
}

bool GradientExchange::OwnHas(size_t place, size_t column) const
{
    return Has(m_own[place]) == Has::All ||
           (m_own[m_parameters[place].maskAt + column / 8] >> column % 8 & std::byte{1}) != std::byte{0};
}

size_t GradientExchange::ElementsSent(const Parameter& parameter, const Union& sent)
{
    const Matrix& values = parameter.node->Values();
    return values.Rows() * (sent.has == Has::All ? values.Columns() : sent.columns.size());
}

void GradientExchange::NoteUnion()
{
    if (m_isQuantized) // what was lost earlier is in columns that this minibatch need not have touched
    {
        for (Parameter& parameter : m_parameters)
            parameter.now.has = Has::All;
        return;
    }
    m_workers.Gather(m_own, m_all);
    for (size_t place = 0; place < m_parameters.size(); ++place)
    {
        Parameter& parameter = m_parameters[place];
        parameter.now.has = Has::Nothing;
        parameter.now.columns.clear();
        const size_t columns = parameter.node->Values().Columns();
        for (size_t begin = 0; begin < m_all.size(); begin += m_own.size())
            parameter.now.has = std::max(parameter.now.has, Has(m_all[begin + place]));
        if (parameter.now.has == Has::All)
            continue;
        for (size_t byte = 0; byte < (columns + 7) / 8; ++byte)
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

// visit(first column, count, elements before them in what is sent) for columns that lie side by side.
template <class Visit>
void GradientExchange::VisitRuns(const Parameter& parameter, const Union& sent, const Visit& visit)
{
    const Matrix& values = parameter.node->Values();
    if (sent.has == Has::All)
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

// What is sent of all parameters, one behind the other.
template <class ElemType>
void GradientExchange::Pack(ElemType* target) const
{
    for (size_t place = 0; place < m_parameters.size(); ++place)
    {
        const Parameter& parameter = m_parameters[place];
        const MatrixView gradient = parameter.node->Gradient();
        VisitRuns(parameter, parameter.now,
                  [&](size_t first, size_t count, size_t before)
                  {
                      const MatrixView columns = gradient.Columns(first, count);
                      ElemType* const run = target + before;
                      if (Has(m_own[place]) != Has::Nothing)
                          gradient.device->CopyToHost(run, columns.data, columns.Elements() * sizeof(ElemType));
                      for (size_t i = 0; i < count; ++i)
                          if (!OwnHas(place, first + i))
                              std::fill_n(run + i * gradient.rows, gradient.rows, ElemType(0));
                  });
        target += ElementsSent(parameter, parameter.now);
    }
}

template <class ElemType>
void GradientExchange::Unpack(const ElemType* source, Union Parameter::*sent) const
{
    for (const Parameter& parameter : m_parameters)
    {
        const MatrixView gradient = parameter.node->Gradient();
        VisitRuns(parameter, parameter.*sent,
                  [&](size_t first, size_t count, size_t before)
                  {
                      const MatrixView columns = gradient.Columns(first, count);
                      gradient.device->CopyFromHost(columns.data, source + before,
                                                    columns.Elements() * sizeof(ElemType));
                  });
        source += ElementsSent(parameter, parameter.*sent);
    }
}

// Into typed.values.
template <class ElemType>
std::span<ElemType> GradientExchange::PackAll(Typed<ElemType>& typed)
{
    size_t size = 0;
    for (const Parameter& parameter : m_parameters)
        size += ElementsSent(parameter, parameter.now);
    if (typed.values.size() < size)
        typed.values.resize(size);
    Pack(typed.values.data());
    return {typed.values.data(), size};
}

template <class ElemType>
void GradientExchange::SumAll(Workers& workers, Typed<ElemType>& typed, std::span<ElemType> values)
{
    if (typed.quantized)
        typed.quantized->Sum(values);
    else
        SumOverWorkers(workers, values, typed.scratch);
}

void GradientExchange::MarkTouched(Union Parameter::*sent)
{
    for (const Parameter& parameter : m_parameters)
    {
        const Union& sums = parameter.*sent;
        TouchedColumns& touched = parameter.node->GradientColumns();
        touched.all = sums.has == Has::All;
        touched.standsForDense = sums.has == Has::ColumnsForDense;
        touched.columns.assign(sums.columns.begin(), sums.columns.end());
    }
}

size_t GradientExchange::SumGradients(bool hasOwn, size_t columns)
{
    const Stopwatch watch(m_seconds);
    NoteOwn(hasOwn);
    NoteUnion();
    // What is left of the last minibatch is not in the columns that count.
    if (!hasOwn)
        for (const Parameter& parameter : m_parameters)
            Ops::Fill(parameter.node->Gradient(), 0);
    if (m_background)
        return std::visit([&](auto& typed) { return SumBuffered(typed, columns); }, m_typed);
    std::visit(
        [&](auto& typed)
        {
            const auto values = PackAll(typed);
            SumAll(m_workers, typed, values);
            Unpack(values.data(), &Parameter::now);
        },
        m_typed);
    MarkTouched(&Parameter::now);
    return columns;
}

// The own gradients are on their way when the sums of the minibatch before take their place.
template <class ElemType>
size_t GradientExchange::SumBuffered(Typed<ElemType>& typed, size_t columns)
{
    const size_t size = PackAll(typed).size();
    const size_t before = TakeBuffered();
    std::swap(typed.values, typed.buffered);
    for (Parameter& parameter : m_parameters)
        std::swap(parameter.now, parameter.before);
    m_bufferedColumns = columns;
    m_sum = std::async(std::launch::async,
                       [this, &typed, size] { SumAll(*m_background, typed, std::span(typed.buffered.data(), size)); });
    return before;
}

void GradientExchange::WaitForBuffered()
{
    if (m_sum.valid())
        m_sum.get();
}

// Into the gradients, where there may be others.
size_t GradientExchange::TakeBuffered()
{
    WaitForBuffered();
    if (m_bufferedColumns == 0)
        return 0;
    for (const Parameter& parameter : m_parameters)
    {
        const TouchedColumns& touched = parameter.node->GradientColumns();
        if (touched.all && parameter.before.has != Has::All)
            Ops::Fill(parameter.node->Gradient(), 0);
        else if (!touched.all)
            Ops::ZeroColumns(parameter.node->Gradient(), touched.columns);
    }
    std::visit([&](auto& typed) { Unpack(typed.buffered.data(), &Parameter::before); }, m_typed);
    MarkTouched(&Parameter::before);
    return std::exchange(m_bufferedColumns, 0);
}

size_t GradientExchange::LastGradients()
{
    const Stopwatch watch(m_seconds);
    return TakeBuffered();
}

void GradientExchange::DelayCounts(std::vector<double>& counts)
{
    if (m_background)
        std::swap(counts, m_lateCounts);
}

void GradientExchange::BeginEpoch()
{
    m_lateCounts.clear();
    WaitForBuffered();
    m_bufferedColumns = 0; // of an epoch that was not brought to its end
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
