// The exported functions of the plugin.
#include "Common/PluginExports.h"
#include "Readers/UCIFastReader/UciReader.h"

CNTK_EXPORT_READER(cntk::MakeUciReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddUciInputFiles)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "UCIFastReader";
    description.doc = "Text with one record a line: columns of numbers and label texts.";
    cntk::DescribeUciOptions(description);
}
