// action=testEncoderDecoder (book 3.5.11): evaluates the criteria of an encoder and a decoder over a data set, and
// decodes sentences with beam search.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/EncoderDecoder.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/PluginLoader.h"
#include "Common/ReaderInterface.h"
#include "Common/Text.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "SGD/Evaluation/BeamSearch.h"
#include "SGD/Evaluation/Evaluation.h"
#include "SGD/Minibatches/MinibatchParts.h"

#include <algorithm>
#include <map>

namespace cntk
{

namespace
{

struct TestEncoderDecoderOptions
{
    std::string encoderModelPath;
    std::string decoderModelPath;
    Schedule<size_t> minibatchSize = 40960;
    size_t epochSize = 0;
    size_t numMBsToShowResult = 100;
    std::vector<std::string> evalNodeNames;
    std::vector<std::string> outputNodeNames;
    size_t beamWidth = 1;
    size_t maxLength = 0;
    int endWord = -1;
    std::string outputPath;

    static OptionTable<TestEncoderDecoderOptions> Options()
    {
        using S = TestEncoderDecoderOptions;
        return {
            Opt("encoderModelPath", &S::encoderModelPath, "model of the encoder: <modelPath>.0 of the training")
                .Required(),
            Opt("decoderModelPath", &S::decoderModelPath, "model of the decoder: <modelPath>.1 of the training")
                .Required(),
            Opt("minibatchSize", &S::minibatchSize, "samples a minibatch; of a schedule the first value is used",
                Range{1}),
            Opt("epochSize", &S::epochSize, "samples of decoderReader to evaluate; 0: all data"),
            Opt("numMBsToShowResult", &S::numMBsToShowResult,
                "with traceLevel > 0, a line of intermediate results every so many minibatches"),
            Opt("evalNodeNames", &S::evalNodeNames,
                "nodes of the decoder to report; empty: all its evaluation nodes, then all its criteria"),
            Opt("outputNodeNames", &S::outputNodeNames,
                "the node of the decoder with the scores of words; empty: its first output node"),
            Opt("beamWidth", &S::beamWidth, "hypotheses kept at each word; 1: the most probable word each time",
                Range{1}),
            Opt("maxLength", &S::maxLength,
                "largest number of words of a decoded sentence; 0: the length of decoderReader's sentence"),
            Opt("endWord", &S::endWord, "number of the word that ends a sentence; -1: none", Range{-1}),
            Opt("outputPath", &S::outputPath, "text file for the decoded sentences, one a line; - is standard output"),
        };
    }
};

// Writes decoded sentences through a writer library: 1 in the row of each word, 0 in other rows.
class SentenceWriter
{
public:
    virtual ~SentenceWriter() = default;
    virtual void Write(const std::vector<std::vector<size_t>>& sentences, const std::vector<size_t>& ids,
                       const std::vector<std::string>& keys) = 0;
    virtual void Finish() = 0;
};

template <class ElemType>
class LibrarySentenceWriter final : public SentenceWriter
{
public:
    // words: vocabulary size; 0 if it is not known yet
    LibrarySentenceWriter(std::unique_ptr<IDataWriter<ElemType>> writer, std::string name, size_t words)
        : m_writer(std::move(writer)), m_name(std::move(name)), m_words(words)
    {
        if (m_words > 0)
            m_writer->RequireFit({{m_name, m_words}}, 0);
    }

    void Write(const std::vector<std::vector<size_t>>& sentences, const std::vector<size_t>& ids,
               const std::vector<std::string>& keys) override
    {
        size_t longest = 0;
        for (const std::vector<size_t>& sentence : sentences)
            longest = std::max(longest, sentence.size());
        const size_t rows = sentences.size();
        StreamBatch<ElemType>& batch = m_batches[m_name];
        batch.rows = m_words;
        batch.columns = rows * longest;
        batch.values.assign(batch.rows * batch.columns, ElemType(0));
        batch.layout = std::make_shared<MBLayout>();
        batch.layout->Init(rows, longest);
        for (size_t row = 0; row < rows; row++)
        {
            const size_t steps = sentences[row].size();
            batch.layout->AddSequence(ids[row], row, 0, ptrdiff_t(steps));
            if (steps < longest)
                batch.layout->AddGap(row, ptrdiff_t(steps), ptrdiff_t(longest));
            for (size_t step = 0; step < steps; step++)
                batch.values[(step * rows + row) * m_words + sentences[row][step]] = 1;
        }
        m_writer->SaveMinibatch(m_batches, keys);
    }

