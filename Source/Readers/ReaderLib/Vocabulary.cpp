// Reading vocabularies, and messages about malformed ones.
#include "Readers/ReaderLib/Vocabulary.h"

#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

void Vocabulary::Add(std::string_view word, const std::string& location)
{
    const size_t size = m_words.Size();
    const int32_t id = m_words.FindOrAdd(word);
    if (size_t(id) < size)
        Fail(ErrorKind::Data, location, ": word '", word, "' occurs twice, it has id ", id,
             " already; expected each word once");
    if (m_words.Size() > size_t(INT32_MAX))
        Fail(ErrorKind::Data, location, ": a vocabulary can have at most ", INT32_MAX, " words");
}

void Vocabulary::AddClass(std::string_view text, const std::string& location)
{
    const auto number = ParseInteger(text);
    if (!number || *number < 0 || *number > INT32_MAX)
        Fail(ErrorKind::Data, location, ": expected the number of a class, found '", text, "'");
    const int32_t last = m_classIds.empty() ? 0 : m_classIds.back();
    if (*number < last)
        Fail(ErrorKind::Data, location, ": class ", *number, " comes after class ", last,
             "; expected classes that do not decrease, since the words of a class must be consecutive");
    m_classIds.push_back(int32_t(*number));
}

void Vocabulary::FinishClasses()
{
    // Classes without words take memory that the file does not bound.
    constexpr size_t c_mostEmptyClasses = 1000000;
    if (!m_classIds.empty() && size_t(m_classIds.back()) >= m_classIds.size() + c_mostEmptyClasses)
        Fail(ErrorKind::Data, "'", m_source, "' has class ", m_classIds.back(), " among ",
             Counted(m_classIds.size(), "word"), "; expected classes numbered from 0, at most ", c_mostEmptyClasses,
             " of them without words");
    m_classes.assign(m_classIds.empty() ? 0 : size_t(m_classIds.back()) + 1, {});
    int32_t next = 0;
    for (size_t c = 0; c < m_classes.size(); ++c) // a class without words is empty
    {
        m_classes[c].begin = next;
        while (size_t(next) < m_classIds.size() && m_classIds[size_t(next)] == int32_t(c))
            ++next;
        m_classes[c].end = next;
    }
}

Vocabulary Vocabulary::FromList(const std::string& path, BlankLine blank)
{
    Vocabulary vocabulary;
    vocabulary.m_source = path;
    LineReader lines(path);
    size_t blankLine = 0;
    for (std::string_view line; lines.Next(line);)
    {
        const std::string_view word = Trim(line);
        if (word.empty() && blankLine == 0)
            blankLine = lines.LineNumber();
        if (word.empty())
            continue;
        if (blankLine > 0 && blank == BlankLine::Mistake) // blank lines after the last word do no harm
            Fail(ErrorKind::Data, path, ":", blankLine, ": expected a word, found a blank line");
        if (blankLine > 0)
        {
            vocabulary.m_lineBehindList = lines.LineNumber();
            break;
        }
        vocabulary.Add(word, lines.Location(word));
    }
    if (vocabulary.Size() == 0)
        Fail(ErrorKind::Data, "'", path, "' has no words; expected one a line");
    return vocabulary;
}

Vocabulary Vocabulary::FromClassList(const std::string& path)
{
    Vocabulary vocabulary;
    vocabulary.m_source = path;
    LineReader lines(path);
    std::vector<std::string_view> columns;
    bool hasEnded = false;
    for (std::string_view line; lines.Next(line);)
    {
        SplitTokens(line, columns);
        hasEnded = hasEnded || columns.empty();
        if (columns.empty())
            continue;
        if (hasEnded)
        {
            vocabulary.m_lineBehindList = lines.LineNumber();
            break;
        }
        if (columns.size() != 2)
            Fail(ErrorKind::Data, path, ":", lines.LineNumber(), ": expected a word and its class, found ",
                 columns.size(), columns.size() == 1 ? " column" : " columns");
        vocabulary.Add(columns[0], lines.Location(columns[0]));
        vocabulary.AddClass(columns[1], lines.Location(columns[1]));
    }
    if (vocabulary.Size() == 0)
        Fail(ErrorKind::Data, "'", path, "' has no words; expected a word and its class a line");
    vocabulary.FinishClasses();
    return vocabulary;
}

Vocabulary Vocabulary::FromClassFile(const std::string& path)
{
    Vocabulary vocabulary;
    vocabulary.m_source = path;
    LineReader lines(path);
    std::vector<std::string_view> columns;
    for (std::string_view line; lines.Next(line);)
    {
        SplitTokens(line, columns);
        if (columns.empty())
            continue;
        if (columns.size() != 4)
            Fail(ErrorKind::Data, path, ":", lines.LineNumber(),
                 ": expected four columns, id, count, word and class, found ", columns.size(), " in '", Trim(line),
                 "'");
        const auto id = ParseInteger(columns[0]);
        if (!id || size_t(*id) != vocabulary.Size())
            Fail(ErrorKind::Data, lines.Location(columns[0]), ": expected id ", vocabulary.Size(),
                 ", since ids count from 0, found '", columns[0], "'");
        const auto count = ParseDouble(columns[1]);
        if (!count || !(*count >= 0))
            Fail(ErrorKind::Data, lines.Location(columns[1]), ": expected how often the word occurs, found '",
                 columns[1], "'");
        vocabulary.Add(columns[2], lines.Location(columns[2]));
        vocabulary.m_counts.push_back(*count);
        vocabulary.AddClass(columns[3], lines.Location(columns[3]));
    }
    if (vocabulary.Size() == 0)
        Fail(ErrorKind::Data, "'", path, "' has no words; expected lines of id, count, word and class");
    vocabulary.FinishClasses();
    return vocabulary;
}

void Vocabulary::RequireSingleWords(const char* remedy) const
{
    const auto isSeveral = [](const std::string& word) { return word.find_first_of(" \t") != std::string::npos; };
    const std::vector<std::string>& words = Words();
    const auto first = std::find_if(words.begin(), words.end(), isSeveral);
    const auto several = size_t(std::count_if(first, words.end(), isSeveral));
    if (2 * several > words.size())
        Fail(ErrorKind::Data, m_source, ":", first - words.begin() + 1, ": expected one word a line, found '", *first,
             "', and several words in ", several, " of ", Counted(words.size(), "line"), "; ", remedy);
}

std::string Vocabulary::Hint(std::string_view word) const
{
    return DidYouMean(word, Words());
}

} // namespace cntk
