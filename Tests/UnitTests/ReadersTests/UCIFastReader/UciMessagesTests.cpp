// Full texts of the messages of UCIFastReader about wrong data and parameters.
#include "Common/Config/ConfigFiles.h"
#include "Common/Text.h"
#include "Readers/UCIFastReader/UciReader.h"
#include "ReadersTests/ReaderTestTools.h"

#include <filesystem>

namespace cntk
{
namespace
{

class UciMessagesTests : public ReaderTest
{
protected:
    UciMessagesTests()
    {
        m_map = Write("map.txt", "no\nyes\nmaybe\n");
        m_data = Write("data.txt", "1 2 no\n3 4 yes\n");
    }

    void Make(const std::string& block)
    {
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines(block) + "\n]", "test.cntk");
        m_reader = MakeUciReader<float>(ReaderContext{m_config->RequireBlock("reader"), m_log});
    }

    // Returns the message of creating a reader with this block, with its position in the config.
    std::string MakingSays(const std::string& block)
    {
        try
        {
            Make(block);
        }
        catch (const Error& error)
        {
            return std::string(NameOf(error.Kind())) + ": " + error.Where().Location() + ": " + error.Message();
        }
        return "no error";
    }

    // Returns the message of reading this text: a feature in columns 0 and 1, a label in column 2.
    std::string ReadingSays(const std::string& text, const std::string& more = "", size_t dim = 2)
    {
        Write("data.txt", text);
        Make(Concat("randomize=none ", more, " file=", m_data, "\nfeatures=[dim=", dim, "]\nlabels=[dim=1 start=", dim,
                    " labelDim=3 labelMappingFile=", m_map, "]"));
        HostMinibatch<float> minibatch;
        m_notes.clear();
        try
        {
            m_reader->StartEpoch({});
            while (m_reader->GetMinibatch(minibatch))
                ;
        }
        catch (const Error& error)
        {
            m_notes = error.Notes();
            return std::string(NameOf(error.Kind())) + ": " + error.Message();
        }
        return "no error";
    }