    void Finish() override { m_writer->Finish(); }

private:
    std::unique_ptr<IDataWriter<ElemType>> m_writer;
    std::string m_name;
    size_t m_words;
    std::map<std::string, StreamBatch<ElemType>> m_batches;
};

size_t ColumnOf(const ComputationNode& node, const SequenceInfo& sequence, size_t step)
{
    return (size_t(sequence.begin) + step) * node.GetMBLayout()->ParallelSequences() + sequence.row;
}

// The words of a node's columns: the rows of their largest elements.
class WordsOfColumns
{
public:
    explicit WordsOfColumns(const ComputationNode& node)
        : m_numbers(1, node.ValueColumns(), node.GetDataType(), node.GetDevice())
    {
        if (node.HasSparseForm())
            Ops::ArgMax(node.SparseValue(FrameRange::All()), m_numbers);
        else
            Ops::ArgMax(node.Value(), m_numbers);
        m_words = m_numbers.ToHost();
    }
    size_t At(size_t column) const { return size_t(m_words[column]); }

private:
    Matrix m_numbers;
    std::vector<double> m_words;
};

// False for HTKMLFReader, which reads no labels for writing.
bool KeepsLabelsForWriting(const ConfigParameters& reader)
{
    if (const auto parts = reader.FindHere("readers"))
    {
        const ConfigArray names = parts->AsArray();
        for (size_t i = 0; i < names.size(); ++i)
            if (const ConfigParameters* const part = reader.FindBlockHere(names[i].Text());
                part != nullptr && !KeepsLabelsForWriting(*part))
                return false;
        return true;
    }
    return ToLower(ReaderTypeOf(reader)).find("htkmlfreader") == std::string::npos;
}

std::shared_ptr<InputValueNode> FirstInput(const ComputationNetwork& network, NodeGroup group)
{
    const auto& nodes = network.Group(group);
    return nodes.empty() ? nullptr : std::dynamic_pointer_cast<InputValueNode>(nodes.front());
}

class TestEncoderDecoderJob final : public Job
{
public:
    explicit TestEncoderDecoderJob(const CommandContext& command)
        : m_command(command), m_encoderReader(RequireReader(command, "encoderReader")),
          m_decoderReader(RequireReader(command, "decoderReader")),
          m_options(ReadOptions<TestEncoderDecoderOptions>(command.block)), m_pairs(ReadPairOptions(command.block)),
          m_writer(command.block.FindBlock("writer"))
    {
        RegisterDevice(command);
        for (const ReaderSource& reader : {m_encoderReader, m_decoderReader})
            RequireSentences(*reader.block);
        m_options.encoderModelPath = ResolveOutputPath(m_options.encoderModelPath);
        m_options.decoderModelPath = ResolveOutputPath(m_options.decoderModelPath);
        m_options.outputPath = ResolveOutputPath(m_options.outputPath);
        RequireOutputNotRead();
        // Only their order identifies the written sentences, so the reader must not randomize.
        m_decoderReader.forWriting =
            (m_writer != nullptr || !m_options.outputPath.empty()) && KeepsLabelsForWriting(*m_decoderReader.block);
        if (m_writer == nullptr)
            return;
        RequireWriterPlugin(command, *m_writer);
    }

    void Run() override
    {
        Log& log = m_command.program.log;
        Models models = Load([this](const std::string& path, const char* key)
                             { return LoadModelOf(m_command, path, DeviceOf(m_command), key); });
        const std::vector<ComputationNodePtr> nodes = SelectEvaluationNodes(*models.decoder, m_options.evalNodeNames);
        const std::unique_ptr<MinibatchSource> source = OpenSource(nodes, models.roots);
        EvaluatorOptions options;
        options.keepValues = models.roots;
        Evaluator evaluator(*models.decoder, nodes, options);
        Decoding decoding = MakeDecoding(models, *source);
        OpenOutputs(decoding, *source);
        EvaluationSettings settings;
        settings.minibatchSize = m_options.minibatchSize[0];
        settings.epochSize = m_options.epochSize;
        settings.numMBsToShowResult = m_options.numMBsToShowResult;
        settings.traceLevel = TraceLevelOf(m_command);
        settings.afterMinibatch = [&] { DecodeMinibatch(models, decoding, source->SequenceKeys()); };
        const EvaluationResult result = EvaluateCriteria(evaluator, nodes, *source, settings, log);
        if (m_options.epochSize == 0)
            if (const std::string rest = source->DescribeUnmatched(); !rest.empty())
                log.Warn(rest + "; the encoder's additional data are not used");
        if (decoding.text) // so that either both outputs are written or none
            decoding.text->Stage();
        if (decoding.writer)
            decoding.writer->Finish();
        if (decoding.text)
            decoding.text->Commit();
        log.Print("Decoded %zu sentences with beamWidth = %zu", decoding.sentences, m_options.beamWidth);
        if (decoding.hasReference)
            log.Print("; %zu of them (%.2f%%) are those of decoderReader", decoding.equal,
                      100.0 * double(decoding.equal) / double(decoding.sentences));
        log.Print(".\n");
        if (RunListener* const listener = m_command.program.listener; listener != nullptr)
            listener->EvaluationEnds(DescribeEvaluation(*models.decoder, nodes, result, m_options.decoderModelPath));
    }

