// The exported functions of the plugin: a reader and a writer.
#include "Common/PluginExports.h"
#include "Readers/LMSequenceReader/LmReader.h"
#include "Readers/ReaderLib/ReaderOptions.h"
#include "Readers/ReaderLib/WordWriter.h"

namespace cntk
{
namespace
{

template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> MakeLmWriter(const ReaderContext& context)
{
    return std::make_unique<WordWriter<ElemType>>(context, Vocabulary::FromClassFile);
}

} // namespace
} // namespace cntk

CNTK_EXPORT_READER(cntk::MakeLmReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddLmInputFiles)
CNTK_EXPORT_WRITER(cntk::MakeLmWriter)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "LMSequenceReader";
    description.doc = "Text for language models: one sentence a line; words are the input, the next words the labels. "
                      "As LMSequenceWriter it writes the words with the largest values.";
    description.keepsOrder = "cacheBlockSize=1";
    cntk::DescribeLmOptions(description);
    cntk::DescribeWordWriterOptions(description,
                                    "Required. The words: lines of id, count, word and class, as wordclass");
}
