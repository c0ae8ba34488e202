// The exported functions of the plugin: a reader and a writer.
#include "Common/PluginExports.h"
#include "Readers/BinaryReader/BinaryReader.h"
#include "Readers/BinaryReader/BinaryWriter.h"

namespace cntk
{
namespace
{

template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> MakeBinaryWriter(const ReaderContext& context)
{
    return std::make_unique<BinaryWriter<ElemType>>(context);
}

} // namespace
} // namespace cntk

CNTK_EXPORT_READER(cntk::MakeBinaryReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddBinaryInputFiles)
CNTK_EXPORT_WRITER(cntk::MakeBinaryWriter)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "BinaryReader";
    description.doc =
        "Binary files of records, with sections of numbers and of labels. As BinaryWriter it writes them.";
    cntk::DescribeBinaryReaderOptions(description);
    cntk::DescribeBinaryWriterOptions(description);
}