    void Validate() const override
    {
        RequireModel(m_command, m_options.encoderModelPath, "encoderModelPath");
        RequireModel(m_command, m_options.decoderModelPath, "decoderModelPath");
        if (m_writer != nullptr)
            RequireWriter(m_command, *m_writer);
    }

    std::vector<std::string> Outputs() const override
    {
        std::vector<std::string> files;
        if (m_writer != nullptr)
            files = FilesOfWriter(*m_writer);
        if (!m_options.outputPath.empty())
            files.push_back(m_options.outputPath);
        return files;
    }

    void Check() override
    {
        Log& log = m_command.program.log;
        if (m_writer != nullptr &&
            CanBeChecked(*m_writer, m_command.program)) // a writer writes nothing before it gets data
            OpenWriter({}, 0, {});
        const Models models = Load([this](const std::string& path, const char* key)
                                   { return LoadModelToCheck(m_command, path, DeviceOf(m_command), key); });
        if (models.decoder == nullptr)
            return;
        const std::vector<ComputationNodePtr> nodes = SelectEvaluationNodes(*models.decoder, m_options.evalNodeNames);
        LogNetwork(log, *models.encoder, 1);
        LogNetwork(log, *models.decoder, 1);
        if (!m_encoderReader.CanBeChecked() || !m_decoderReader.CanBeChecked())
            return;
        const std::unique_ptr<MinibatchSource> source = OpenSource(nodes, models.roots);
        MakeDecoding(models, *source); // fails if nodes for decoding are missing
        CheckSource(log, *models.decoder, nodes, *source, m_options.minibatchSize[0], CheckFor::Evaluation);
    }

private:
    void RequireOutputNotRead() const
    {
        std::vector<NamedFile> read{{"encoderModelPath", m_options.encoderModelPath},
                                    {"decoderModelPath", m_options.decoderModelPath}};
        for (const ReaderSource* reader : {&m_encoderReader, &m_decoderReader})
            for (NamedFile& file : FilesNamedIn(*reader->block))
                read.push_back(std::move(file));
        if (m_writer != nullptr) // files that it reads or writes
            for (const ConfigValue& value : m_writer->Values())
                if (const std::string key = ToLower(value.KeyPath()); key.ends_with("file") || key.ends_with(":token"))
                    read.push_back({value.KeyPath(), value.Text()});
        RequireNotRead({"outputPath", m_options.outputPath}, read, PlaceOf(m_command, "outputPath"));
    }

    struct Models
    {
        std::unique_ptr<ComputationNetwork> encoder;
        std::unique_ptr<ComputationNetwork> decoder; // paired
        std::unique_ptr<ComputationNetwork> alone;   // the decoder, its PairNetwork nodes with their own inputs
        std::vector<ComputationNodePtr> roots;       // of the encoder
    };

    struct Decoding
    {
        std::unique_ptr<BeamSearch> search;
        ComputationNodePtr output;               // the lone decoder's scores of words
        std::shared_ptr<InputValueNode> words;   // of the paired decoder
        std::shared_ptr<InputValueNode> labels;  // of the paired decoder, or null
        std::vector<ComputationNodePtr> sources; // nodes of the encoder, one for each input of the lone decoder
        std::vector<std::string> names;          // of words; empty: numbers
        std::unique_ptr<SentenceWriter> writer;  // or null
        std::unique_ptr<AtomicFile> text;        // or null
        bool hasReference = false;
        size_t sentences = 0;
        size_t equal = 0;
    };

    // A null network of load ends the loading; later models stay null.
    Models Load(const std::function<std::unique_ptr<ComputationNetwork>(const std::string&, const char*)>& load) const
    {
        Models models;
        models.encoder = load(m_options.encoderModelPath, "encoderModelPath");
        if (models.encoder != nullptr)
            models.alone = load(m_options.decoderModelPath, "decoderModelPath");
        if (models.alone == nullptr)
            return models;
        models.decoder = load(m_options.decoderModelPath, "decoderModelPath");
        models.roots = PairNetworks(*models.encoder, *models.decoder, m_pairs, m_command.program.log);
        return models;
    }

