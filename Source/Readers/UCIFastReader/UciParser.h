// The grammar of UCI text: columns of numbers and label texts, separated by blanks, tabs or a character of the
// user's.
#pragma once

#include "Common/TableText.h"
#include "Readers/ReaderLib/FrameReader.h"
#include "Readers/ReaderLib/LabelMap.h"
#include "Readers/ReaderLib/LineIndex.h"
#include "Readers/ReaderLib/NumberParser.h"

#include <span>
#include <string>
#include <vector>

namespace cntk
{

// Columns [start, start + count) of the file, of one stream.
struct UciColumns
{
    std::string stream;
    size_t start = 0;
    size_t count = 0;
    const LabelMap* labels = nullptr; // category labels: count is 1; null: numbers
    // For spreadsheets, columns of the file in the order of the stream, and the value of empty cells: one, or one for
    // each column. No value: an empty cell is an error.
    std::vector<size_t> columns{};
    std::vector<std::string> missing{};
};

struct UciFormat
{
    char delimiter = ' '; // besides blank, tab and carriage return
    char decimalPoint = '.';
    std::vector<UciColumns> streams{};
    bool isSpreadsheet = false; // cells lie between delimiters only, and may be quoted
    std::vector<std::string> header{};
};

template <class ElemType>
class UciParser
{
public:
    UciParser(UciFormat format, const LineIndex& lines);

    // Parses the piece's records; one target a stream. Fails (Data) with file, line, column, what was expected and what
    // was found.
    void Parse(const LineIndex::Piece& piece, std::span<const RecordTarget<ElemType>> targets);

    // Returns the text of a column in the record that begins at the offset in the piece; empty if the line ends before
    // it. Fails (Data) like Parse at an empty cell.
    std::string_view TextOfColumn(const LineIndex::Piece& piece, size_t offset, size_t column);

private:
    // Neighbouring columns with the same use, in the order of the line.
    struct Segment
    {
        size_t first = 0;
        size_t count = 0;
        std::vector<size_t> streams; // empty: columns nobody reads
    };

    // An element of a stream that a column of a spreadsheet holds.
    struct Use
    {
        size_t stream = 0;
        size_t element = 0;
    };

    void MakeSegments();
    void MakeUses();
    // Parses a record of a spreadsheet; returns its end.
    const char* ParseCells(const char* at, size_t index, std::span<const RecordTarget<ElemType>> targets);
    void TakeCell(const TableCell& cell, size_t column, size_t index, std::span<const RecordTarget<ElemType>> targets);
    double NumberOfCell(const TableCell& cell, const Use& use, size_t column) const;
    int32_t ClassOfCell(const TableCell& cell, const Use& use, size_t column) const;
    std::string ColumnInWords(size_t column) const;
    // Chooses the plan for these targets and the segments that are needed.
    const char* ParseRecord(const char* at, size_t index, std::span<const RecordTarget<ElemType>> targets);
    const char* ParseNumbers(const char* at, const Segment& segment, size_t stream, ElemType* values);
    const char* ParseShared(const char* at, const Segment& segment, size_t index,
                            std::span<const RecordTarget<ElemType>> targets);
    const char* SkipSeparators(const char* at) const;
    const char* EndOfToken(const char* at) const;
    void RequireNoEmptyCell(const char* begin, const char* end) const;
    size_t ColumnsBefore(const char* at) const;
    double SlowNumber(const char* begin, const char* end, size_t stream, size_t column) const;
    int32_t ClassOf(const char* begin, const char* end, size_t stream) const;

    bool EndsToken(char c) const { return m_numbers.IsTerminator(c); }
    bool IsSeparator(char c) const { return EndsToken(c) && c != '\n'; }
    std::string Location(const char* at) const;
    [[noreturn]] void FailMissing(const char* at, const Segment& segment) const;
    [[noreturn]] void FailWithLine(std::string message) const;

    UciFormat m_format;
    const LineIndex& m_lines;
    NumberParser m_numbers;
    bool m_hasDelimiter; // a delimiter that is no blank
    std::vector<Segment> m_segments;
    std::vector<std::vector<Use>> m_uses; // of a spreadsheet, by column
    std::string m_cellText;               // of TextOfColumn

    const char* m_record = nullptr; // the record being parsed, and its place in the file
    size_t m_recordOffset = 0;
};

} // namespace cntk
