// Words and their ids, with counts and classes where the file has them: word lists (one a line), lists of words and
// classes, and the four-column files of the writeWordAndClass action.
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

    // What a blank line in a list is.
    enum class BlankLine
    {
        Mistake,
        EndOfList
    };
    // One word a line, id = line from 0.
    static Vocabulary FromList(const std::string& path, BlankLine blank);
    // "word class" a line.
    static Vocabulary FromClassList(const std::string& path);
    // "id count word class" a line; ids 0, 1, ... in order. All fail (Data) with file and line.
    static Vocabulary FromClassFile(const std::string& path);

    // The first line behind the blank one that ended a list; 0: there is none.
    size_t LineBehindList() const { return m_lineBehindList; }
    size_t Size() const { return m_words.Size(); }
    const std::string& Source() const { return m_source; }
    const std::vector<std::string>& Words() const { return m_words.Names(); }
    int32_t Find(std::string_view word) const { return m_words.Find(word); }
    // For words of texts, which blanks separate: fails (Data), with the first line, where most lines of the list hold
    // several words, none of which a text would have. remedy: what such a file is good for.
    void RequireSingleWords(const char* remedy) const;
    // ", did you mean"-text for a word that is not there.
    std::string Hint(std::string_view word) const;

    // Empty where the file has none.
    const std::vector<double>& Counts() const { return m_counts; }
    const std::vector<int32_t>& ClassIds() const { return m_classIds; }
    const std::vector<WordClass>& Classes() const { return m_classes; }
    const WordClass& ClassOf(int32_t word) const { return m_classes[size_t(m_classIds[size_t(word)])]; }

    // The label of a class-based language model: word, class, first word of the class and one behind its last.
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
