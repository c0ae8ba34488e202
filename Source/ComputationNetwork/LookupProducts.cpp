// Columns are picked as those of a table, and summed by a product with the sparse matrix of their places.
#include "ComputationNetwork/LookupProducts.h"

#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "Math/Operations.h"
#include "Math/TableLookup.h"

#include <algorithm>

namespace cntk
{

LookupProducts::LookupProducts(const PlanStep& step, const EvaluationPlan& plan)
    : m_lookup(step.nodes.front().get()), m_table(m_lookup->Input(0).get()), m_words(m_lookup->Input(1).get()),
      m_needsGradient(plan.NeedsGradient(m_lookup))
{
    for (size_t k = 1; k < step.nodes.size(); k++)
    {
        const ComputationNode& node = *step.nodes[k];
        if (step.IsProductOfLookup(k))
            m_chains.push_back({.product = &node});
        else if (node.InputCount() == 2)
            m_chains.back().bias = (node.Input(0) == step.nodes[k - 1] ? node.Input(1) : node.Input(0)).get();
        else
            m_chains.back().activation = *ElementwiseOpOf(node);
        m_chains.back().last = &node;
    }
}

void LookupProducts::Bind()
{
    const size_t columns = m_lookup->ValueColumns();
    const DataType type = m_lookup->GetDataType();
    size_t rows = m_lookup->SampleElements() * (m_needsGradient ? 2 : 1);
    for (const Chain& chain : m_chains)
        rows += chain.product->SampleElements();
    if (m_memory.GetDevice() == nullptr)
        m_memory = Buffer(m_lookup->GetDevice());
    m_memory.Reserve(rows * columns * SizeOf(type));
    auto* next = static_cast<std::byte*>(m_memory.Data());
    const auto take = [&](size_t rowsOfIt)
    {
        MatrixView view;
        view.data = next;
        view.rows = view.stride = rowsOfIt;
        view.columns = columns;
        view.type = type;
        view.device = &m_lookup->GetDevice();
        next += view.Elements() * SizeOf(type);
        return view;
    };
    m_embedded = take(m_lookup->SampleElements());
    m_gradient = m_needsGradient ? take(m_lookup->SampleElements()) : MatrixView();
    for (Chain& chain : m_chains)
        chain.columns = take(chain.product->SampleElements());
}

// ---- forward ----

void LookupProducts::Forward()
{
    m_distinct.Find(m_words->SparseValue(FrameRange::All()), m_lookup->ColumnMask(FrameRange::All()));
    const size_t count = m_distinct.Count();
    if (count == 0)
        return;
    const MatrixView embedded = m_embedded.Columns(0, count);
    Ops::LookUpColumns(m_table->Value(), m_distinct.Columns(), embedded);
    for (const Chain& chain : m_chains)
    {
        const MatrixView weights = chain.product->Input(0)->Value();
        const MatrixView columns = chain.columns.Columns(0, count);
        if (chain.bias == nullptr)
            Ops::Multiply(weights, Ops::Transpose::No, embedded, Ops::Transpose::No, columns);
        else
            Ops::MultiplyBiasActivate(weights, Ops::Transpose::No, embedded, chain.bias->Value(), chain.activation,
                                      columns);
        Ops::LookUpColumns(columns, m_distinct.Numbers(), chain.last->Value());
    }
}

// ---- backward ----

void LookupProducts::BeginBackward()
{
    for (Chain& chain : m_chains)
        chain.isSummed = false;
}

// Of all places of each word that differs; gaps add nothing.
MatrixView LookupProducts::SumOfGradients(Chain& chain)
{
    const MatrixView sums = chain.columns.Columns(0, m_distinct.CountOfData());
    if (chain.isSummed || sums.columns == 0)
        return sums;
    Ops::Multiply(chain.product->Gradient(), Ops::Transpose::No, m_distinct.Places(), sums);
    chain.isSummed = true;
    return sums;
}

Product LookupProducts::WeightGradient(const ComputationNode& product)
{
    const auto chain =
        std::find_if(m_chains.begin(), m_chains.end(), [&](const Chain& one) { return one.product == &product; });
    return {.a = SumOfGradients(*chain),
            .b = m_embedded.Columns(0, m_distinct.CountOfData()),
            .transposeB = Ops::Transpose::Yes,
            .c = product.Input(0)->Gradient(),
            .beta = NodeBinder::GradientBeta(*product.Input(0))};
}

void LookupProducts::AddTableGradient()
{
    const MatrixView target = m_table->Gradient();
    if (NodeBinder::GradientBeta(*m_table) == 0)
        Ops::Fill(target, 0);
    const size_t count = m_distinct.CountOfData();
    const MatrixView gradient = m_gradient.Columns(0, count);
    bool isFirst = true;
    for (Chain& chain : m_chains)
    {
        if (!chain.product->NeedsGradient())
            continue;
        Ops::Multiply(chain.product->Input(0)->Value(), Ops::Transpose::Yes, SumOfGradients(chain), Ops::Transpose::No,
                      gradient, 1, isFirst ? 0 : 1);
        isFirst = false;
    }
    Ops::LookUpColumnsGradient(gradient, m_distinct.Columns().Columns(0, count), target, m_table->GradientColumns());
}

} // namespace cntk
