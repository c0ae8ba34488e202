// What the library exports.
#include "Readers/ImageReader/ImageReader.h"

extern "C"
{
    CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
    {
        return cntk::c_pluginAbi;
    }
    CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeImageReader<float>(context);
    }
    CNTK_PLUGIN_EXPORT void GetReaderD(std::unique_ptr<cntk::IDataReader<double>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeImageReader<double>(context);
    }
    CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
    {
        description.name = "ImageReader";
        description.doc =
            "Image files and their classes. Images are cut out, mirrored and scaled. Built where OpenCV is.";
        cntk::DescribeImageOptions(description);
    }
}
