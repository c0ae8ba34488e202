// The exported functions of the plugin.
#include "Common/PluginExports.h"
#include "Readers/SparsePCReader/SparsePcReader.h"

CNTK_EXPORT_READER(cntk::MakeSparsePcReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddSparsePcInputFiles)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "SparsePCReader";
    description.doc = "Binary file of records with sparse features and one label value, in the order of the file.";
    cntk::DescribeSparsePcOptions(description);
}
