// What the library exports.
#include "Readers/HTKMLFReader/HtkReader.h"
#include "Readers/HTKMLFReader/HtkWriter.h"

extern "C"
{
    CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
    {
        return cntk::c_pluginAbi;
    }
    CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeHtkReader<float>(context);
    }
    CNTK_PLUGIN_EXPORT void GetReaderD(std::unique_ptr<cntk::IDataReader<double>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeHtkReader<double>(context);
    }
    CNTK_PLUGIN_EXPORT void GetWriterF(std::unique_ptr<cntk::IDataWriter<float>>& writer,
                                       const cntk::ReaderContext& context)
    {
        writer = cntk::MakeHtkWriter<float>(context);
    }
    CNTK_PLUGIN_EXPORT void GetWriterD(std::unique_ptr<cntk::IDataWriter<double>>& writer,
                                       const cntk::ReaderContext& context)
    {
        writer = cntk::MakeHtkWriter<double>(context);
    }
    CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
    {
        description.name = "HTKMLFReader";
        description.doc = "Speech: features of HTK files listed in a script file, labels of an HTK label file (MLF). "
                          "Writes outputs as HTK files (HTKMLFWriter).";
        cntk::DescribeHtkOptions(description);
    }
}
