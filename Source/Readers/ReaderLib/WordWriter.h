// Writer of word sequences: for each column of a node the word with the largest value (or the n best), one line a
// sequence, into a file per node and into the log.
#pragma once

#include "Common/File.h"
#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/Vocabulary.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

template <class ElemType>
class WordWriter final : public IDataWriter<ElemType>
{
public:
    using LoadVocabulary = std::function<Vocabulary(const std::string& path)>;

    WordWriter(const ReaderContext& context, const LoadVocabulary& load);

    std::vector<std::string> OutputNames() const override { return m_names; }
    void RequireFit(const std::map<std::string, size_t>& rows, size_t sequences) const override;
    void SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                       const std::vector<std::string>& sequenceKeys) override;
    void Finish() override;

private:
    struct Output
    {
        Vocabulary words;
        size_t best = 1;
        std::string path;
        std::unique_ptr<AtomicFile> file; // opened with the first minibatch
    };
    static void Begin(Output& output);

    void RequireRows(size_t output, size_t rows) const;
    void Append(const Output& output, const ElemType* column, size_t rows);

    Log& m_log;
    std::vector<std::string> m_names;
    std::vector<Output> m_outputs;
    std::string m_line;
    std::vector<uint32_t> m_order;
};

// Describes the options of the writer block and of a node's block. tokenDoc: the doc of the option token.
void DescribeWordWriterOptions(PluginDescription& description, const char* tokenDoc);

} // namespace cntk
