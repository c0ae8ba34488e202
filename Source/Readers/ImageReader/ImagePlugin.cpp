// The exported functions of the plugin.
#include "Common/PluginExports.h"
#include "Readers/ImageReader/ImageReader.h"

CNTK_EXPORT_READER(cntk::MakeImageReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddImageInputFiles)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "ImageReader";
    description.doc = "Image files and their classes. Images are cropped, mirrored and scaled. Needs OpenCV.";
    cntk::DescribeImageOptions(description);
}
