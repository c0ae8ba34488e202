// Copies columns as from a table, and sums them by a product with the sparse matrix of their places.
#include "ComputationNetwork/Evaluation/LookupStep.h"

#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Operations.h"

#include <algorithm>
#include <utility>

namespace cntk
{

// Limit of the share of distinct words in a minibatch up to which each word is multiplied separately. The saved work
// must exceed the cost of summing the words' results per sample, and the gradients.
constexpr double c_mostOfWords = 0.8;
// Multiply-adds that make a task worth a thread.
constexpr double c_workApart = 250e3;

LookupStep::LookupStep(const PlanStep& step, StepCalls calls)
    : Step(step, std::move(calls)), m_lookup(step.nodes.front().get()), m_table(m_lookup->Input(0).get()),
      m_words(m_lookup->Input(1).get())
{
    for (size_t k = 1; k < step.nodes.size(); k++)
    {
        const ComputationNode& node = *step.nodes[k];
        if (step.IsProductOfLookup(k))
            m_chains.push_back({.product = &node});
        else if (node.InputCount() == 2)
            m_chains.back().bias = &OtherInput(node, *step.nodes[k - 1]);
        else
            m_chains.back().activation = *ElementwiseOpOf(node);
        m_chains.back().last = &node;
    }
}

void LookupStep::Bind()
{
    const size_t samples = m_lookup->ValueColumns(), dimension = m_table->ValueRows();
    const size_t words = m_words->SampleElements() / m_table->ValueColumns();
    const DataType type = m_lookup->GetDataType();
    m_parts.resize(words);
    // Whole samples of several words have more distinct columns.
    const size_t mostColumns = std::max(samples, size_t(c_mostOfWords * double(words * samples)));
    size_t elements = dimension * (m_lookup->NeedsGradient() ? 2 : 1) * words * samples;
    for (const Chain& chain : m_chains)
        elements += chain.product->SampleElements() * mostColumns;
    if (m_memory.GetDevice() == nullptr)
        m_memory = Buffer(m_lookup->GetDevice());
    m_memory.Reserve(elements * SizeOf(type));
    auto* next = static_cast<std::byte*>(m_memory.Data());
    const auto take = [&](size_t rows, size_t columns)
    {
        MatrixView view;
        view.data = next;
        view.rows = view.stride = rows;
        view.columns = columns;
        view.type = type;
        view.device = &m_lookup->GetDevice();
        next += view.Elements() * SizeOf(type);
        return view;
    };
    m_embedded = take(dimension, words * samples);
    m_gradients = m_lookup->NeedsGradient() ? take(dimension, words * samples) : MatrixView();
    auto* const first = next;
    for (Chain& chain : m_chains)
    {
        chain.sums = take(chain.product->SampleElements(), mostColumns);
        chain.columns = chain.sums;
        chain.columns.data = first;
    }
}

// ---- parts ----

// Looks up each word separately if that is less work than whole samples, which hardly repeat.
void LookupStep::FindWords()
{
    const SparseView words = m_words->SparseValue(FrameRange::All());
    const std::span<const uint8_t> mask = m_lookup->ColumnMask(FrameRange::All());
    const auto find = [&](size_t parts)
    {
        m_partCount = parts;
        m_count = 0;
        const size_t rowsEach = words.rows / parts;
        for (size_t i = 0; i < parts; i++)
        {
            m_parts[i].distinct.Find(words, mask, i * rowsEach, rowsEach);
            m_parts[i].firstColumn = m_count;
            m_count += m_parts[i].distinct.Count();
        }
    };
    find(m_parts.size());
    if (m_parts.size() > 1 && double(m_count) > c_mostOfWords * double(words.columns * m_parts.size()))
        find(1);
    for (size_t i = 0; i < m_partCount; i++)
    {
        Part& part = m_parts[i];
        const size_t rows = m_lookup->SampleElements() / m_partCount;
        part.firstRow = i * rows;
        part.embedded =
            Reshaped(m_embedded, rows, m_embedded.Elements() / rows).Columns(part.firstColumn, part.distinct.Count());
        if (m_lookup->NeedsGradient())
            part.gradient = Reshaped(m_gradients, rows, m_gradients.Elements() / rows)
                                .Columns(part.firstColumn, part.distinct.CountOfData());
    }
    if (m_partCount > 1)
        FindNumbers(words.columns, words.type);
}

void LookupStep::FindNumbers(size_t samples, DataType type)
{
    m_numbers.rows.resize(samples * m_partCount);
    m_numbers.starts.resize(samples + 1);
    for (size_t sample = 0; sample <= samples; sample++)
        m_numbers.starts[sample] = int32_t(sample * m_partCount);
    for (size_t i = 0; i < m_partCount; i++)
    {
        const std::span<const int32_t> numbers = m_parts[i].distinct.NumberOfEach();
        for (size_t sample = 0; sample < samples; sample++)
            m_numbers.rows[sample * m_partCount + i] = int32_t(m_parts[i].firstColumn) + numbers[sample];
    }
    m_numbers.SetValues(type);
}

MatrixView LookupStep::WeightsOf(const Chain& chain, const Part& part)
{
    return chain.product->Input(0)->Value().Columns(part.firstRow, part.embedded.rows);
}

// ---- forward ----

void LookupStep::Forward()
{
    FindWords();
    if (m_count == 0)
        return;
    for (const Part& part : Parts())
        Ops::LookUpColumns(m_table->Value(), part.distinct.Columns(), part.embedded);
    if (m_partCount > 1)
        return SumParts();
    for (const Chain& chain : m_chains)
        ComputeChain(chain);
}

void LookupStep::ComputeChain(const Chain& chain) const
{
    const Part& part = m_parts.front();
    const MatrixView value = chain.last->Value();
    const bool isValue = part.distinct.AreAll();
    const MatrixView columns = isValue ? value : chain.columns.Columns(0, m_count);
    if (chain.bias == nullptr)
        Ops::Multiply(WeightsOf(chain, part), Ops::Transpose::No, part.embedded, Ops::Transpose::No, columns);
    else
        Ops::MultiplyBiasActivate(WeightsOf(chain, part), Ops::Transpose::No, part.embedded, chain.bias->Value(),
                                  chain.activation, columns);
    if (!isValue)
        Ops::LookUpColumns(columns, part.distinct.Numbers(), value);
}

// Returns true if each thread should take one task with all of its products. A single product is too little work for
// all threads.
bool LookupStep::AreWorthApart(size_t tasks) const
{
    const size_t threads = Ops::ThreadsApart(m_lookup->GetDevice());
    double work = 0; // multiply-adds
    for (const Chain& chain : m_chains)
        work += double(chain.product->SampleElements()) * double(m_embedded.rows) * double(m_count);
    return threads > 1 && tasks > 1 && tasks + 1 >= threads && work >= c_workApart * double(tasks);
}

void LookupStep::SumParts()
{
    const SparseView numbers = m_numbers.View(m_words->SparseValue(FrameRange::All()), m_count);
    const bool isApart = AreWorthApart(m_chains.size());
    const auto sum = [&](size_t chain)
    { SumParts(m_chains[chain], isApart ? m_chains[chain].sums : m_chains[chain].columns, numbers); };
    if (isApart)
        return Ops::RunApart(m_lookup->GetDevice(), m_chains.size(), sum);
    for (size_t chain = 0; chain < m_chains.size(); chain++)
        sum(chain);
}

// Sums the parts of each sample; the bias is added with the first word. columns: memory for the columns of all parts.
// numbers: the columns that each sample sums.
void LookupStep::SumParts(const Chain& chain, const MatrixView& columns, const SparseView& numbers)
{
    for (const Part& part : Parts())
    {
        const MatrixView own = columns.Columns(part.firstColumn, part.embedded.columns);
        if (chain.bias == nullptr || &part != &m_parts.front())
            Ops::Multiply(WeightsOf(chain, part), Ops::Transpose::No, part.embedded, Ops::Transpose::No, own);
        else
            Ops::MultiplyBiasActivate(WeightsOf(chain, part), Ops::Transpose::No, part.embedded, chain.bias->Value(),
                                      ElementwiseOp::Copy, own);
    }
    const MatrixView value = chain.last->Value();
    Ops::LookUpColumns(columns.Columns(0, m_count), numbers, value);
    if (chain.activation != ElementwiseOp::Copy)
        Ops::Elementwise(chain.activation, value, value);
}

// ---- backward ----

// The gradients of products without a bias or activation are complete now. Those of other products are complete when
// their weights' gradients are computed.
void LookupStep::Backward(BackwardPass& pass)
{
    for (Chain& chain : m_chains)
        chain.isSummed = false;
    for (const BackwardCall& call : m_calls.calls)
    {
        pass.ComputeProductsInto(*call.input);
        const bool isTable = call.node == m_lookup;
        if (!isTable && (call.inputIndex != 0 || !IsProduct(*call.node)))
        {
            pass.RunCall(call, FrameRange::All(), BackwardPass::Products::AtOnce);
            continue;
        }
        const bool records = pass.BeginContribution(call);
        const size_t first = pass.Waiting().size();
        if (isTable)
            AddTableGradient();
        else
        {
            ListWeightGradient(*call.node, pass.Waiting());
            pass.AddUpdate(call, first);
        }
        BackwardPass::EndContribution(call, records);
    }
    pass.ComputeProducts();
}

// Returns the gradient of each distinct word, summed over all its places. Gaps add nothing.
MatrixView LookupStep::SumOfGradients(const Chain& chain, const Part& part)
{
    if (part.distinct.AreAll())
        return chain.product->Gradient();
    return chain.sums.Columns(part.firstColumn, part.distinct.CountOfData());
}

void LookupStep::SumGradientsOf(Chain& chain)
{
    if (!std::exchange(chain.isSummed, true))
        for (const Part& part : Parts())
            if (part.distinct.CountOfData() > 0 && !part.distinct.AreAll())
                Ops::Multiply(chain.product->Gradient(), Ops::Transpose::No, part.distinct.Places(),
                              SumOfGradients(chain, part));
}

// Sums the requested gradients together with those of all other products that are already complete: those that come
// from outside of the step without an activation.
void LookupStep::SumGradients(Chain& asked)
{
    if (asked.isSummed)
        return;
    const bool isApart = asked.last == asked.product && AreWorthApart(m_chains.size());
    if (!isApart)
        return SumGradientsOf(asked);
    Ops::RunApart(m_lookup->GetDevice(), m_chains.size(),
                  [&](size_t chain)
                  {
                      if (m_chains[chain].last == m_chains[chain].product && m_chains[chain].product->NeedsGradient())
                          SumGradientsOf(m_chains[chain]);
                  });
}

void LookupStep::ListWeightGradient(const ComputationNode& product, std::vector<Product>& products)
{
    const auto chain =
        std::find_if(m_chains.begin(), m_chains.end(), [&](const Chain& one) { return one.product == &product; });
    SumGradients(*chain);
    const ComputationNode& weights = *product.Input(0);
    for (const Part& part : Parts())
        products.push_back({.a = SumOfGradients(*chain, part),
                            .b = part.embedded.Columns(0, part.distinct.CountOfData()),
                            .transposeB = Ops::Transpose::Yes,
                            .c = weights.Gradient().Columns(part.firstRow, part.embedded.rows),
                            .beta = NodeBinder::GradientBeta(weights)});
}

void LookupStep::AddTableGradient()
{
    const MatrixView target = m_table->Gradient();
    if (NodeBinder::GradientBeta(*m_table) == 0)
        Ops::Fill(target, 0);
    for (Chain& chain : m_chains)
        if (chain.product->NeedsGradient())
            SumGradients(chain);
    const bool isApart = AreWorthApart(m_partCount);
    const auto compute = [&](size_t part) { ComputeGradient(m_parts[part]); };
    if (isApart)
        Ops::RunApart(m_lookup->GetDevice(), m_partCount, compute);
    for (size_t part = 0; part < m_partCount; part++)
    {
        if (!isApart)
            compute(part);
        const DistinctColumns& distinct = m_parts[part].distinct;
        Ops::LookUpColumnsGradient(m_parts[part].gradient, distinct.Columns().Columns(0, distinct.CountOfData()),
                                   target, m_table->GradientColumns());
    }
}

void LookupStep::ComputeGradient(Part& part) const
{
    if (part.gradient.columns == 0)
        return;
    std::vector<ColumnProducts>& terms = part.terms;
    terms.clear();
    for (const Chain& chain : m_chains)
        if (chain.product->NeedsGradient())
            terms.push_back({WeightsOf(chain, part), SumOfGradients(chain, part)});
    Ops::SumColumnProducts(terms, part.gradient);
}

} // namespace cntk
