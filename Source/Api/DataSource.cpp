// Readers as sources of input data.
#include "Api/DataSource.h"

#include "Common/CompositeReader.h"
#include "Common/Error.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace cntk::Api
{

namespace
{

template <class ElemType>
class ArrayReader final : public IDataReader<ElemType>
{
public:
    ArrayReader(std::vector<ArrayStream> streams, bool isShuffled, uint64_t seed)
        : m_data(std::move(streams)), m_isShuffled(isShuffled), m_seed(seed)
    {
        for (const ArrayStream& stream : m_data)
        {
            StreamInfo info;
            info.name = stream.name;
            info.rows = stream.rows;
            info.sparse = !stream.data->sparse.empty();
            info.source = "arrays";
            m_streams.push_back(std::move(info));
            if (stream.data->count != m_data.front().data->count)
                Fail(ErrorKind::Data, "the data of '", m_data.front().name, "' have ",
                     Counted(m_data.front().data->count, "sequence"), " and those of '", stream.name, "' ",
                     stream.data->count, "; expected as many of each");
        }
    }

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    size_t TotalSamples() override { return m_data.front().data->Samples(); }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

    void StartEpoch(const EpochRequest& request) override
    {
        m_minibatchSize = request.minibatchSize;
        m_order.resize(m_data.front().data->count);
        std::iota(m_order.begin(), m_order.end(), size_t(0));
        if (m_isShuffled)
        {
            std::mt19937_64 generator(m_seed + request.trainingSeed + request.epoch);
            std::shuffle(m_order.begin(), m_order.end(), generator);
        }
        m_next = 0;
        m_samplesLeft = request.epochSize;
        m_rank = request.rank;
    }

    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override
    {
        const InputData& first = *m_data.front().data;
        std::vector<size_t> chosen;
        size_t samples = 0;
        while (m_next < m_order.size() && samples < std::min(m_minibatchSize, m_samplesLeft))
        {
            const size_t length = first.LengthOf(m_order[m_next]);
            if (!chosen.empty() && samples + length > m_minibatchSize)
                break;
            samples += length;
            chosen.push_back(m_order[m_next++]);
        }
        m_samplesLeft -= std::min(samples, m_samplesLeft);
        minibatch.streams.resize(m_data.size());
        std::vector<std::vector<uint32_t>> lengths;
        for (size_t i = 0; i < m_data.size() && !chosen.empty(); i++)
            Fill(i, chosen, lengths, minibatch);
        return !chosen.empty();
    }

private:
    void Fill(size_t stream, const std::vector<size_t>& chosen, std::vector<std::vector<uint32_t>>& lengths,
              HostMinibatch<ElemType>& minibatch) const
    {
        const InputData& data = *m_data[stream].data;
        std::vector<uint32_t> own;
        for (const size_t sequence : chosen)
            own.push_back(data.LengthOf(sequence));
        SequencePacking packing;
        packing.Pack(own);
        StreamBatch<ElemType>& batch = minibatch.streams[stream];
        // Streams of equal lengths share the layout.
        const auto same = std::find(lengths.begin(), lengths.end(), own);
        if (same != lengths.end())
            batch.layout = minibatch.streams[size_t(same - lengths.begin())].layout;
        else
        {
            batch.layout = std::make_shared<MBLayout>();
            packing.Fill(*batch.layout, own);
        }
        batch.rows = m_data[stream].rows;
        batch.columns = batch.layout->Columns();
        batch.sparse = m_streams[stream].sparse;
        batch.sparse ? FillSparse(batch, data, chosen, packing) : FillDense(batch, data, chosen, packing);
        lengths.push_back(std::move(own));
    }

    static size_t ColumnOf(const SequencePacking& packing, size_t index, size_t step)
    {
        const SequencePacking::Place place = packing.Places()[index];
        return (place.begin + step) * packing.Rows() + place.row;
    }

    static void FillDense(StreamBatch<ElemType>& batch, const InputData& data, const std::vector<size_t>& chosen,
                          const SequencePacking& packing)
    {
        batch.values.assign(batch.rows * batch.columns, ElemType(0));
        for (size_t i = 0; i < chosen.size(); i++)
        {
            const auto* const block = data.IsFrames()
                                          ? static_cast<const ElemType*>(data.blocks.front()) + chosen[i] * batch.rows
                                          : static_cast<const ElemType*>(data.blocks[chosen[i]]);
            for (size_t step = 0; step < data.LengthOf(chosen[i]); step++)
                std::copy_n(block + step * batch.rows, batch.rows,
                            batch.values.begin() + ptrdiff_t(ColumnOf(packing, i, step) * batch.rows));
        }
    }

    static void FillSparse(StreamBatch<ElemType>& batch, const InputData& data, const std::vector<size_t>& chosen,
                           const SequencePacking& packing)
    {
        std::vector<std::pair<const SparseRows*, size_t>> samples(batch.columns);
        for (size_t i = 0; i < chosen.size(); i++)
            for (size_t step = 0; step < data.LengthOf(chosen[i]); step++)
                samples[ColumnOf(packing, i, step)] = data.IsFrames() ? std::pair(&data.sparse.front(), chosen[i])
                                                                      : std::pair(&data.sparse[chosen[i]], step);
        batch.values.clear();
        batch.rowIndices.clear();
        batch.columnStarts.assign(1, 0);
        for (const auto& [block, row] : samples)
        {
            if (block != nullptr)
                for (int32_t k = block->starts[row]; k < block->starts[row + 1]; k++)
                {
                    batch.values.push_back(static_cast<const ElemType*>(block->values)[k]);
                    batch.rowIndices.push_back(block->columns[k]);
                }
            batch.columnStarts.push_back(int32_t(batch.values.size()));
        }
    }

    std::vector<ArrayStream> m_data;
    std::vector<StreamInfo> m_streams;
    bool m_isShuffled;
    uint64_t m_seed;
    size_t m_minibatchSize = 0;
    size_t m_samplesLeft = 0;
    size_t m_rank = 0;
    size_t m_next = 0;
    std::vector<size_t> m_order;
};

// Describes a stream of a minibatch, whose memory it refers to.
template <class ElemType>
std::shared_ptr<const InputData> DataOfBatch(const std::shared_ptr<HostMinibatch<ElemType>>& minibatch, size_t stream)
{
    const StreamBatch<ElemType>& batch = minibatch->streams[stream];
    auto data = std::make_shared<InputData>();
    data->type = DataTypeOf<ElemType>();
    data->rows = batch.rows == StreamInfo::c_rowsOfNode ? 0 : batch.rows;
    data->owner = minibatch;
    if (batch.sparse)
        data->sparse = {{batch.values.data(), batch.rowIndices.data(), batch.columnStarts.data()}};
    else
        data->blocks = {batch.values.data()};
    if (!batch.layout || batch.layout->IsFrameMode())
    {
        data->count = batch.columns;
        return data;
    }
    data->form = InputData::Form::Packed;
    data->layout = batch.layout;
    data->continuesPass = std::any_of(batch.layout->Sequences().begin(), batch.layout->Sequences().end(),
                                      [](const SequenceInfo& sequence) { return sequence.begin < 0; });
    for (const SequencePlaces::Place& place : SequencePlaces(*batch.layout).places)
        data->lengths.push_back(uint32_t(place.length));
    data->count = data->lengths.size();
    return data;
}

} // namespace

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeArrayReader(std::vector<ArrayStream> streams, bool isShuffled, uint64_t seed)
{
    return std::make_unique<ArrayReader<ElemType>>(std::move(streams), isShuffled, seed);
}

template std::unique_ptr<IDataReader<float>> MakeArrayReader(std::vector<ArrayStream>, bool, uint64_t);
template std::unique_ptr<IDataReader<double>> MakeArrayReader(std::vector<ArrayStream>, bool, uint64_t);

DataSource::DataSource(const std::string& config, DataType type)
    : m_config(ConfigParameters::Parse(config, "reader")), m_log(std::make_unique<Log>())
{
    m_logFile.reset(::fdopen(::memfd_create("log of a reader", MFD_CLOEXEC), "r"));
    if (m_logFile)
        m_log->RedirectTo(Concat("/proc/self/fd/", ::fileno(m_logFile.get())));
    const ReaderContext context{*m_config, *m_log};
    VisitType(type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  m_typed = Typed<T>{LoadReader<T>(ReaderTypeOf(*m_config), context), {}};
              });
}

