// What the library exports: a reader and a writer.
#include "Readers/LMSequenceReader/LmReader.h"
#include "Readers/ReaderLib/WordWriter.h"

extern "C"
{
    CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
    {
        return cntk::c_pluginAbi;
    }
    CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeLmReader<float>(context);
    }
    CNTK_PLUGIN_EXPORT void GetReaderD(std::unique_ptr<cntk::IDataReader<double>>& reader,
                                       const cntk::ReaderContext& context)
    {
        reader = cntk::MakeLmReader<double>(context);
    }
    CNTK_PLUGIN_EXPORT void GetWriterF(std::unique_ptr<cntk::IDataWriter<float>>& writer,
                                       const cntk::ReaderContext& context)
    {
        writer = std::make_unique<cntk::WordWriter<float>>(context, cntk::Vocabulary::FromClassFile);
    }
    CNTK_PLUGIN_EXPORT void GetWriterD(std::unique_ptr<cntk::IDataWriter<double>>& writer,
                                       const cntk::ReaderContext& context)
    {
        writer = std::make_unique<cntk::WordWriter<double>>(context, cntk::Vocabulary::FromClassFile);
    }
    CNTK_PLUGIN_EXPORT void DescribePlugin(cntk::PluginDescription& description)
    {
        description.name = "LMSequenceReader";
        description.doc =
            "Text for language models: one sentence a line; words are the input, the words behind them the "
            "labels. As LMSequenceWriter it writes the words with the largest values.";
        cntk::DescribeLmOptions(description);
        cntk::DescribeWordWriterOptions(description,
                                        "Required. The words: lines of id, count, word and class, as wordclass");
    }
}