    std::unique_ptr<MinibatchSource> OpenSource(const std::vector<ComputationNodePtr>& nodes,
                                                const std::vector<ComputationNodePtr>& roots) const
    {
        std::unique_ptr<MinibatchSource> source = m_decoderReader.Open();
        source->BindTo(nodes);
        source->AddCompanion(m_encoderReader.Open(), roots, m_encoderReader.NameWithFiles(),
                             m_decoderReader.NameWithFiles());
        return source;
    }

    ComputationNodePtr OutputOf(const ComputationNetwork& decoder) const
    {
        if (m_options.outputNodeNames.size() > 1)
            FailAt(m_command.block.WhereOf("outputNodeNames"), ErrorKind::Config, "outputNodeNames names ",
                   m_options.outputNodeNames.size(), " nodes; expected one, with the scores of words");
        if (!m_options.outputNodeNames.empty())
        {
            const std::string& name = m_options.outputNodeNames.front();
            if (ComputationNodePtr node = decoder.Find(name))
                return node;
            std::vector<std::string> names;
            for (const ComputationNodePtr& node : decoder.Nodes())
                names.push_back(node->Name());
            FailAt(m_command.block.WhereOf("outputNodeNames"), ErrorKind::Config,
                   "outputNodeNames: the decoder has no node '", name, "'", DidYouMean(name, names));
        }
        const auto& outputs = decoder.Group(NodeGroup::Output);
        if (outputs.empty())
            Fail(ErrorKind::Model,
                 "the decoder names no output node; give outputNodeNames=<node>, with the scores of words");
        return outputs.front();
    }

    Decoding MakeDecoding(const Models& models, const MinibatchSource& source) const
    {
        Decoding decoding;
        const ComputationNodePtr output = OutputOf(*models.alone);
        std::vector<std::shared_ptr<InputValueNode>> inputs;
        for (const ComputationNodePtr& node : models.decoder->Nodes())
        {
            if (!node->InputWhenAlone())
                continue;
            auto input = std::dynamic_pointer_cast<InputValueNode>(models.alone->Require(node->Name())->Input(0));
            if (!input)
                Fail(ErrorKind::Model, "the input of PairNetwork node '", node->Name(),
                     "' is no input node; expected an input node for the encoder's values");
            inputs.push_back(std::move(input));
            decoding.sources.push_back(node->Input(0));
        }
        const auto words = FirstInput(*models.alone, NodeGroup::Feature);
        decoding.words = FirstInput(*models.decoder, NodeGroup::Feature);
        if (!words)
            Fail(ErrorKind::Model, "the decoder names no feature node; expected a feature node for the words");
        decoding.search = std::make_unique<BeamSearch>(*models.alone, output, words, inputs, m_options.beamWidth);
        decoding.labels = FirstInput(*models.decoder, NodeGroup::Label);
        decoding.hasReference = decoding.labels && decoding.labels->SampleElements() == output->SampleElements();
        if (m_options.endWord >= 0 && size_t(m_options.endWord) >= output->SampleElements())
            FailAt(m_command.block.WhereOf("endWord"), ErrorKind::Config, "endWord is ", m_options.endWord,
                   ", but there are only ", Counted(output->SampleElements(), "word"), ", counted from 0");
        for (const StreamInfo& stream : source.Streams())
            if (stream.isLabel && stream.labelNames.size() == output->SampleElements())
                decoding.names = stream.labelNames;
        decoding.output = output;
        ListedFilesOf(source).RequireNone({"outputPath", m_options.outputPath}, PlaceOf(m_command, "outputPath"));
        return decoding;
    }

    void OpenOutputs(Decoding& decoding, const MinibatchSource& source) const
    {
        if (!m_options.outputPath.empty())
            decoding.text = std::make_unique<AtomicFile>(m_options.outputPath);
        if (m_writer != nullptr)
            decoding.writer =
                OpenWriter(decoding.output->Name(), decoding.output->SampleElements(), ListedFilesOf(source));
    }

    std::unique_ptr<SentenceWriter> OpenWriter(const std::string& name, size_t words, const ListedFiles& listed) const
    {
        const ReaderContext context = WriterContextOf(m_command, *m_writer, listed);
        if (m_command.program.dataType == DataType::Float32)
            return std::make_unique<LibrarySentenceWriter<float>>(LoadWriter<float>(WriterTypeOf(*m_writer), context),
                                                                  name, words);
        return std::make_unique<LibrarySentenceWriter<double>>(LoadWriter<double>(WriterTypeOf(*m_writer), context),
                                                               name, words);
    }

