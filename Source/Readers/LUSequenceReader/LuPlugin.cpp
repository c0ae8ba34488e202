// What the library exports: a reader and a writer.
#include "Common/PluginExports.h"
#include "Readers/LUSequenceReader/LuReader.h"
#include "Readers/ReaderLib/WordWriter.h"

namespace cntk
{
namespace
{

template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> MakeLuWriter(const ReaderContext& context)
{
    const auto read = [](const std::string& path)
    {
        Vocabulary labels = Vocabulary::FromList(path, Vocabulary::BlankLine::EndOfList);
        labels.RequireSingleWords("a file with id, count, word and class is for LMSequenceWriter");
        return labels;
    };
    return std::make_unique<WordWriter<ElemType>>(context, read);
}

} // namespace
} // namespace cntk

CNTK_EXPORT_READER(cntk::MakeLuReader)
CNTK_EXPORT_INPUT_FILES(cntk::AddLuInputFiles)
CNTK_EXPORT_WRITER(cntk::MakeLuWriter)

extern "C" CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
{
    description.name = "LUSequenceReader";
    description.doc = "Text for spoken language understanding: a token a line, its words and its label. As "
                      "LUSequenceWriter it writes the labels with the largest values.";
    cntk::DescribeLuOptions(description);
    cntk::DescribeWordWriterOptions(description, "Required. The labels, one a line, as token of the reader");
}
