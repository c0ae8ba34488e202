// The smallest reader that works: one stream of one value, two minibatches an epoch. It exports no writer.
#include "Common/ReaderInterface.h"

namespace
{

template <class ElemType>
class EchoReader final : public cntk::IDataReader<ElemType>
{
public:
    EchoReader() : m_streams(1)
    {
        m_streams[0].name = "features";
        m_streams[0].rows = 1;
    }
    const std::vector<cntk::StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const cntk::EpochRequest&) override { m_left = 2; }
    bool GetMinibatch(cntk::HostMinibatch<ElemType>& minibatch) override
    {
        if (m_left == 0)
            return false;
        minibatch.streams.resize(1);
        minibatch.streams[0].values.assign(1, ElemType(m_left--));
        return true;
    }
    size_t TotalSamples() override { return 2; }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

private:
    std::vector<cntk::StreamInfo> m_streams;
    size_t m_left = 0;
};

} // namespace

extern "C"
{
    CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
    {
        return cntk::c_pluginAbi;
    }
    CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>& reader, const cntk::ReaderContext&)
    {
        reader = std::make_unique<EchoReader<float>>();
    }
    CNTK_PLUGIN_EXPORT void GetReaderD(std::unique_ptr<cntk::IDataReader<double>>& reader, const cntk::ReaderContext&)
    {
        reader = std::make_unique<EchoReader<double>>();
    }
    CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
    {
        description.name = "EchoReader";
        description.doc = "Reads nothing and says so twice.";
        description.options = {{"", "traceLevel", "0", "Amount of printing."}};
    }
}
