// Minibatches from reader plugins, or from data in memory.
#pragma once

#include "Api/Data.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Log.h"
#include "Common/ReaderInterface.h"

#include <cstdio>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace cntk::Api
{

// A stream of data in memory.
struct ArrayStream
{
    std::string name;
    size_t rows = 0; // elements of a sample
    std::shared_ptr<const InputData> data;
};

// Reads the sequences of arrays in their order, or shuffled. A minibatch takes whole sequences, as many as
// minibatchSize samples of the first stream allow, at least one.
template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeArrayReader(std::vector<ArrayStream> streams, bool isShuffled,
                                                       uint64_t seed);

class DataSource
{
public:
    // config: the text of a reader's block. Fails as the reader does. The reader's log is for TakeLog.
    DataSource(const std::string& config, DataType type);
    // Reads arrays of one element type.
    DataSource(std::vector<ArrayStream> streams, DataType type, bool isShuffled, uint64_t seed);

    const std::vector<StreamInfo>& Streams() const;
    // wanted: names of the streams to read; empty: all.
    void StartEpoch(size_t epoch, size_t minibatchSize, std::vector<std::string> wanted);
    // Reads the next minibatch: the data of each stream, null for those not wanted. False at the end of the epoch.
    bool Next(std::vector<std::shared_ptr<const InputData>>& streams);
    // Calls body with the reader, an IDataReader<float> or IDataReader<double>.
    template <class Body>
    auto Visit(const Body& body)
    {
        return std::visit([&](auto& typed) { return body(*typed.reader); }, m_typed);
    }
    // The samples of all data.
    size_t TotalSamples();
    // Returns what the reader has logged since the call before: whole lines.
    std::string TakeLog();

private:
    template <class ElemType>
    struct Typed
    {
        std::unique_ptr<IDataReader<ElemType>> reader;
        // Minibatches whose data may still be in use.
        std::vector<std::shared_ptr<HostMinibatch<ElemType>>> minibatches;
    };
    template <class ElemType>
    bool NextOf(Typed<ElemType>& typed, std::vector<std::shared_ptr<const InputData>>& streams);

    std::unique_ptr<ConfigParameters> m_config;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> m_logFile{nullptr, &std::fclose}; // without a name, in memory
    size_t m_logPosition = 0;
    std::unique_ptr<Log> m_log;
    std::variant<Typed<float>, Typed<double>> m_typed;
};

// The options of a reader plugin, for checks of names. Fails (Config) if there is no such plugin.
PluginDescription DescribeReader(const std::string& readerType);

} // namespace cntk::Api
