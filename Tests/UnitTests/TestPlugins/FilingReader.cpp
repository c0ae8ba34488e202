// A reader that has begun to write the file that its block names.
#include "Common/Config/ConfigParameters.h"
#include "Common/File.h"
#include "Common/PluginExports.h"

namespace
{

template <class ElemType>
class FilingReader final : public cntk::IDataReader<ElemType>
{
public:
    explicit FilingReader(const cntk::ReaderContext& context) : m_file(context.config.Require("file").Text())
    {
        m_file.Write("some of it");
    }
    const std::vector<cntk::StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const cntk::EpochRequest&) override {}
    bool GetMinibatch(cntk::HostMinibatch<ElemType>&) override { return false; }
    size_t TotalSamples() override { return 0; }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

private:
    cntk::AtomicFile m_file;
    std::vector<cntk::StreamInfo> m_streams;
};

template <class ElemType>
std::unique_ptr<cntk::IDataReader<ElemType>> MakeFilingReader(const cntk::ReaderContext& context)
{
    return std::make_unique<FilingReader<ElemType>>(context);
}

} // namespace

CNTK_EXPORT_READER(MakeFilingReader)
