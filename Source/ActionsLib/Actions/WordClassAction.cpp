// action=writeWordAndClass (book 3.5.9): counts the words of a text and writes the vocabulary of a class-based language
// model: words by falling count, each with a class.
#include "ActionsLib/ActionTable.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Gzip.h"
#include "Common/Text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace cntk
{

namespace
{

struct WordClassOptions
{
    std::string inputFile;
    std::string outputVocabFile;
    std::string outputWord2Cls;
    std::string outputCls2Index;
    std::string outputMappingFile;
    std::string beginSequence = "</s>";
    std::string endSequence = "</s>";
    std::string unk = "<unk>";
    size_t vocabSize = 0;
    size_t nbrClass = 0;
    size_t cutoff = 1;
    bool makeMode = true;

    static OptionTable<WordClassOptions> Options()
    {
        using S = WordClassOptions;
        return {
            Opt("inputFile", &S::inputFile, "the text, one sentence a line").Required(),
            Opt("outputVocabFile", &S::outputVocabFile,
                "vocabulary that is written, lines of id, count, word and class: wordclass of the LMSequenceReader")
                .Required(),
            Opt("outputWord2Cls", &S::outputWord2Cls, "file for the class of each word; required if there are classes"),
            Opt("outputCls2Index", &S::outputCls2Index,
                "file for the first word of each class; required if there are classes"),
            Opt("outputMappingFile", &S::outputMappingFile,
                "file for the words without counts, one per line: labelMappingFile of the LMSequenceReader"),
            Opt("vocabSize", &S::vocabSize, "size of the vocabulary with unk; rarer words count as unk",
                Range{1, double(INT32_MAX)})
                .Required(),
            Opt("nbrClass", &S::nbrClass,
                "number of classes; 0: no classes, and all words of the text in alphabetical order; vocabSize, cutoff "
                "and "
                "unk then have no effect"),
            Opt("cutoff", &S::cutoff, "the vocabulary has at most as many words as occur more often than cutoff"),
            Opt("beginSequence", &S::beginSequence, "word put at the beginning of lines that lack it"),
            Opt("endSequence", &S::endSequence, "word put at the end of lines that lack it"),
            Opt("unk", &S::unk, "the word for all words outside of the vocabulary"),
            Opt("makeMode", &S::makeMode, "true: do nothing if the files exist and are newer than the text"),
        };
    }
};

struct WordCount
{
    std::string word;
    double count = 0;
};

// Sorts by falling count, words of the same count by their text, so that the order does not depend on a hash table.
void SortByCount(std::vector<WordCount>& words)
{
    std::sort(words.begin(), words.end(),
              [](const WordCount& a, const WordCount& b)
              { return a.count != b.count ? a.count > b.count : a.word < b.word; });
}

// Six significant digits, as the original's streams print numbers.
std::string CountText(double count)
{
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", count);
    return buffer;
}

class WordClassJob final : public Job
{
public:
    explicit WordClassJob(const CommandContext& command)
        : m_command(command), m_options(ReadOptions<WordClassOptions>(command.block))
    {
        m_options.inputFile = ResolveInputPath(m_options.inputFile);
        const bool hasClasses = m_options.nbrClass > 0;
        for (const char* key : {"outputWord2Cls", "outputCls2Index"})
        {
            const std::string& path =
                key == std::string("outputWord2Cls") ? m_options.outputWord2Cls : m_options.outputCls2Index;
            if (hasClasses && path.empty())
                FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name, "' needs ", key,
                       "=<file to write>, since nbrClass=", m_options.nbrClass);
        }
        std::vector<NamedFile> others{{"inputFile", m_options.inputFile}};
        for (const auto& [key, path] : std::initializer_list<std::pair<const char*, std::string*>>{
                 {"outputVocabFile", &m_options.outputVocabFile},
                 {"outputWord2Cls", &m_options.outputWord2Cls},
                 {"outputCls2Index", &m_options.outputCls2Index},
                 {"outputMappingFile", &m_options.outputMappingFile}})
        {
            *path = ResolveOutputPath(*path);
            const bool isClassFile = path == &m_options.outputWord2Cls || path == &m_options.outputCls2Index;
            if (path->empty() || (isClassFile && !hasClasses))
                continue;
            RequireNotRead({key, *path}, others, command.block.WhereOf(key));
            others.push_back({key, *path});
            m_files.push_back(*path);
        }
        if (m_options.beginSequence.empty() || m_options.endSequence.empty())
            FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
                   "': beginSequence and endSequence must be words, such as </s>");
    }

    std::vector<std::string> Outputs() const override { return m_files; }

    void Check() override { RequireInput(); }

    void Run() override
    {
        RequireInput();
        Log& log = m_command.program.log;
        if (m_options.makeMode && IsUpToDate())
        {
            log.Print("All output files up to date.\n");
            if (const std::string sign = SignOfOtherParameters(); !sign.empty())
                log.Warn(sign + ": it was written with other parameters; makeMode=false writes it again");
            return;
        }
        for (const std::string& file : m_files)
            RequireWritable(file);
        const Output outputs[] = {{"Mapping file       --> ", "label-mapping file", m_options.outputMappingFile},
                                  {"Vocabulary file    --> ", "vocabulary file", m_options.outputVocabFile},
                                  {"Word-to-class map  --> ", "word-to-class map", m_options.outputWord2Cls},
                                  {"Class-to-index map --> ", "class-to-index map", m_options.outputCls2Index}};
        const auto isWritten = [&](const Output& output)
        { return std::find(m_files.begin(), m_files.end(), output.path) != m_files.end(); };
        for (const Output& output : outputs)
            if (isWritten(output))
                log.Print("%s%s\n", output.title, output.path.c_str());
        log.Print("Reading input file inputFile: %s\n", m_options.inputFile.c_str());
        std::vector<WordCount> words = CountWords();
        log.Print("Vocabulary size %d.\n", int(words.size()));
        if (m_options.nbrClass > 0)
            Truncate(words);
        else
            std::sort(words.begin(), words.end(),
                      [](const WordCount& a, const WordCount& b) { return a.word < b.word; });
        const std::vector<size_t> classes = AssignClasses(words);
        WriteFiles(words, classes);
        for (const Output& output : outputs)
            if (isWritten(output))
                log.Print("Created %s with %d entries.\n", output.what,
                          int(&output == &outputs[3] ? classes.back() - classes.front() + 1 : words.size()));
    }

private:
    struct Output
    {
        const char* title;
        const char* what;
        const std::string& path;
    };

    void RequireInput() const
    {
        const bool exists = FileExists(m_options.inputFile);
        std::error_code error;
        const bool isFolder = exists && std::filesystem::is_directory(m_options.inputFile, error);
        if (exists && !isFolder)
        {
            if (std::filesystem::is_regular_file(m_options.inputFile, error) &&
                std::filesystem::file_size(m_options.inputFile, error) == 0)
                FailAt(m_command.block.WhereOf("inputFile"), ErrorKind::Data, "text file '", m_options.inputFile,
                       "' is empty, expected a sentence a line");
            return;
        }
        const SourcePos where = m_command.block.WhereOf("inputFile");
        if (isFolder)
            FailAt(where, ErrorKind::Data, "'", m_options.inputFile, "' is a folder, expected a text file");
        FailAt(where, ErrorKind::Data, "text file '", m_options.inputFile, "' does not exist",
               NearFilesHint(m_options.inputFile));
    }

    bool IsUpToDate() const
    {
        namespace fs = std::filesystem;
        std::error_code problem;
        const fs::file_time_type input = fs::last_write_time(m_options.inputFile, problem);
        return std::all_of(m_files.begin(), m_files.end(),
                           [&](const std::string& file)
                           {
                               std::error_code missing;
                               const fs::file_time_type time = fs::last_write_time(file, missing);
                               return !missing && !problem && time > input;
                           });
    }

    // Describes how the existing vocabulary contradicts the parameters; empty if it does not.
    std::string SignOfOtherParameters() const
    {
        size_t words = 0;
        std::string last;
        std::ifstream file(m_options.outputVocabFile);
        for (std::string line; std::getline(file, line);)
            if (!Trim(line).empty())
            {
                ++words;
                last = line;
            }
        const auto lastClass = ParseInteger(Trim(std::string_view(last).substr(last.find_last_of(" \t") + 1)));
        const size_t classes = lastClass && *lastClass >= 0 ? size_t(*lastClass) + 1 : 0;
        const std::string found = "'" + m_options.outputVocabFile + "' has ";
        if (m_options.nbrClass > 0 && words > m_options.vocabSize)
            return Concat(found, words, " words, but vocabSize is ", m_options.vocabSize);
        if (classes > std::max<size_t>(m_options.nbrClass, 1))
            return Concat(found, classes, " classes, but nbrClass is ", m_options.nbrClass);
        return "";
    }

    // A plain text may be larger than the memory.
    std::unique_ptr<std::istream> OpenInput() const
    {
        auto plain = std::make_unique<std::ifstream>(m_options.inputFile, std::ios::binary);
        if (!plain->is_open())
            Fail(ErrorKind::Data, "cannot open text file '", m_options.inputFile,
                 "': ", std::generic_category().message(errno));
        std::string first(3, '\0');
        plain->read(first.data(), std::streamsize(first.size()));
        if (IsGzip(first))
            return std::make_unique<std::istringstream>(ReadTextFile(m_options.inputFile));
        plain->clear();
        plain->seekg(0);
        plain->exceptions(std::ios::badbit);
        return plain;
    }

    bool ReadLine(std::istream& input, std::string& line) const
    {
        try
        {
            return bool(std::getline(input, line));
        }
        catch (const std::ios_base::failure& failure)
        {
            Fail(ErrorKind::Data, "cannot read text file '", m_options.inputFile, "': ", failure.code().message());
        }
    }

    // Includes the sentence markers; a marker that begins and ends sentences counts once a line.
    std::vector<WordCount> CountWords() const
    {
        std::unordered_map<std::string, double> counts;
        const std::unique_ptr<std::istream> opened = OpenInput();
        std::istream& input = *opened;
        const bool isOneMarker = m_options.beginSequence == m_options.endSequence;
        std::string word;
        size_t lineNumber = 0;
        for (std::string line; ReadLine(input, line);)
        {
            if (++lineNumber == 1 && line.starts_with("\xEF\xBB\xBF")) // byte order mark
                line.erase(0, 3);
            if (line.find('\0') != std::string::npos)
                Fail(ErrorKind::Data, m_options.inputFile, ":", lineNumber,
                     ": a zero byte, expected UTF-8 or ASCII text; is it UTF-16, or a binary file?");
            if (lineNumber == 1 && input.eof())
                RequireNewlines(line, Concat("text file '", m_options.inputFile, "'"));
            std::string text(Trim(line));
            if (text.find(m_options.beginSequence + " ") == std::string::npos)
                text = m_options.beginSequence + " " + text;
            if (text.find(" " + m_options.endSequence) == std::string::npos)
                text += " " + m_options.endSequence;
            bool isFirst = true;
            for (size_t at = 0; at < text.size();)
            {
                const size_t begin = text.find_first_not_of(" \t\r", at);
                if (begin == std::string::npos)
                    break;
                const size_t end = std::min(text.find_first_of(" \t\r", begin), text.size());
                if (!isFirst || !isOneMarker)
                {
                    word.assign(text, begin, end - begin);
                    ++counts[word];
                }
                isFirst = false;
                at = end;
            }
        }
        if (counts.empty())
            Fail(ErrorKind::Data, "text file '", m_options.inputFile, "' has no words");
        std::vector<WordCount> words;
        for (const auto& [text, count] : counts)
            words.push_back({text, count});
        return words;
    }

    // Keeps the most frequent words; the counts of other words and of unk itself go to unk.
    void Truncate(std::vector<WordCount>& words) const
    {
        const auto isFrequent = [&](const WordCount& entry) { return entry.count > double(m_options.cutoff); };
        const size_t frequent = size_t(std::count_if(words.begin(), words.end(), isFrequent));
        size_t size = m_options.vocabSize;
        if (size > frequent)
        {
            m_command.program.log.Warn(Concat("writeWordAndClass: vocabSize=", size, ", but only ", frequent,
                                              " words occur more often than cutoff=", m_options.cutoff, "; ", frequent,
                                              " words are written"));
            size = frequent;
        }
        if (size == 0)
            Fail(ErrorKind::Data, "no word of '", m_options.inputFile,
                 "' occurs more often than cutoff=", m_options.cutoff, "; expected a lower cutoff or more text");
        SortByCount(words);
        std::vector<WordCount> kept;
        double others = 0;
        for (WordCount& entry : words)
        {
            if (entry.word != m_options.unk && kept.size() + 1 < size)
                kept.push_back(std::move(entry));
            else
                others += entry.count;
        }
        kept.push_back({m_options.unk, others});
        SortByCount(kept);
        words = std::move(kept);
    }

    // Assigns classes with about equal sums of the square roots of frequencies.
    std::vector<size_t> AssignClasses(const std::vector<WordCount>& words) const
    {
        std::vector<size_t> classes(words.size(), 0);
        if (m_options.nbrClass == 0)
            return classes;
        double total = 0;
        for (const WordCount& entry : words)
            total += entry.count;
        double norm = 0;
        for (const WordCount& entry : words)
            norm += std::sqrt(entry.count / total);
        double sum = 0;
        size_t wordClass = 0;
        for (size_t i = 0; i < words.size(); ++i)
        {
            sum = std::min(1.0, sum + std::sqrt(words[i].count / total) / norm);
            if (sum > double(wordClass + 1) / double(m_options.nbrClass) && wordClass + 1 < m_options.nbrClass)
                ++wordClass;
            classes[i] = wordClass;
        }
        if (classes.front() > 0)
            m_command.program.log.Warn(Concat("writeWordAndClass: '", words.front().word,
                                              "', the most frequent word, is larger than the share of "
                                              "one of ",
                                              m_options.nbrClass,
                                              " classes: class 0 has no word, and the class-to-index map begins "
                                              "with class 1; expected at most nbrClass=",
                                              size_t(norm / std::sqrt(words.front().count / total))));
        return classes;
    }

    void WriteFiles(const std::vector<WordCount>& words, const std::vector<size_t>& classes) const
    {
        std::string vocabulary, mapping, classOfWord, firstOfClass;
        for (size_t i = 0; i < words.size(); ++i)
        {
            vocabulary += "     " + std::to_string(i) + "\t     " + CountText(words[i].count) + "\t" + words[i].word +
                          "\t" + std::to_string(classes[i]) + "\n";
            mapping += words[i].word + "\n";
            classOfWord += std::to_string(classes[i]) + "\n";
            if (i == 0 || classes[i] != classes[i - 1])
                firstOfClass += std::to_string(i) + "\n";
        }
        std::vector<std::pair<std::string, std::string>> texts = {{m_options.outputVocabFile, vocabulary}};
        if (!m_options.outputMappingFile.empty())
            texts.emplace_back(m_options.outputMappingFile, mapping);
        if (m_options.nbrClass > 0)
        {
            texts.emplace_back(m_options.outputWord2Cls, classOfWord);
            texts.emplace_back(m_options.outputCls2Index, firstOfClass);
        }
        std::vector<std::unique_ptr<AtomicFile>> files;
        for (const auto& [path, text] : texts)
        {
            files.push_back(std::make_unique<AtomicFile>(path));
            files.back()->Write(text);
            files.back()->Stage();
        }
        for (const std::unique_ptr<AtomicFile>& file : files)
            file->Commit();
    }

    CommandContext m_command;
    WordClassOptions m_options;
    std::vector<std::string> m_files;
};

} // namespace

Action MakeWordClassAction()
{
    return {"writeWordAndClass",
            {},
            "Counts the words of a text and writes the vocabulary and the word classes of a language model.",
            "3.5.9",
            DescribeOptions<WordClassOptions>(),
            {},
            PrepareJob<WordClassJob>};
}

} // namespace cntk
