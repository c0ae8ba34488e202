// The output of the write action, byte by byte: parallel sequences, separators, labels, elements of several axes.
#include "ActionsLib/Actions/TextOutput.h"
#include "Common/Log.h"
#include "CommonTests/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

class TextOutputTest : public testing::Test
{
protected:
    TextOutputTest() { m_folder.Enter(); }

    // Two rows; three steps of sequence 0, two of sequence 1 beside it, whose third place is a gap.
    std::string TextOf(const OutputFormat& format, const std::vector<double>& values,
                       const TensorShape& shape = TensorShape{2}, size_t minibatches = 1)
    {
        TextOutput output("out.txt", "z", format, m_log);
        MBLayout layout;
        layout.Init(2, 3);
        layout.AddSequence(0, 0, 0, 3);
        layout.AddSequence(1, 1, 0, 2);
        layout.AddGap(1, 2, 3);
        for (size_t i = 0; i < minibatches; ++i)
            output.Write(values, shape, &layout);
        output.Stage();
        output.Commit();
        return m_folder.Read("out.txt");
    }

    TemporaryFolder m_folder;
    Log m_log;
    // Columns: sequence 0 and 1 at step 0, 1, 2.
    const std::vector<double> m_values = {1, 2, 10, 20, 3, 4, 30, 40, 6, 5, 99, 99};
};

} // namespace

TEST_F(TextOutputTest, SamplesOfASequenceAreLinesOneBelowTheOther)
{
    OutputFormat format;
    format.precisionFormat = ".0";
    EXPECT_EQ(TextOf(format, m_values), "1 2\n3 4\n6 5\n10 20\n30 40\n");
    EXPECT_EQ(TextOf(OutputFormat(), {0.5, -0.0, 0, 0, 0, 1e-7, 0, 0, -1.25, 0, 9, 9}),
              "0.500000 0.000000\n0.000000 0.000000\n-1.250000 0.000000\n0.000000 0.000000\n0.000000 0.000000\n");
    format.transpose = false; // lines are rows
    EXPECT_EQ(TextOf(format, m_values), "1 3 6\n2 4 5\n10 30\n20 40\n");
    EXPECT_EQ(
        TextOf(format, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}, TensorShape{2, 2}),
        "[0,0]\t1 0 5\n[1,0]\t2 0 6\n[0,1]\t3 0 7\n[1,1]\t4 0 8\n[0,0]\t5 1\n[1,0]\t6 2\n[0,1]\t7 3\n[1,1]\t8 4\n");
}

TEST_F(TextOutputTest, SeparatorsKnowNodeMinibatchSequenceAndSizes)
{
    OutputFormat format;
    format.precisionFormat = ".0";
    format.prologue = "%s\\n:";
    format.epilogue = "\\t%n";
    format.sequenceSeparator = "|%d|";
    format.sequencePrologue = "<%s%n.%d\\s%x>";
    format.sequenceEpilogue = "\\r\\n";
    format.elementSeparator = ",";
    format.sampleSeparator = ";\\q%";
    EXPECT_EQ(TextOf(format, m_values, TensorShape{2}, 2),
              "%s\\n:"
              "<z0.0 2 3>1,2;\\q%3,4;\\q%6,5\r\n|1|<z0.1 2 2>10,20;\\q%30,40\r\n"
              "<z1.0 2 3>1,2;\\q%3,4;\\q%6,5\r\n|1|<z1.1 2 2>10,20;\\q%30,40\r\n"
              "\\t%n");
}

TEST_F(TextOutputTest, CategoriesAreTheLargestElementsAndTheLastOfSeveral)
{
    OutputFormat format;
    format.type = OutputFormat::Type::Category;
    const std::vector<double> values = {1, 2, 9, 1, 4, 4, 0, 1, 6, 5, 99, 0};
    EXPECT_EQ(TextOf(format, values), "1\n1\n0\n0\n1\n");
    format.transpose = false; // a sequence is a line
    EXPECT_EQ(TextOf(format, values), "1 1 0\n0 1\n");
    m_folder.Write("map.txt", "no\r\nyes\r\n");
    format.labelMappingFile = "map.txt";
    EXPECT_EQ(TextOf(format, values), "yes yes no\nno yes\n");
}

TEST_F(TextOutputTest, SparseValuesHaveTheirPlaces)
{
    OutputFormat format;
    format.type = OutputFormat::Type::Sparse;
    format.precisionFormat = ".1";
    // A 1 is its place alone; behind the semicolon is the step, where there are several.
    const std::vector<double> values = {0, 1, 0, 0, -2.5, 0, 7, 0, 0, 3, 9, 9};
    format.elementSeparator = "|";
    EXPECT_EQ(TextOf(format, values), "-2.5[0;1]\n[1;0]\n3.0[1;2]\n7.0[0;1]\n") << "row by row";
    format.transpose = false;
    EXPECT_EQ(TextOf(format, values), "[1;0]|-2.5[0;1]|3.0[1;2]\n7.0[0;1]\n") << "step by step";
    m_folder.Write("map.txt", "no\nyes\n");
    format.labelMappingFile = "map.txt";
    EXPECT_EQ(TextOf(format, values), "[1=yes;0]|-2.5[0=no;1]|3.0[1=yes;2]\n7.0[0=no;1]\n");
    format.labelMappingFile.clear();
    std::vector<double> cube(48, 0);
    cube[5] = 1; // element 5 of 2 x 2 x 2 is [1,0,1]
    EXPECT_EQ(TextOf(format, cube, TensorShape{2, 2, 2}), "[1,0,1;0]\n\n");
}

// Only what lies in the minibatch, wherever the sequence began and however long it goes on.
TEST_F(TextOutputTest, OfASequenceThatGoesOnThePartThatIsHere)
{
    OutputFormat format;
    format.precisionFormat = ".0";
    TextOutput output("out.txt", "z", format, m_log);
    MBLayout layout;
    layout.Init(1, 2);
    layout.AddSequence(0, 0, -3, 7);
    output.Write(std::vector<double>{1, 2, 3, 4}, TensorShape{2}, &layout);
    output.Write(std::vector<double>{5, 6}, TensorShape{2}, nullptr); // a parameter, say
    output.Stage();
    output.Commit();
    EXPECT_EQ(m_folder.Read("out.txt"), "1 2\n3 4\n5 6\n");
}

} // namespace cntk
