// The smallest library that the loader accepts: one stream with one value, two minibatches an epoch. No network can
// train with its data, which have no layout. It exports no writer and links with nothing.
#include "Common/PluginExports.h"

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

template <class ElemType>
std::unique_ptr<cntk::IDataReader<ElemType>> MakeEchoReader(const cntk::ReaderContext&)
{
    return std::make_unique<EchoReader<ElemType>>();
}

} // namespace

CNTK_EXPORT_READER(MakeEchoReader)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "EchoReader";
    description.doc = "Reads nothing and says so twice.";
    description.options = {{"", "traceLevel", "0", "Amount of printing."}};
}
