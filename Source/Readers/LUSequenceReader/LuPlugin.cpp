// What the library exports: a reader and a writer.
#include "Readers/LUSequenceReader/LuReader.h"
#include "Readers/ReaderLib/WordWriter.h"

namespace cntk
{
namespace
{

Vocabulary ReadTokens(const std::string& path)
{
    return Vocabulary::FromList(path, true);
}

} // namespace
} // namespace cntk

extern "C"
{
    CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
    {
        return cntk::c_pluginAbi;
    }
    CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeLuReader<float>(context);
    }
    CNTK_PLUGIN_EXPORT void GetReaderD(std::unique_ptr<cntk::IDataReader<double>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeLuReader<double>(context);
    }
    CNTK_PLUGIN_EXPORT void GetWriterF(std::unique_ptr<cntk::IDataWriter<float>>& writer,
                                       const cntk::ReaderContext& context)
    {
        writer = std::make_unique<cntk::WordWriter<float>>(context, cntk::ReadTokens);
    }
    CNTK_PLUGIN_EXPORT void GetWriterD(std::unique_ptr<cntk::IDataWriter<double>>& writer,
                                       const cntk::ReaderContext& context)
    {
        writer = std::make_unique<cntk::WordWriter<double>>(context, cntk::ReadTokens);
    }
    CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
    {
        description.name = "LUSequenceReader";
        description.doc = "Text for spoken language understanding: a token a line, its words and its label. As "
                          "LUSequenceWriter it writes the labels with the largest values.";
        cntk::DescribeLuOptions(description);
        cntk::DescribeWordWriterOptions(description, "Required. The labels, one a line, as token of the reader");
    }
}