DataSource::DataSource(std::vector<ArrayStream> streams, DataType type, bool isShuffled, uint64_t seed)
{
    VisitType(type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  m_typed = Typed<T>{MakeArrayReader<T>(std::move(streams), isShuffled, seed), {}};
              });
}

const std::vector<StreamInfo>& DataSource::Streams() const
{
    return std::visit([](const auto& typed) -> const std::vector<StreamInfo>& { return typed.reader->Streams(); },
                      m_typed);
}

void DataSource::StartEpoch(size_t epoch, size_t minibatchSize, std::vector<std::string> wanted)
{
    EpochRequest request;
    request.epoch = epoch;
    request.minibatchSize = minibatchSize;
    request.wanted = std::move(wanted);
    std::visit([&](auto& typed) { typed.reader->StartEpoch(request); }, m_typed);
}

size_t DataSource::TotalSamples()
{
    return std::visit([](auto& typed) { return typed.reader->TotalSamples(); }, m_typed);
}

bool DataSource::Next(std::vector<std::shared_ptr<const InputData>>& streams)
{
    return std::visit([&](auto& typed) { return NextOf(typed, streams); }, m_typed);
}

std::string DataSource::TakeLog()
{
    std::string text;
    char block[4096];
    ssize_t size = 0;
    while (m_logFile &&
           (size = ::pread(::fileno(m_logFile.get()), block, sizeof block, off_t(m_logPosition + text.size()))) > 0)
        text.append(block, size_t(size));
    text.resize(text.rfind('\n') + 1); // a line may be incomplete
    m_logPosition += text.size();
    return text;
}

template <class ElemType>
bool DataSource::NextOf(Typed<ElemType>& typed, std::vector<std::shared_ptr<const InputData>>& streams)
{
    streams.clear();
    // A minibatch that nobody refers to any more keeps its memory for the next one.
    const auto isFree = [](const auto& minibatch) { return minibatch.use_count() == 1; };
    auto free = std::find_if(typed.minibatches.begin(), typed.minibatches.end(), isFree);
    if (free == typed.minibatches.end())
        free = typed.minibatches.insert(free, std::make_shared<HostMinibatch<ElemType>>());
    const std::shared_ptr<HostMinibatch<ElemType>> minibatch = *free;
    if (!typed.reader->GetMinibatch(*minibatch))
        return false;
    for (size_t stream = 0; stream < minibatch->streams.size(); stream++)
        streams.push_back(minibatch->streams[stream].columns > 0 ? DataOfBatch(minibatch, stream) : nullptr);
    return true;
}

PluginDescription DescribeReader(const std::string& readerType)
{
    return PluginLibrary::Open(readerType, PluginSearch::Default()).Describe().value_or(PluginDescription{});
}

} // namespace cntk::Api
