// The exported functions of the plugin.
#include "Common/PluginExports.h"
#include "Readers/LibSVMBinaryReader/LibSvmReader.h"

CNTK_EXPORT_READER(cntk::MakeLibSvmReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddLibSvmInputFiles)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "LibSVMBinaryReader";
    description.doc =
        "Binary file of records with sparse features and dense labelsthat names its streams, in the order of the file.";
    cntk::DescribeLibSvmOptions(description);
}
