// What the library exports: a reader and a writer.
#include "Readers/BinaryReader/BinaryReader.h"
#include "Readers/BinaryReader/BinaryWriter.h"

extern "C"
{
    CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
    {
        return cntk::c_pluginAbi;
    }
    CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeBinaryReader<float>(context);
    }
    CNTK_PLUGIN_EXPORT void GetReaderD(std::unique_ptr<cntk::IDataReader<double>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeBinaryReader<double>(context);
    }
    CNTK_PLUGIN_EXPORT void GetWriterF(std::unique_ptr<cntk::IDataWriter<float>>& writer,
                                       const cntk::ReaderContext& context)
    {
        writer = std::make_unique<cntk::BinaryWriter<float>>(context);
    }
    CNTK_PLUGIN_EXPORT void GetWriterD(std::unique_ptr<cntk::IDataWriter<double>>& writer,
                                       const cntk::ReaderContext& context)
    {
        writer = std::make_unique<cntk::BinaryWriter<double>>(context);
    }
    CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
    {
        description.name = "BinaryReader";
        description.doc =
            "Binary files of records, with sections of numbers and of labels. As BinaryWriter it writes them.";
        cntk::DescribeBinaryReaderOptions(description);
        cntk::DescribeBinaryWriterOptions(description);
    }
}