    // Decodes the sentences of the minibatch that was evaluated last.
    void DecodeMinibatch(const Models& models, Decoding& decoding, const std::vector<std::string>& keys) const
    {
        const std::vector<SequenceInfo> sequences =
            SequencesById(decoding.words->GetMBLayout().get(), decoding.words->ValueColumns());
        std::vector<SentenceToDecode> sentences(sequences.size());
        std::vector<size_t> ids;
        const WordsOfColumns given(*decoding.words);
        for (size_t i = 0; i < sequences.size(); i++)
        {
            const SequenceInfo& sequence = sequences[i];
            ids.push_back(sequence.id);
            sentences[i].firstWord = given.At(ColumnOf(*decoding.words, sequence, 0));
            sentences[i].maxLength =
                m_options.maxLength > 0 ? m_options.maxLength : size_t(sequence.end - sequence.begin);
        }
        for (const ComputationNodePtr& source : decoding.sources)
            AddEncoded(*source, models.decoder->GetDataType(), sentences);
        const auto endWord =
            m_options.endWord >= 0 ? std::optional<size_t>(size_t(m_options.endWord)) : std::optional<size_t>();
        const std::vector<std::vector<size_t>> decoded = decoding.search->Decode(sentences, endWord);
        decoding.sentences += decoded.size();
        if (decoding.hasReference)
        {
            const WordsOfColumns wanted(*decoding.labels);
            for (size_t i = 0; i < sequences.size(); i++)
                decoding.equal += IsReference(decoded[i], sequences[i], *decoding.labels, wanted);
        }
        if (decoding.text)
            decoding.text->Write(TextOf(decoded, decoding.names));
        if (decoding.writer)
            decoding.writer->Write(decoded, ids, keys);
    }

    // Adds the encoder's values to the sentences. The encoder's reader gives its sequences the ids of the decoder's.
    static void AddEncoded(const ComputationNode& source, DataType type, std::vector<SentenceToDecode>& sentences)
    {
        Matrix values(0, 0, type, source.GetDevice());
        values.CopyFrom(source.Value());
        const std::vector<double> host = values.ToHost();
        const std::vector<SequenceInfo> sequences = SequencesById(source.GetMBLayout().get(), source.ValueColumns());
        for (size_t i = 0; i < sequences.size(); i++)
        {
            std::vector<double>& encoded = sentences[i].encoded.emplace_back();
            for (size_t step = 0; step < size_t(sequences[i].end - sequences[i].begin); step++)
            {
                const auto column = host.begin() + ptrdiff_t(ColumnOf(source, sequences[i], step) * values.Rows());
                encoded.insert(encoded.end(), column, column + ptrdiff_t(values.Rows()));
            }
        }
    }

    static bool IsReference(const std::vector<size_t>& decoded, const SequenceInfo& sequence,
                            const ComputationNode& labels, const WordsOfColumns& wanted)
    {
        const size_t steps = size_t(sequence.end - sequence.begin);
        if (decoded.size() != steps)
            return false;
        for (size_t step = 0; step < steps; step++)
            if (decoded[step] != wanted.At(ColumnOf(labels, sequence, step)))
                return false;
        return true;
    }

    static std::string TextOf(const std::vector<std::vector<size_t>>& sentences, const std::vector<std::string>& names)
    {
        std::string text;
        for (const std::vector<size_t>& sentence : sentences)
        {
            std::vector<std::string> words;
            for (const size_t word : sentence)
                words.push_back(names.empty() ? std::to_string(word) : names[word]);
            text += Join(words, " ") + "\n";
        }
        return text;
    }

    CommandContext m_command;
    ReaderSource m_encoderReader;
    ReaderSource m_decoderReader;
    TestEncoderDecoderOptions m_options;
    PairOptions m_pairs;
    const ConfigParameters* m_writer;
};

} // namespace

Action MakeTestEncoderDecoderAction()
{
    return {
        "testEncoderDecoder",
        {},
        "Evaluates an encoder and its decoder over a data set, and decodes a sentence for each sentence of the encoder "
        "by beam search.",
        "3.5.11",
        DescribeBoth<TestEncoderDecoderOptions, PairOptions>(),
        {"encoderReader", "decoderReader", "writer"},
        PrepareJob<TestEncoderDecoderJob>};
}

} // namespace cntk
