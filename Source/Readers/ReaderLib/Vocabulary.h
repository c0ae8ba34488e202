// Words and their ids, with counts and classes if the file has them. Reads word lists (one word a line), lists of words
// and classes, and the four-column files of the writeWordAndClass action.
#pragma once

#include "Readers/ReaderLib/LabelMap.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class Vocabulary
{
public:
    static constexpr int32_t c_unknown = LabelMap::c_unknown;

    // Words of one class are contiguous: [begin, end).
    struct WordClass
    {
        int32_t begin = 0;
        int32_t end = 0;
    };

    // Meaning of a blank line in a list.
    enum class BlankLine
    {
        Mistake,
        EndOfList
    };
    // Reads one word a line; its id is the line number from 0. Like the functions below, fails (Data) with file and
    // line.
    static Vocabulary FromList(const std::string& path, BlankLine blank);
    // Reads "word class" a line.
    static Vocabulary FromClassList(const std::string& path);
    // Reads "id count word class" a line; ids must be 0, 1, ... in order.
    static Vocabulary FromClassFile(const std::string& path);

    // The first line after the blank line that ended a list; 0: there is none.
    size_t LineBehindList() const { return m_lineBehindList; }
    size_t Size() const { return m_words.Size(); }
    const std::string& Source() const { return m_source; }
    const std::vector<std::string>& Words() const { return m_words.Names(); }
    int32_t Find(std::string_view word) const { return m_words.Find(word); }
    // For words of texts, which blanks separate: fails (Data) if most lines of the list hold several words, because no
    // text can contain these. remedy: the use of such a file, for the message.
    void RequireSingleWords(const char* remedy) const;
    // Returns ", did you mean"-text for an unknown word.
    std::string Hint(std::string_view word) const;

    // Empty if the file has none.
    const std::vector<double>& Counts() const { return m_counts; }
    const std::vector<int32_t>& ClassIds() const { return m_classIds; }
    const std::vector<WordClass>& Classes() const { return m_classes; }
    const WordClass& ClassOf(int32_t word) const { return m_classes[size_t(m_classIds[size_t(word)])]; }

    // The label of a class-based language model: word, class, first word of the class and the word after its last.
    static constexpr size_t c_classRows = 4;
    template <class ElemType>
    void PutClassLabel(int32_t word, ElemType* label) const
    {
        label[0] = ElemType(word);
        label[1] = ElemType(m_classIds[size_t(word)]);
        label[2] = ElemType(ClassOf(word).begin);
        label[3] = ElemType(ClassOf(word).end);
    }

private:
    void Add(std::string_view word, const std::string& location);
    void AddClass(std::string_view text, const std::string& location);
    void FinishClasses();

    LabelMap m_words;
    std::string m_source;
    size_t m_lineBehindList = 0;
    std::vector<double> m_counts;
    std::vector<int32_t> m_classIds;
    std::vector<WordClass> m_classes;
};

} // namespace cntk
