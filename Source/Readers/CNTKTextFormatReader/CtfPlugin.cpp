// The exported functions of the plugin.
#include "Common/PluginExports.h"
#include "Readers/CNTKTextFormatReader/CtfReader.h"

CNTK_EXPORT_READER(cntk::MakeCtfReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddCtfInputFiles)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "CNTKTextFormatReader";
    description.doc = "Text with dense and sparse streams of sequences: |name value value or |name index:value. The "
                      "blocks of the streams are inside input=[ ... ].";
    cntk::DescribeCtfOptions(description);
}
