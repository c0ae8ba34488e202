// Mean and InvStdDev: each minibatch is reduced on the device, and minibatches are combined on the host, in double.
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

constexpr double c_varianceFloor = 1e-10;

// Indices of the temporaries.
constexpr size_t c_sum = 0;
constexpr size_t c_batchMean = 1;

std::vector<double> ToHost(const MatrixView& column)
{
    std::vector<double> values(column.rows);
    VisitType(column.type,
              [&](auto tag)
              {
                  std::vector<decltype(tag)> typed(column.rows);
                  column.device->CopyToHost(typed.data(), column.data, typed.size() * sizeof(tag));
                  std::copy(typed.begin(), typed.end(), values.begin());
              });
    return values;
}

} // namespace

void PrecomputeNode::InferShape(ShapeInference& inference)
{
    RequireDenseInputs(*this, inference);
    const ComputationNode& input = *Input(0);
    SetShape(input.SampleLayout(), nullptr);
    if (!inference.IsFinalPass())
        return;
    if (!input.HasMBLayout())
        Fail(ErrorKind::Model, TypeName(), " takes the statistics of minibatch data, but its input '", input.Name(),
             "' does not change with the samples");
    Resize();
}

// Resizes the matrix to the shape. A file may hold the same elements as a single column.
void PrecomputeNode::Resize()
{
    const size_t rows = SampleLayout().MatrixRows();
    const size_t columns = SampleLayout().MatrixColumns();
    if ((m_isLoaded || m_hasComputed) && m_statistics.Elements() != rows * columns)
        Fail(ErrorKind::Model, "the stored ", TypeName(), " has ", Counted(m_statistics.Elements(), "element"),
             ", but its input ", DescribeShape(*Input(0)), " has ", rows * columns);
    if (!m_statistics.IsAllocated() || m_statistics.Rows() != rows || m_statistics.Columns() != columns)
    {
        Matrix resized(rows, columns, GetDataType(), GetDevice());
        if (m_hasComputed)
            resized.FromHost(m_statistics.ToHost());
        m_statistics = std::move(resized);
    }
    m_isLoaded = false;
    m_value = m_statistics.View();
}

void PrecomputeNode::BeginForwardProp()
{
    m_value = m_statistics.View();
}

std::vector<TemporarySpec> PrecomputeNode::Temporaries() const
{
    return {FixedColumn(SampleElements(), TemporarySpec::Lifetime::Forward),
            FixedColumn(SampleElements(), TemporarySpec::Lifetime::Forward)};
}

void PrecomputeNode::BeginPrecompute()
{
    m_hasComputed = false;
    m_isComputing = true;
    m_samples = 0;
    m_mean.assign(SampleElements(), 0);
    m_sumOfSquares.assign(NeedsVariance() ? SampleElements() : 0, 0);
}

void PrecomputeNode::ForwardProp(const FrameRange& range)
{
    if (m_hasComputed)
        return;
    if (!m_isComputing)
        Fail(ErrorKind::Model, "the statistics of node '", Name(), "' (", TypeName(),
             ") have not been computed; train the model first, or give one that was trained");
    const MatrixView samples = Input(0)->Value(range);
    const std::span<const uint8_t> mask = Input(0)->ColumnMask(range);
    const MatrixView sum = Temporary(c_sum, FrameRange::All());
    const size_t count = samples.columns - size_t(std::count(mask.begin(), mask.end(), 0));
    if (count == 0)
        return;
    Ops::ElementwiseOverData(ElementwiseOp::Copy, samples, mask, sum);
    const std::vector<double> sumOnHost = ToHost(sum);
    if (!NeedsVariance())
        return Add(count, sumOnHost, {});

    const MatrixView batchMean = Temporary(c_batchMean, FrameRange::All());
    Ops::Elementwise(ElementwiseOp::Copy, sum, batchMean, 1.0 / double(count));
    const std::vector<double> roundedMean = ToHost(batchMean);
    Ops::ElementwiseOverData(ElementwiseOp::SquaredDifference, samples, batchMean, mask, sum);
    // Squared distances used the mean rounded to the element type, so they are corrected: sum (x-m)^2 = sum (x-r)^2 - n
    // (m-r)^2.
    std::vector<double> sumOfSquares = ToHost(sum);
    for (size_t row = 0; row < sumOfSquares.size(); row++)
    {
        const double difference = sumOnHost[row] / double(count) - roundedMean[row];
        sumOfSquares[row] = std::max(0.0, sumOfSquares[row] - double(count) * difference * difference);
    }
    Add(count, sumOnHost, sumOfSquares);
}

// Combines the statistics of the samples so far with those of new ones (Chan, Golub, LeVeque 1979).
void PrecomputeNode::Add(size_t samples, const std::vector<double>& sum, const std::vector<double>& sumOfSquares)
{
    const double before = double(m_samples);
    m_samples += samples;
    const double all = double(m_samples);
    for (size_t row = 0; row < m_mean.size(); row++)
    {
        const double difference = sum[row] / double(samples) - m_mean[row];
        m_mean[row] += difference * (double(samples) / all);
        if (!sumOfSquares.empty())
            m_sumOfSquares[row] += sumOfSquares[row] + difference * difference * (before * double(samples) / all);
    }
}

void PrecomputeNode::MarkComputed()
{
    if (!m_isComputing)
        return;
    if (m_samples == 0)
        Fail(ErrorKind::Data, "node '", Name(), "' (", TypeName(),
             ") saw no sample in the pass over the training data; its statistics cannot be computed");
    std::vector<double> values(m_mean.size());
    for (size_t row = 0; row < values.size(); row++)
        values[row] = Statistic(row);
    SetComputed(values);
}

void PrecomputeNode::SetComputed(std::span<const double> values)
{
    if (values.size() != SampleElements())
        Fail(ErrorKind::Model, "node '", Name(), "' (", TypeName(), ") has ", Counted(SampleElements(), "element"),
             ", but ", values.size(), " values are given");
    m_isComputing = false;
    Resize();
    m_statistics.FromHost(values);
    m_value = m_statistics.View();
    m_hasComputed = true;
}

double InvStdDevNode::Statistic(size_t row) const
{
    return 1.0 / std::sqrt(std::max(VarianceSoFar(row), c_varianceFloor));
}

void PrecomputeNode::SerializeFields(ModelArchive& archive)
{
    archive.Field(m_hasComputed);
    if (!m_statistics.IsAllocated())
        m_statistics = Matrix(0, 0, GetDataType(), GetDevice());
    archive.MatrixField(m_statistics);
    m_isLoaded = archive.IsLoading();
    m_value = m_statistics.View();
}

std::string PrecomputeNode::DescribeFields() const
{
    return Concat("[", SampleLayout().ToString(), "]   HasComputed=", m_hasComputed ? "true" : "false");
}

const Matrix* StoredValues(const ComputationNode& node)
{
    if (const auto* parameter = As<LearnableParameterNode>(&node))
        return &parameter->Values();
    if (const auto* statistic = As<PrecomputeNode>(&node))
        return &statistic->Values();
    return nullptr;
}

} // namespace cntk
