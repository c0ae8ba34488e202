// Tables as spreadsheets write them: headers, quoted cells, columns by name, delimiters by word, empty cells.
#include "Readers/UCIFastReader/UciReader.h"
#include "ReadersTests/ReaderTestTools.h"

namespace cntk
{
namespace
{

class UciTableTests : public ReaderTest
{
protected:
    UciTableTests() { m_map = Write("map.txt", "no\nyes\nperhaps not\n"); }

    std::unique_ptr<IDataReader<float>> Open(const std::string& text, const std::string& reader,
                                             const std::string& features, const std::string& labels)
    {
        const std::string data = Write("data.csv", text);
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines("randomize=none file=" + data + " " + reader) +
                                               "\nfeatures=[" + OnLines(features) + "\n]\nlabels=[" +
                                               OnLines(labels + " labelMappingFile=" + m_map) + "\n]\n]",
                                           "test.cntk");
        return MakeUciReader<float>(ReaderContext{m_config->RequireBlock("reader"), m_log});
    }
    std::vector<Sample> Read(const std::string& text, const std::string& reader, const std::string& features = "dim=2",
                             const std::string& labels = "start=2 labelDim=3")
    {
        return ReadEpoch(*Open(text, reader, features, labels), MakeRequest(0, 2));
    }
    std::string Says(const std::string& text, const std::string& reader, const std::string& features = "dim=2",
                     const std::string& labels = "start=2 labelDim=3")
    {
        std::string message = MessageOf([&] { Read(text, reader, features, labels); });
        if (const size_t at = message.find(m_folder + "/"); at != std::string::npos)
            message.erase(at, m_folder.size() + 1);
        return WithoutFolders(message);
    }

