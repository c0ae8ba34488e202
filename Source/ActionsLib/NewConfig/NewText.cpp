// Sentences with markers, a vocabulary, and a recurrent language model.
#include "ActionsLib/NewConfig/NewText.h"

#include "ActionsLib/NewConfig/NewFiles.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <map>

namespace cntk
{

namespace
{

constexpr const char* c_sentenceMarker = "</s>";
constexpr const char* c_unknownWord = "<unk>";
constexpr size_t c_largestVocabulary = 10000;
constexpr size_t c_fewestSentences = 30;

struct TextData
{
    std::vector<std::string> sentences; // with markers
    size_t words = 0;                   // without markers
};

TextData ReadSentences(std::string_view text)
{
    TextData data;
    for (const std::string_view line : Split(text, '\n'))
    {
        std::string sentence = c_sentenceMarker;
        for (size_t at = 0; at < line.size();)
        {
            const size_t begin = line.find_first_not_of(" \t\r", at);
            if (begin == std::string_view::npos)
                break;
            const size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
            const std::string_view word = line.substr(begin, end - begin);
            at = end;
            if (word == c_sentenceMarker)
                continue;
            sentence.append(" ").append(word);
            ++data.words;
        }
        if (sentence != c_sentenceMarker)
            data.sentences.push_back(sentence + " " + c_sentenceMarker);
    }
    return data;
}

// Words that occur twice or more in the training sentences, by falling count; begins with the marker and <unk>.
std::vector<std::string> VocabularyOf(const std::vector<std::string>& sentences, const DataSplit& split)
{
    std::map<std::string_view, size_t> counts;
    for (size_t i = 0; i < sentences.size(); ++i)
        if (split.parts[i] == TrainingPart)
            for (const std::string_view word : Split(sentences[i], ' '))
                ++counts[word];
    counts.erase(c_sentenceMarker);
    counts.erase(c_unknownWord);
    std::vector<std::pair<std::string_view, size_t>> sorted(counts.begin(), counts.end());
    std::erase_if(sorted, [](const auto& entry) { return entry.second < 2; });
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> words = {c_sentenceMarker, c_unknownWord};
    for (const auto& [word, ignored] : sorted)
        if (words.size() < c_largestVocabulary)
            words.emplace_back(word);
    return words;
}

std::string LmReaderText(const char* block, DataPart part, const char* comment, bool keepsOrder = false)
{
    return Concat("  ", block, "=[", comment, "\n    readerType=LMSequenceReader\n    file=$Folder$/",
                  c_partNames[part],
                  ".txt\n    nbruttsineachrecurrentiter=10    # sentences of one length in parallel\n",
                  keepsOrder ? "    cacheBlockSize=1                 # keeps the order of the text\n"
                             : "    cacheBlockSize=1000000           # words that are shuffled at a time\n",
                  "    features=[ dim=0; mode=oneHot ]\n"
                  "    labelIn=[ labelDim=$Words$; labelMappingFile=$Folder$/words.txt ]\n"
                  "    labels=[ labelDim=$Words$; labelType=nextWord ]\n  ]\n");
}

std::string TextConfigText(const NewFiles& files, const std::string& data, const std::vector<std::string>& assumptions,
                           size_t vocabulary, size_t words)
{
    const bool isSmall = words < 200000;
    std::string head = HeadText(files, data, assumptions, "Train:Test:Predict");
    head.pop_back();
    return head +
           Concat(
               "Words=", vocabulary,
               "      # size of the vocabulary: the lines of words.txt\nHidden=", isSmall ? 200 : 300,
               "\n\nTrain=[\n  action=train\n",
               "  SimpleNetworkBuilder=[\n"
               "    rnnType=LSTM                     # words are embedded, then one layer of LSTM cells\n"
               "    recurrentLayer=2\n"
               "    lookupTableOrder=1\n"
               "    sparseinput=true\n"
               "    layerSizes=$Words$:$Hidden$:$Hidden$:$Words$\n"
               "    trainingCriterion=CrossEntropyWithSoftmax   # its exponential is the perplexity\n"
               "    evalCriterion=ErrorPrediction\n"
               "    addDropoutNodes=true\n"
               "  ]\n"
               "  SGD=[\n"
               "    maxEpochs=",
               isSmall ? 14 : 8,
               "\n"
               "    minibatchSize=20                 # time steps of each parallel sentence\n"
               "    momentumPerMB=0\n"
               "    learningRatesPerSample=",
               isSmall ? "0.05*8:0.025*3:0.0125*2:0.00625" : "0.05*4:0.025*2:0.0125:0.00625",
               "   # rate*epochs, then a smaller rate\n"
               "    dropoutRate=",
               isSmall ? "0.5" : "0.2",
               "                  # also acts on the validation loss, which is then too high\n"
               "    gradientClippingWithTruncation=true\n"
               "    clippingThresholdPerSample=15\n"
               "    earlyStopPatience=3              # ends if the validation loss has not fallen for so many epochs\n"
               "    keepModels=last:3                # models of earlier epochs are removed; the best one stays\n"
               "  ]\n") +
           LmReaderText("reader", TrainingPart, "") + LmReaderText("cvReader", ValidationPart, "") +
           "]\n\n# Perplexity of text that the training has not seen\nTest=[\n  action=test\n  minibatchSize=100\n" +
           LmReaderText("reader", TestPart, "") +
           "]\n\n# The most probable next word after each word of the test text, a line for each sentence\n"
           "Predict=[\n  action=write\n  minibatchSize=1000\n  outputNodeNames=outputs\n" +
           LmReaderText("reader", TestPart, "", true) +
           "  writer=[\n    writerType=LUSequenceWriter\n    outputNodeNames=outputs\n"
           "    outputs=[ file=$Folder$/predictions.txt; token=$Folder$/words.txt ]\n  ]\n]\n";
}

} // namespace

std::string WriteTextConfig(const NewConfigRequest& request, std::string_view text)
{
    const TextData data = ReadSentences(text);
    if (data.sentences.size() < c_fewestSentences)
        Fail(ErrorKind::Data, "'", request.data, "' is no table, and a text of ",
             Counted(data.sentences.size(), "sentence"), " only; expected one sentence a line, ", c_fewestSentences,
             " or more; in a table each line has as many columns as the others");
    const std::vector<std::string_view> records(data.sentences.begin(), data.sentences.end());
    const DataSplit split = SplitRecords(records, {});
    const std::vector<std::string> words = VocabularyOf(data.sentences, split);
    NewFiles files(request.config, ".txt");
    const std::array<std::string, DataParts> parts = TextsOfParts(records, split, "");
    for (size_t part = 0; part < DataParts; ++part)
        files.Add(Concat(c_partNames[part], ".txt"), parts[part]);
    files.Add("words.txt", LabelMapText(words));
    const std::vector<std::string> assumptions = {
        Concat("a text of ", data.sentences.size(), " sentences, one a line, and ", data.words,
               " words, separated by blanks; ", c_sentenceMarker, " marks begin and end of a sentence"),
        Concat("to predict: the next word, one of ", words.size(), "; words that the training text has once only are ",
               c_unknownWord),
        split.InWords("sentence")};
    files.AddConfig(TextConfigText(files, request.data, assumptions, words.size(), data.words));
    files.Write();
    return ReportText(files, request.data, assumptions);
}

} // namespace cntk