    std::string m_map;
    std::string m_data;
    std::vector<std::string> m_notes;
    std::unique_ptr<IDataReader<float>> m_reader;
};

TEST_F(UciMessagesTests, TextWhereANumberBelongs)
{
    for (const char* more : {"", "cacheMB=0", "prefetch=true", "prefetch=true cacheMB=0"})
    {
        EXPECT_EQ(ReadingSays("1 2 no\n\n3 4x yes\n5 6 no\n", more),
                  "data: " + m_data +
                      ":3:3: expected a number in column 1 ('features' is columns 0 to 1, counted from 0), " +
                      "found '4x'");
        EXPECT_EQ(m_notes, (std::vector<std::string>{"the line is: 3 4x yes"}));
    }
    EXPECT_EQ(ReadingSays("1 yes no\n"),
              "data: " + m_data +
                  ":1:3: expected a number in column 1 ('features' is columns 0 to 1, counted "
                  "from 0), found 'yes'");
    EXPECT_EQ(ReadingSays("1 2 no\n1 1e no"), "data: " + m_data +
                                                  ":2:3: expected a number in column 1 ('features' is columns 0 to 1, "
                                                  "counted from 0), found '1e'");
}

TEST_F(UciMessagesTests, ColumnsWithOtherSeparators)
{
    const std::string hint = "; columns are separated by blanks, tabs and the customDelimiter of the reader, and "
                             "numbers have its customDecimalPoint; customDelimiter=auto finds both and reads quoted "
                             "cells";
    const std::string expected =
        ": expected a number in column 0 ('features' is columns 0 to 1, counted from 0), found ";
    EXPECT_EQ(ReadingSays("1,2,no\n"), "data: " + m_data + ":1:1" + expected + "'1,2,no'" + hint);
    EXPECT_EQ(ReadingSays("1;2;no\n"), "data: " + m_data + ":1:1" + expected + "'1;2;no'" + hint);
    EXPECT_EQ(ReadingSays("1,5 2,5 no\n"), "data: " + m_data + ":1:1" + expected + "'1,5'" + hint);
}

// Skipping the cell would shift all columns after it.
TEST_F(UciMessagesTests, EmptyCells)
{
    const std::string comma = "customDelimiter=\",\"";
    const auto between = [&](const char* place, int column)
    {
        return Concat("data: ", m_data, place, ": column ", column,
                      " (counted from 0) is empty: nothing stands between two ','; expected a value in each column");
    };
    EXPECT_EQ(ReadingSays("1,2,no\n1,,yes\n", comma), between(":2:3", 1));
    EXPECT_EQ(m_notes, (std::vector<std::string>{"the line is: 1,,yes"}));
    EXPECT_EQ(ReadingSays("1,2,no\n1 , \t, 2 yes\n", comma), between(":2:4", 1));
    EXPECT_EQ(ReadingSays("1,2,,yes\n", comma), between(":1:5", 2));
    EXPECT_EQ(ReadingSays(",2,yes\n", comma),
              "data: " + m_data +
                  ":1:1: column 0 (counted from 0) is empty: nothing stands before the first ','; expected a value in "
                  "each column");
    std::filesystem::remove(m_map);
    Write("data.txt", "1,2,no\n1,,yes\n"); // and the labels of a map that is made
    EXPECT_THAT(MakingSays("allowMapCreation=true " + comma + " file=" + m_data +
                           "\nlabels=[dim=1 start=2 labelMappingFile=" + m_map + "]"),
                testing::HasSubstr("data.txt:2:3: column 1 (counted from 0) is empty"));
    Write("map.txt", "no\nyes\n");
    EXPECT_EQ(ReadingSays("1,2,no,\n 3 , 4\t,yes,,\r\n5 6 no\n", comma), "no error");
    EXPECT_EQ(ReadingSays("1\t\t2  no\n"), "no error");
}

TEST_F(UciMessagesTests, FilesThatAreNoLinesOfText)
{
    const auto opening = [&](const std::string& text)
    {
        Write("data.txt", text);
        return MakingSays("file=" + m_data + " features=[dim=2]");
    };
    const std::string place = "data: test.cntk:2:6: data file '" + m_data + "' ";
    EXPECT_EQ(opening("1 2 no\r3 4 yes\r"),
              place +
                  "has carriage returns without newlines, the first as byte 7; expected lines that end with LF or CR "
                  "LF");
    EXPECT_EQ(opening("\x1F\x8B..."), place + "is compressed in a way that the program does not read; unpack it");
    EXPECT_EQ(opening("\xFF\xFE..."), place + "is UTF-16 text, expected UTF-8 or ASCII");
    EXPECT_EQ(opening("1 2 no \r"), "no error");
}

TEST_F(UciMessagesTests, MissingColumn)
{
    EXPECT_EQ(ReadingSays("1 2 no\n3 4\n"),
              "data: " + m_data + ":2:4: the line has 2 columns, but 'labels' is column 2 (counted from 0)");
    EXPECT_EQ(ReadingSays("1\n"),
              "data: " + m_data + ":1:2: the line has 1 column, but 'features' is columns 0 to 1 (counted from 0)");
    EXPECT_EQ(ReadingSays("1 2 no\r\n3 4 \r\n"),
              "data: " + m_data + ":2:6: the line has 2 columns, but 'labels' is column 2 (counted from 0)");
}

TEST_F(UciMessagesTests, WrongDim)
{
    // a dimension larger than the file has: the label is met where a number belongs
    EXPECT_EQ(ReadingSays("1 2 no\n", "", 3), "data: " + m_data +
                                                  ":1:5: expected a number in column 2 ('features' is columns 0 to 2, "
                                                  "counted from 0), found 'no'");
    EXPECT_EQ(ReadingSays("1 2 3 no\n", ""),
              "data: " + m_data + ":1:5: label '3' is not in label map '" + m_map + "', which has 3 labels");
}

TEST_F(UciMessagesTests, LabelNotInTheMap)
{
    EXPECT_EQ(ReadingSays("1 2 no\n3 4 mabye\n"), "data: " + m_data + ":2:5: label 'mabye' is not in label map '" +
                                                      m_map + "', which has 3 labels; did you mean 'maybe'?");
    EXPECT_EQ(m_notes, (std::vector<std::string>{"the line is: 3 4 mabye"}));
}

TEST_F(UciMessagesTests, LongLinesAreShortened)
{
    ReadingSays("1 " + std::string(100, 'x') + " no\n");
    EXPECT_EQ(m_notes, (std::vector<std::string>{"the line is: 1 " + std::string(58, 'x') + "..."}));
}

TEST_F(UciMessagesTests, AnErrorInALaterEpochPartComesWhenItIsRead)
{
    Write("data.txt", "1 2 no\n3 4 no\nbad\n");
    Make("randomize=none cacheMB=0 prefetch=true file=" + m_data +
         "\nfeatures=[dim=2]\nlabels=[dim=1 start=2 labelMappingFile=" + m_map + "]");
    HostMinibatch<float> minibatch;
    EpochRequest request;
    request.minibatchSize = 1;
    m_reader->StartEpoch(request);
    EXPECT_TRUE(m_reader->GetMinibatch(minibatch));
    EXPECT_TRUE(m_reader->GetMinibatch(minibatch));
    EXPECT_THAT(MessageOf([&] { m_reader->GetMinibatch(minibatch); }), testing::HasSubstr(":3:1: expected a number"));
}

TEST_F(UciMessagesTests, FileThatChangesWhileItIsRead)
{
    std::string text;
    for (int i = 0; i < 100000; ++i)
        text += "1 2 no\n";
    const auto readAfter = [&](const char* more, auto&& change)
    {
        Write("data.txt", text);
        Make(Concat(more, " file=", m_data, "\nfeatures=[dim=2]\nlabels=[start=2 labelMappingFile=", m_map, "]"));
        HostMinibatch<float> minibatch;
        m_reader->StartEpoch({});
        m_reader->GetMinibatch(minibatch);
        change();
        return MessageOf(
            [&]
            {
                while (m_reader->GetMinibatch(minibatch))
                    ;
            });
    };
    const std::string changed = "data: data file '" + m_data + "' changed while it was read (was 700000 bytes, is ";
    for (const char* how : {"randomize=none prefetch=false", "randomize=none prefetch=false cacheMB=0", "prefetch=true",
                            "prefetch=true cacheMB=0"})
    {
        EXPECT_EQ(readAfter(how, [&] { std::filesystem::resize_file(m_data, 5000); }), changed + "5000)") << how;
        EXPECT_EQ(readAfter(how, [&] { std::filesystem::resize_file(m_data, 0); }), changed + "0)") << how;
    }
}

// The larger one counts, as in the original.
TEST_F(UciMessagesTests, LabelMapAndLabelDimDisagree)
{
    const std::string block = "file=" + m_data + "\nfeatures=[dim=2]\nlabels=[dim=1 start=2 labelMappingFile=" + m_map;
    Make(block + " labelDim=2]");
    EXPECT_THAT(LogText(), testing::HasSubstr("WARNING: test.cntk:9:10: labelDim=2 of 'labels', but '" + m_map +
                                              "' has 3 labels; expected labelDim=3\n"));
    EXPECT_EQ(m_reader->Streams()[1].rows, 3u);
    EXPECT_EQ(m_reader->Streams()[1].source, "'" + m_data + "', label map '" + m_map + "'");
    Make(block + " labelDim=5]");
    EXPECT_THAT(LogText(), testing::HasSubstr("WARNING: test.cntk:9:10: labelDim=5 of 'labels', but '" + m_map +
                                              "' has only 3 labels\n"));
    EXPECT_EQ(m_reader->Streams()[1].rows, 5u);
}

TEST_F(UciMessagesTests, LabelMapThatHasALabelTwice)
{
    const std::string twice = Write("twice.txt", "0\n1\n0\n");
    EXPECT_EQ(MakingSays("file=" + m_data + "\nlabels=[dim=1 labelDim=3 labelMappingFile=" + twice + "]"),
              "data: test.cntk:6:18: " + twice +
                  ":3: label '0' is in line 1 already; a label map must not repeat a label, since one of its classes "
                  "(0 and 2) could never occur");
}

TEST_F(UciMessagesTests, StreamsNameTheSourceOfTheirDimension)
{
    Make("file=" + m_data + "\nfeatures=[dim=2]\nlabels=[start=2 labelDim=3 labelMappingFile=" + m_map + "]");
    EXPECT_EQ(m_reader->Streams()[0].source, "'" + m_data + "', dim=2 at test.cntk:4:5");
    EXPECT_EQ(m_reader->Streams()[1].source, "'" + m_data + "', labelDim=3 at test.cntk:7:10");
    Make("file=" + m_data + "\nlabels=[start=2 labelMappingFile=" + m_map + "]\nnumbers=[dim=1 labelType=regression]");
    EXPECT_EQ(m_reader->Streams()[0].source, "'" + m_data + "', label map '" + m_map + "'");
    EXPECT_EQ(m_reader->Streams()[1].source, "'" + m_data + "', dim=1 at test.cntk:7:5");
}

TEST_F(UciMessagesTests, LabelMapMissingOrEmpty)
{
    const std::string block =
        "file=" + m_data + "\nfeatures=[dim=2]\nlabels=[dim=1 start=2 labelDim=3 labelMappingFile=";
    EXPECT_THAT(MakingSays(block + Path("mpa.txt") + "]"),
                testing::AllOf(testing::StartsWith("data: test.cntk:9:18: "),
                               testing::HasSubstr("label map '" + Path("mpa.txt") + "' does not exist"),
                               testing::HasSubstr("map.txt"),
                               testing::EndsWith("; the createLabelMap action makes it from the data")));
    const std::string empty = Write("empty.txt", "# nothing\n");
    EXPECT_THAT(MakingSays(block + empty + "]"), testing::EndsWith(": label map '" + empty + "' has no labels"));
    EXPECT_THAT(
        MakingSays("file=" + m_data + "\nfeatures=[dim=2]\nlabels=[dim=1 start=2 labelDim=3]"),
        testing::EndsWith(": 'labels': a category label needs labelMappingFile, a file with one label a line; the "
                          "createLabelMap action makes one; numbers as labels are labelType=regression"));
}

TEST_F(UciMessagesTests, DataFileMissingOrEmpty)
{
    EXPECT_THAT(MakingSays("file=" + Path("dtaa.txt") + " features=[dim=2]"),
                testing::AllOf(testing::HasSubstr("data file '" + Path("dtaa.txt") + "' does not exist"),
                               testing::HasSubstr("data.txt")));
    const std::string empty = Write("empty.txt", "");
    EXPECT_EQ(MakingSays("file=" + empty + " features=[dim=2]"),
              "data: test.cntk:2:6: data file '" + empty + "' is empty");
}

TEST_F(UciMessagesTests, ImpossibleBlocks)
{
    EXPECT_EQ(MakingSays("file=x\nlables=[start=2]"),
              "config: test.cntk:1:1: the reader has no feature block; it needs one such as features=[dim=2; start=0], "
              "named as the network's input; its blocks are lables");
    EXPECT_THAT(
        MakingSays("file=" + m_data +
                   "\nfeatures=[dim=2]\nlabels=[dim=2 start=2 labelType=category labelMappingFile=" + m_map + "]"),
        testing::HasSubstr("'labels': a category label is one column, dim=2 asks for more; numbers in several columns "
                           "are labelType=regression"));
    EXPECT_THAT(MakingSays("file=" + m_data + "\nfeatures=[dim=2]\nlabels=[start=2 labelType=regression]"),
                testing::EndsWith("'labels': labelType=regression needs dim, the number of label columns"));
    EXPECT_THAT(
        MakingSays("features=[dim=2 file=" + m_data + "]\nlabels=[dim=1 labelType=regression file=" + m_map + "]"),
        testing::EndsWith(": 'labels' reads '" + m_map + "', but 'features' reads '" + m_data +
                          "': features and labels must be in the same file"));
    const std::string otherSpelling = m_data.substr(0, m_data.rfind('/')) + "/./data.txt";
    EXPECT_EQ(MakingSays("features=[dim=2 file=" + m_data +
                         "]\nlabels=[dim=1 labelType=regression file=" + otherSpelling + "]"),
              "no error");
    EXPECT_THAT(MakingSays("features=[dim=2]"), testing::HasSubstr("file"));
    EXPECT_THAT(MakingSays("file=" + m_data + "\nfeatures=[dim=0]"), testing::HasSubstr("dim"));
}

TEST_F(UciMessagesTests, WrongValuesOfParameters)
{
    const std::string block = "file=" + m_data + "\nfeatures=[dim=2]\n";
    EXPECT_EQ(MakingSays(block + "randomize=some"),
              "config: test.cntk:5:11: 'reader:randomize' is 'some', expected auto, none or a number of records");
    EXPECT_EQ(MakingSays(block + "customDelimiter=ab"),
              "config: test.cntk:5:17: 'customDelimiter' is 'ab', expected one character that is no digit, or one of "
              "auto, comma, semicolon, tab, bar, space");
    EXPECT_EQ(MakingSays(block + "customDecimalPoint=\",\" customDelimiter=\",\""),
              "config: test.cntk:5:21: customDecimalPoint ',' is a column separator as well");
    EXPECT_THAT(MakingSays(block + "minibatchMode=most"), testing::HasSubstr("minibatchMode"));
    EXPECT_THAT(MakingSays(block + "prefetch=maybe"), testing::HasSubstr("prefetch"));
}

TEST_F(UciMessagesTests, NoBlockForAnyInput)
{
    Make("file=" + m_data + "\nfeatures=[dim=2]");
    EpochRequest request;
    request.wanted = {"input", "target"};
    EXPECT_EQ(
        MessageOf([&] { m_reader->StartEpoch(request); }),
        "config: UCIFastReader: the network's inputs are input, target, but the reader's blocks are features; a block "
        "needs the name of the input it fills");
}

} // namespace
} // namespace cntk