    const std::vector<Sample> m_expected{{{1.5, 2}, {1}}, {{-3, 4.25}, {0}}, {{5, 6}, {2}}};
    std::string m_map;
};

TEST_F(UciTableTests, Delimiters)
{
    EXPECT_EQ(Read("1.5,2,yes\n-3, 4.25 ,no\n5,6,perhaps not\n", "customDelimiter=comma"), m_expected);
    EXPECT_EQ(Read("1.5\t2\tyes\n-3\t4.25\tno\n5\t6\tperhaps not\n", "customDelimiter=tab"), m_expected);
    for (const char delimiter : {',', ';', '|', '\t'})
    {
        std::string text = "1.5,2,yes\r\n-3,4.25,no\r\n5,6,perhaps not\r\n";
        std::replace(text.begin(), text.end(), ',', delimiter);
        EXPECT_EQ(Read(text, "customDelimiter=auto"), m_expected) << delimiter;
    }
    EXPECT_EQ(Read("1,5;2;yes\n-3;4,25;no\n5;6;perhaps not\n", "customDelimiter=auto"), m_expected);
    EXPECT_EQ(Read("1,5;2;yes\n-3;4,25;no\n5;6;perhaps not\n", "customDelimiter=semicolon customDecimalPoint=comma"),
              m_expected);
    EXPECT_EQ(Read("1.5 2 yes\n-3  4.25 no\n5 6 \"perhaps not\"\n", "customDelimiter=auto"), m_expected);
}

TEST_F(UciTableTests, QuotedCells)
{
    const std::string text = "\"1.5\",2,\"yes\"\n\"-3\",\"4.25\",no\n5,6,\"perhaps not\"\n";
    EXPECT_EQ(Read(text, "customDelimiter=auto"), m_expected);
    EXPECT_EQ(Read(text, "customDelimiter=\",\""), m_expected) << "quotes after a delimiter that is a character";
    Write("map.txt", "a \"b\", c\nx\n");
    m_map = Write("map2.txt", "{a \"b\", c}\nx\n");
    EXPECT_EQ(Read("1,2,\"a \"\"b\"\", c\"\n3,4,x\n", "customDelimiter=comma"),
              (std::vector<Sample>{{{1, 2}, {0}}, {{3, 4}, {1}}}));
    EXPECT_EQ(Says("1,2,\"x\n3,4,x\n", "customDelimiter=comma"),
              "data: data.csv:1:6: the quotes of column 2 are not closed in this line; a record is one line");
}

TEST_F(UciTableTests, Headers)
{
    const std::string rows = "1.5,2,yes\n-3,4.25,no\n5,6,perhaps not\n";
    EXPECT_EQ(Read("length,width,kind\n" + rows, "customDelimiter=comma"), m_expected);
    EXPECT_NE(LogText().find("the first line is a header: length, width, kind"), std::string::npos) << LogText();
    EXPECT_EQ(Read("1,2,3\n" + rows, "customDelimiter=comma header=true"), m_expected);
    EXPECT_EQ(Read("length width kind\n1.5 2 yes\n-3 4.25 no\n", ""),
              (std::vector<Sample>{m_expected[0], m_expected[1]}));
    EXPECT_EQ(
        Says("length,width,kind\n" + rows, "customDelimiter=comma header=false"),
        "data: data.csv:1:1: expected a number in column 0 of 'features' (counted from 0), found 'length'; columns "
        "are separated by ',', and the decimal point is '.'");
    EXPECT_NE(Says("x,2,yes\n" + rows, "customDelimiter=comma"), "no error") << "one number is missing: no header";
    EXPECT_EQ(Says("a,b,c\n", "customDelimiter=comma"), "data: data file 'data.csv' has a header and no record");
}

TEST_F(UciTableTests, ColumnsByName)
{
    const std::string text = "kind,Width,id,length\nyes,2,1,1.5\nno,4.25,2,-3\n\"perhaps not\",6,3,5\n";
    EXPECT_EQ(Read(text, "customDelimiter=comma", "columns=length:width", "column=kind"), m_expected);
    EXPECT_EQ(Read(text, "customDelimiter=comma", "columns=3:1", "columns=0"), m_expected);
    EXPECT_EQ(
        Says(text, "customDelimiter=comma", "columns=lenght:width", "column=kind"),
        "data: 'features' reads column 'lenght', but the first line of 'data.csv' has no such name: kind, Width, id, "
        "length; did you mean 'length'?");
    EXPECT_EQ(Says(text, "customDelimiter=comma", "columns=length:width dim=3", "column=kind"),
              "config: 'features' has dim=3, but columns lists 2");
    EXPECT_EQ(Says(text, "customDelimiter=comma", "columns=length:width start=3", "column=kind"),
              "config: 'features' has both start and columns; expected one of them");
    EXPECT_EQ(Says("length,kind\n1,yes\n", "", "columns=length", "column=kind"),
              "data: 'features' reads column 'length', but the first line of 'data.csv' has no such name: length,kind; "
              "columns are separated by blanks; customDelimiter=auto finds another delimiter");
    EXPECT_EQ(Says("1,2,yes\n", "customDelimiter=comma", "columns=length", "column=2").substr(0, 60),
              "data: 'features' reads column 'length', but the first line o");
}

TEST_F(UciTableTests, EmptyCells)
{
    const std::string text = "a,b,c\n1.5,2,yes\n-3,,no\n5,6,\n";
    EXPECT_EQ(Says(text, "customDelimiter=comma"),
              "data: data.csv:3:4: column 1 (b) (counted from 0) is empty; expected a value in each column, or "
              "missing=<value> in the block 'features'");
    EXPECT_EQ(Read(text, "customDelimiter=comma", "dim=2 missing=-1", "start=2 labelDim=3 missing=yes"),
              (std::vector<Sample>{{{1.5, 2}, {1}}, {{-3, -1}, {0}}, {{5, 6}, {1}}}));
    EXPECT_EQ(Says(text, "customDelimiter=comma", "dim=2 missing=none"),
              "config: missing=none of 'features' is no number");
    const std::string statistics = "a,b,c\nNA,2,\n,?,no\n";
    EXPECT_EQ(Read(statistics, "customDelimiter=comma", "dim=2 missing=7:8", "start=2 labelDim=3 missing=yes"),
              (std::vector<Sample>{{{7, 2}, {1}}, {{7, 8}, {0}}}));
    EXPECT_EQ(Says(statistics, "customDelimiter=comma"),
              "data: data.csv:2:1: column 0 (a) (counted from 0) is 'NA'; expected a value in each column, or "
              "missing=<value> in the block 'features'");
    EXPECT_EQ(Says(text, "customDelimiter=comma", "dim=2 missing=1:2:3"),
              "config: missing of 'features' lists 3 values; expected one, or one for each of the 2 columns");
    EXPECT_EQ(Says("1,2\n", "customDelimiter=comma").substr(0, 56),
              "data: data.csv:1:4: the line has 2 columns, but 'labels'");
}

} // namespace
} // namespace cntk
