// The engine's Train() on a lowered graph.
#include "Api/WholeTraining.h"

#include "Api/Lowering.h"
#include "Api/Model.h"
#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "SGD/Trainer/Trainer.h"

#include <algorithm>
#include <utility>

namespace cntk::Api
{

namespace
{

// A reader whose streams have the names of the network's inputs.
template <class ElemType>
class RenamedReader final : public IDataReader<ElemType>
{
public:
    // names: the new name of each stream. source: keeps the reader.
    RenamedReader(std::shared_ptr<DataSource> source, IDataReader<ElemType>& reader,
                  const std::map<std::string, std::string>& names)
        : m_source(std::move(source)), m_reader(reader), m_streams(reader.Streams())
    {
        for (StreamInfo& stream : m_streams)
        {
            const auto found = names.find(stream.name);
            m_originals[ToLower(found == names.end() ? stream.name : found->second)] = stream.name;
            if (found != names.end())
                stream.name = found->second;
        }
    }

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest& request) override
    {
        EpochRequest inner = request;
        for (std::string& name : inner.wanted)
            if (const auto found = m_originals.find(ToLower(name)); found != m_originals.end())
                name = found->second;
        m_reader.StartEpoch(inner);
    }
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override { return m_reader.GetMinibatch(minibatch); }
    size_t TotalSamples() override { return m_reader.TotalSamples(); }
    std::vector<std::string> CreateLabelMaps() override { return m_reader.CreateLabelMaps(); }
    size_t ParallelSequences(size_t epoch) const override { return m_reader.ParallelSequences(epoch); }
    bool HasLattices() const override { return m_reader.HasLattices(); }
    size_t SequencesToWrite() const override { return m_reader.SequencesToWrite(); }

private:
    std::shared_ptr<DataSource> m_source;
    IDataReader<ElemType>& m_reader;
    std::vector<StreamInfo> m_streams;
    std::map<std::string, std::string> m_originals; // by the new name in lower case
};

std::unique_ptr<MinibatchSource> OpenRenamed(const WholeTraining& training,
                                             const std::map<std::string, std::string>& names)
{
    const std::shared_ptr<DataSource> source = training.open();
    return source->Visit(
        [&]<class ElemType>(IDataReader<ElemType>& reader)
        {
            std::unique_ptr<IDataReader<ElemType>> renamed =
                std::make_unique<RenamedReader<ElemType>>(source, reader, names);
            return std::make_unique<MinibatchSource>(std::move(renamed));
        });
}

} // namespace

void Train(Context& context, const WholeTraining& training)
{
    const LoweredNetwork first(context, training.roots, Naming::ForFiles);
    std::map<std::string, std::string> names; // of inputs, by stream
    for (const auto& [stream, input] : training.streams)
        if (const auto found = std::find(first.Nodes().begin(), first.Nodes().end(), input);
            found != first.Nodes().end())
            names[stream] = first.At(*input)->Name();
    const DataType type = first.Network().GetDataType();
    const auto sgd = ConfigParameters::Parse(
        Concat("modelPath=\"", training.modelPath, "\"\nSGD=[\n", training.sgd, "]\n"), "SGDParams");

    TrainingRequest request;
    request.options = ReadSgdOptions(sgd->RequireBlock("SGD"), type);
    request.modelPath = training.modelPath;
    request.dataType = type;
    request.device = first.GetDevice();
    request.buildNetwork = [&]
    {
        LoweredNetwork lowered(context, training.roots, Naming::ForFiles);
        SetGroups(lowered, training.roots);
        if (lowered.Network().Group(NodeGroup::Criterion).empty())
            Fail(ErrorKind::Model, "no node of the graph has the tag 'criterion'; expected one to train");
        return lowered.TakeNetwork();
    };
    request.openReader = [&] { return OpenRenamed(training, names); };
    request.stopRequested = training.stopRequested;
    Log log;
    log.RedirectTo(training.logPath);
    const auto lock = context.Lock(*request.device);
    cntk::Train(request, log);
    log.Finish();

    const std::unique_ptr<ComputationNetwork> trained = LoadModel(training.modelPath, type, request.device);
    for (const NodePtr& node : first.Nodes())
        if (node->parameter && node->parameter->Storage())
            if (const auto* values = As<LearnableParameterNode>(trained->Find(first.At(*node)->Name()).get()))
                node->parameter->Storage()->CopyFrom(values->Values());
}

std::vector<OptionText> SgdOptionTexts()
{
    std::vector<OptionText> texts;
    for (const OptionInfo& info : DescribeOptions<SgdOptions>())
        texts.push_back({info.name, info.defaultText, info.doc, info.aliases});
    return texts;
}

} // namespace cntk::Api
