// The exported functions of the plugin: a reader and a writer.
#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/PluginExports.h"
#include "Common/Text.h"
#include "Readers/LUSequenceReader/LuReader.h"
#include "Readers/ReaderLib/WordWriter.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace cntk
{
namespace
{

// Refuses a file of writeWordAndClass. Labels of other data may contain blanks.
void RequireNoClasses(const Vocabulary& labels)
{
    std::vector<std::string_view> columns;
    const auto hasClass = [&](const std::string& line)
    {
        SplitTokens(line, columns);
        return columns.size() == 4 && ParseInteger(columns.front()) && ParseInteger(columns.back());
    };
    const std::vector<std::string>& lines = labels.Words();
    if (!lines.empty() && std::all_of(lines.begin(), lines.end(), hasClass))
        Fail(ErrorKind::Data, labels.Source(), ":1: expected one label a line, found '", lines.front(),
             "'; a file with id, count, word and class is for LMSequenceWriter");
}

template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> MakeLuWriter(const ReaderContext& context)
{
    const auto read = [](const std::string& path)
    {
        Vocabulary labels = Vocabulary::FromList(path, Vocabulary::BlankLine::EndOfList);
        RequireNoClasses(labels);
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
    description.doc = "Text for spoken language understanding: one token a line, its words and its label. As "
                      "LUSequenceWriter it writes the labels with the largest values.";
    cntk::DescribeLuOptions(description);
    cntk::DescribeWordWriterOptions(description, "Required. The labels, one a line, as token of the reader");
}
