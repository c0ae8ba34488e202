#include "ActionsLib/Actions/FeaturePlane.h"

#include "Common/ReaderInterface.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "Math/Operations.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace cntk
{

namespace
{

constexpr size_t c_gridSize = 100;
constexpr size_t c_mostSamples = 20'000;

// Delivers one minibatch of two-dimensional features.
template <class ElemType>
class GridReader final : public IDataReader<ElemType>
{
public:
    GridReader(std::string name, std::vector<ElemType> values) : m_values(std::move(values))
    {
        StreamInfo stream;
        stream.name = std::move(name);
        stream.rows = 2;
        m_streams.push_back(std::move(stream));
    }

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest&) override { m_isRead = false; }
    size_t TotalSamples() override { return m_values.size() / 2; }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override
    {
        if (std::exchange(m_isRead, true))
            return false;
        StreamBatch<ElemType> batch;
        batch.rows = 2;
        batch.columns = TotalSamples();
        batch.values = m_values;
        batch.layout = std::make_shared<MBLayout>();
        batch.layout->InitAsFrameMode(batch.columns);
        minibatch = {};
        minibatch.streams.push_back(std::move(batch));
        return true;
    }

private:
    std::vector<StreamInfo> m_streams;
    std::vector<ElemType> m_values;
    bool m_isRead = false;
};

template <class ElemType>
std::unique_ptr<MinibatchSource> GridSource(const std::string& name, const ClassRegions& regions)
{
    std::vector<ElemType> values;
    const double last = double(regions.size - 1);
    for (size_t row = 0; row < regions.size; ++row)
        for (size_t column = 0; column < regions.size; ++column)
        {
            values.push_back(ElemType(regions.firstX + (regions.lastX - regions.firstX) * double(column) / last));
            values.push_back(ElemType(regions.firstY + (regions.lastY - regions.firstY) * double(row) / last));
        }
    return std::make_unique<MinibatchSource>(std::make_unique<GridReader<ElemType>>(name, std::move(values)));
}

std::vector<size_t> LargestRowsOf(const ComputationNode& node)
{
    Matrix rows(1, node.Value().columns, node.Value().type, node.GetDevice());
    Ops::ArgMax(node.Value(), rows);
    std::vector<size_t> largest;
    for (const double row : rows.ToHost())
        largest.push_back(size_t(row));
    return largest;
}

} // namespace

std::optional<FeaturePlane> FeaturePlane::Of(ComputationNetwork& network, const ComputationNodePtr& classifier)
{
    const std::vector<ComputationNodePtr> below = ComputationNetwork::Below({classifier->Inputs()[1]});
    ComputationNodePtr features;
    for (const ComputationNodePtr& node : below)
    {
        if (As<InputValueNode>(node.get()) == nullptr)
            continue;
        if (features != nullptr || node->IsSparse() || node->SampleElements() != 2)
            return {};
        features = node;
    }
    if (features == nullptr || !RecurrentStatesOf(below).empty())
        return {};
    return FeaturePlane(network, classifier, features);
}

void FeaturePlane::AddMinibatch()
{
    const MBLayoutPtr layout = m_features->GetMBLayout();
    if (m_features->HasSparseForm() || layout == nullptr || !layout->IsFrameMode())
        return;
    Matrix copy(0, 0, m_features->Value().type, m_features->GetDevice());
    copy.CopyFrom(m_features->Value());
    const std::vector<double> values = copy.ToHost();
    const ComputationNode& labels = *m_classifier->Inputs()[0];
    std::vector<size_t> classes;
    if (labels.HasSparseForm())
    {
        const SparseView sparse = labels.SparseValue(FrameRange::All());
        Matrix rows(1, sparse.columns, sparse.type, labels.GetDevice());
        Ops::ArgMax(sparse, rows);
        for (const double row : rows.ToHost())
            classes.push_back(size_t(row));
    }
    else
        classes = LargestRowsOf(labels);
    for (size_t i = 0; i < classes.size() && m_regions.samples.size() < c_mostSamples; ++i)
        m_regions.samples.push_back({values[2 * i], values[2 * i + 1], classes[i]});
}

bool FeaturePlane::SetRange()
{
    constexpr double c_margin = 0.05;
    const auto range = [&](double ClassRegions::Point::*value, double& first, double& last)
    {
        first = std::numeric_limits<double>::infinity();
        last = -first;
        for (const ClassRegions::Point& sample : m_regions.samples)
        {
            first = std::min(first, sample.*value);
            last = std::max(last, sample.*value);
        }
        const double margin = c_margin * (last - first);
        first -= margin;
        last += margin;
        return last > first;
    };
    return range(&ClassRegions::Point::x, m_regions.firstX, m_regions.lastX) &&
           range(&ClassRegions::Point::y, m_regions.firstY, m_regions.lastY);
}

std::optional<ClassRegions> FeaturePlane::Evaluate()
{
    if (!SetRange())
        return {};
    m_regions.size = c_gridSize;
    m_regions.features = m_features->Name();
    const ComputationNodePtr prediction = m_classifier->Inputs()[1];
    const std::unique_ptr<MinibatchSource> source = m_network->GetDataType() == DataType::Float64
                                                        ? GridSource<double>(m_features->Name(), m_regions)
                                                        : GridSource<float>(m_features->Name(), m_regions);
    Evaluator evaluator(*m_network, {prediction});
    source->BindTo({prediction});
    EpochRequest request;
    request.minibatchSize = c_gridSize * c_gridSize;
    source->StartEpoch(request);
    source->Next();
    evaluator.Forward();
    m_regions.classes = LargestRowsOf(*prediction);
    return m_regions;
}

} // namespace cntk
