// The exported functions of the plugin.
#include "Common/PluginExports.h"
#include "Readers/DSSMReader/DssmReader.h"

CNTK_EXPORT_READER(cntk::MakeDssmReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddDssmInputFiles)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "DSSMReader";
    description.doc = "Pairs of a document and a query, from two binary files of sparse rows; the label of a pair is "
                      "its first row.";
    cntk::DescribeDssmOptions(description);
}
