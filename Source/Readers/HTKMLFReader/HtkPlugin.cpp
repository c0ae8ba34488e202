// The exported functions of the plugin: a reader and a writer.
#include "Common/PluginExports.h"
#include "Readers/HTKMLFReader/HtkReader.h"
#include "Readers/HTKMLFReader/HtkWriter.h"

CNTK_EXPORT_READER(cntk::MakeHtkReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddHtkInputFiles)
CNTK_EXPORT_WRITER(cntk::MakeHtkWriter)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "HTKMLFReader";
    description.doc = "Speech: features of HTK files listed in a script file, labels of an HTK label file (MLF). "
                      "Writes outputs as HTK files (HTKMLFWriter).";
    cntk::DescribeHtkOptions(description);
}
