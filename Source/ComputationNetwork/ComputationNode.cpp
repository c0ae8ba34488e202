// The base class of every node: views of its bound memory by frame range, and helpers for shape inference.
#include "ComputationNetwork/ComputationNode.h"

#include "Common/Error.h"

namespace cntk
{

namespace
{

MatrixView ColumnsOf(const MatrixView& view, const MBLayout* layout, const FrameRange& range)
{
    if (range.IsAll() || layout == nullptr)
        return view;
    return view.Columns(range.FirstColumn(layout), range.ColumnCount(layout, view.columns));
}

} // namespace

size_t ComputationNode::ValueRows() const
{
    return m_layout ? m_sampleLayout.Elements() : m_sampleLayout.MatrixRows();
}

size_t ComputationNode::ValueColumns() const
{
    return m_layout ? m_layout->Columns() : m_sampleLayout.MatrixColumns();
}

void ComputationNode::BackpropTo(size_t, const FrameRange&)
{
    Fail(ErrorKind::Internal, "node '", m_name, "': the node type ", TypeName(), " has no gradient");
}

MatrixView ComputationNode::Value(const FrameRange& range) const
{
    return ColumnsOf(m_value, m_layout.get(), range);
}

MatrixView ComputationNode::Gradient(const FrameRange& range) const
{
    return ColumnsOf(m_gradient, m_layout.get(), range);
}

SparseView ComputationNode::SparseValue(const FrameRange& range) const
{
    CNTK_ASSERT(HasSparseForm());
    SparseView view = (m_sparse != nullptr ? m_sparse : m_sparseForm)->View();
    if (range.IsAll() || !m_layout)
        return view;
    return view.Columns(range.FirstColumn(m_layout.get()), range.ColumnCount(m_layout.get(), view.columns));
}

TensorView ComputationNode::ValueTensor(size_t sampleRank, const FrameRange& range) const
{
    return TensorView::OfSamples(Value(range), m_sampleLayout, sampleRank, HasMBLayout());
}

TensorView ComputationNode::GradientTensor(size_t sampleRank, const FrameRange& range) const
{
    return TensorView::OfSamples(Gradient(range), m_sampleLayout, sampleRank, HasMBLayout());
}

std::span<const uint8_t> ComputationNode::ColumnMask(const FrameRange& range) const
{
    if (!m_layout || !m_layout->HasGaps())
        return {};
    const std::vector<uint8_t>& mask = m_layout->ColumnMask();
    return std::span(mask).subspan(range.FirstColumn(m_layout.get()), range.ColumnCount(m_layout.get(), mask.size()));
}

void ComputationNode::SetShape(const TensorShape& sampleLayout, MBLayoutPtr layout)
{
    m_sampleLayout = sampleLayout;
    m_layout = std::move(layout);
}

MatrixView ComputationNode::Temporary(size_t index, const FrameRange& range) const
{
    CNTK_ASSERT(index < m_temporaries.size());
    return ColumnsOf(m_temporaries[index], m_temporaryLayouts[index], range);
}

MBLayoutPtr ComputationNode::CommonLayoutOfInputs(ShapeInference& inference) const
{
    const ComputationNode* first = nullptr;
    for (const ComputationNodePtr& input : m_inputs)
    {
        if (!input->m_layout)
            continue;
        if (first == nullptr)
            first = input.get();
        else if (first->m_layout != input->m_layout && inference.IsFinalPass())
            Fail(ErrorKind::Model, "inputs '", first->Name(), "' and '", input->Name(),
                 "' have different minibatch layouts (different dynamic axes); they cannot be combined; "
                 "ReconcileMBLayout gives one of them the other's layout where their sequences have the same lengths");
    }
    return first == nullptr ? nullptr : first->m_layout;
}

} // namespace cntk
