// Writing the words of the largest values.
#include "Readers/ReaderLib/WordWriter.h"

#include "Common/Error.h"
#include "Common/FileClashes.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/OutputColumns.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <algorithm>
#include <numeric>

namespace cntk
{
namespace
{

struct WriterOptions
{
    std::vector<std::string> outputNodeNames;
    std::string unk = "<unk>";

    static OptionTable<WriterOptions> Options()
    {
        using S = WriterOptions;
        return {
            Opt("outputNodeNames", &S::outputNodeNames,
                "Required. Nodes to write; each has a block of its name in the writer's block")
                .Required(),
            Opt("unk", &S::unk, "the token files decide the words").WithoutEffect(),
        };
    }
};

struct OutputOptions
{
    std::string file;
    std::string token;
    size_t nbest = 1;

    static OptionTable<OutputOptions> Options()
    {
        using S = OutputOptions;
        return {
            Opt("file", &S::file, "Required. The text file to write").Required(),
            Opt("token", &S::token, "Required. The words").Required(),
            Opt("nbest", &S::nbest,
                "Number of words to write for each column, the largest value first; zero values are skipped", Range{1}),
        };
    }
};

} // namespace

template <class ElemType>
WordWriter<ElemType>::WordWriter(const ReaderContext& context, const LoadVocabulary& load) : m_log(context.log)
{
    const ConfigParameters& config = context.config;
    m_names = ReadOptions<WriterOptions>(config).outputNodeNames;
    std::vector<NamedFile> written;
    for (const std::string& name : m_names)
    {
        const ConfigParameters& block = RequireOutputBlock(config, name);
        const auto options = ReadOptions<OutputOptions>(block);
        Output output;
        output.words = WithPosition(block.WhereOf("token"), [&] { return load(ResolveInputPath(options.token)); });
        output.best = std::min(options.nbest, output.words.Size());
        RequireNotReadByOthers(config, {"file", options.file}, block.WhereOf("file"));
        RequireNotRead({"file", options.file}, written, block.WhereOf("file"));
        written.push_back({name + ":file", options.file});
        if (context.listed != nullptr)
            context.listed->RequireNone({"file", options.file}, block.WhereOf("file"));
        output.path = ResolveOutputPath(options.file);
        m_outputs.push_back(std::move(output));
    }
}

template <class ElemType>
void WordWriter<ElemType>::Append(const Output& output, const ElemType* column, size_t rows)
{
    const std::vector<std::string>& words = output.words.Words();
    if (output.best == 1)
    {
        (m_line += words[size_t(std::max_element(column, column + rows) - column)]) += ' ';
        return;
    }
    m_order.resize(rows);
    std::iota(m_order.begin(), m_order.end(), 0u);
    const auto isBetter = [&](uint32_t a, uint32_t b)
    { return column[a] != column[b] ? column[a] > column[b] : a < b; };
    std::partial_sort(m_order.begin(), m_order.begin() + ptrdiff_t(output.best), m_order.end(), isBetter);
    for (size_t i = 0; i < output.best; ++i)
    {
        if (column[m_order[i]] != ElemType(0))
            (m_line += words[m_order[i]]) += ' ';
    }
}

template <class ElemType>
void WordWriter<ElemType>::RequireRows(size_t output, size_t rows) const
{
    const Vocabulary& words = m_outputs[output].words;
    if (rows != words.Size())
        Fail(ErrorKind::Config, "node '", m_names[output], "' has ", Counted(rows, "row"), ", but its token file '",
             words.Source(), "' has ", Counted(words.Size(), "word"), "; expected one a row");
}

template <class ElemType>
void WordWriter<ElemType>::RequireFit(const std::map<std::string, size_t>& rows, size_t) const
{
    for (size_t i = 0; i < m_names.size(); ++i)
        if (const size_t* const rowsOfNode = FindOutput(rows, m_names[i]))
            RequireRows(i, *rowsOfNode);
}

template <class ElemType>
void WordWriter<ElemType>::SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                                         const std::vector<std::string>&)
{
    for (size_t i = 0; i < m_names.size(); ++i)
    {
        const StreamBatch<ElemType>* const found = FindOutput(outputs, m_names[i]);
        if (found == nullptr)
        {
            std::vector<std::string> names;
            for (const auto& entry : outputs)
                names.push_back(entry.first);
            Fail(ErrorKind::Config, "the writer's outputNodeNames has '", m_names[i],
                 "', which the command does not write; it writes ", Join(names, ", "), DidYouMean(m_names[i], names));
        }
        const StreamBatch<ElemType>& batch = *found;
        Output& output = m_outputs[i];
        RequireRows(i, batch.rows);
        m_line.clear();
        const auto append = [&](size_t column)
        { Append(output, batch.values.data() + column * batch.rows, batch.rows); };
        ForEachColumnOfSequences(batch, append, [&] { m_line += '\n'; });
        Begin(output);
        output.file->Write(m_line);
        m_log.Write(m_line);
    }
}

template <class ElemType>
void WordWriter<ElemType>::Begin(Output& output)
{
    if (output.file == nullptr)
        output.file = std::make_unique<AtomicFile>(output.path);
}

template <class ElemType>
void WordWriter<ElemType>::Finish()
{
    for (Output& output : m_outputs)
    {
        Begin(output); // the file is empty if there are no data
        output.file->Stage();
    }
    for (const Output& output : m_outputs)
        output.file->Commit();
}

void DescribeWordWriterOptions(PluginDescription& description, const char* tokenDoc)
{
    AddOptions<WriterOptions>(description, "writer");
    AddOptions<OutputOptions>(description, "writer:<node>");
    for (PluginOption& option : description.options)
    {
        if (option.block == "writer:<node>" && option.name == "token")
            option.doc = tokenDoc;
    }
}

template class WordWriter<float>;
template class WordWriter<double>;

} // namespace cntk
