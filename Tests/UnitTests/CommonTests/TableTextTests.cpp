#include "Common/TableText.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using Cells = std::vector<std::string>;

TEST(TableTextTests, Cells)
{
    EXPECT_EQ(CellsOf("1, two words ,\"a, \"\"b\"\"\",", ','), (Cells{"1", "two words", "a, \"b\"", ""}));
    EXPECT_EQ(CellsOf("  1\t 2  x ", ' '), (Cells{"1", "2", "x"}));
    EXPECT_EQ(CellsOf("1\t\t two words\r", '\t'), (Cells{"1", "", "two words"}));
    EXPECT_EQ(CellsOf("\"\";x", ';'), (Cells{"", "x"}));
    RowCells open("1,\"x", ',');
    TableCell cell;
    EXPECT_TRUE(open.Next(cell) && open.Next(cell) && cell.isOpen);
}

TEST(TableTextTests, Delimiters)
{
    EXPECT_EQ(FindDelimiter("1,2,a\n3,4,b\n"), ',');
    EXPECT_EQ(FindDelimiter("1,5;2;a\n3,2;4;b\n"), ';');
    EXPECT_EQ(FindDelimiter("a b\t1\nc d\t2\n"), '\t');
    EXPECT_EQ(FindDelimiter("1 2 a\n3 4 b\n"), ' ');
    EXPECT_EQ(FindDelimiter("well, yes\nno\n"), ' ');
    std::string rows;
    for (int i = 0; i < 30; ++i)
        rows += "1|2|a\n";
    EXPECT_EQ(FindDelimiter(rows + "1|a\n"), '|') << "one wrong row";
    EXPECT_EQ(FindDecimalPoint("1,5;2;a\n3;4;b\n", ';'), ',');
    EXPECT_EQ(FindDecimalPoint("1,5;2.5;a\n", ';'), '.');
    EXPECT_EQ(FindDecimalPoint("1,5\n", ','), '.');
}

TEST(TableTextTests, NumbersAndHeaders)
{
    EXPECT_EQ(NumberOf("1,5", ','), 1.5);
    EXPECT_EQ(NumberOf("1.5", ','), std::nullopt);
    EXPECT_EQ(NumberOf("x", '.'), std::nullopt);
    EXPECT_TRUE(IsHeader({"length", "width", "3"}, {0, 1}, '.'));
    EXPECT_FALSE(IsHeader({"length", "2", "kind"}, {0, 1}, '.'));
    EXPECT_FALSE(IsHeader({"4x", "width", "kind"}, {0, 1}, '.')) << "a wrong number";
    EXPECT_FALSE(IsHeader({"1,5", "2,5", "kind"}, {0, 1}, '.')) << "numbers with commas";
    EXPECT_FALSE(IsHeader({"", ""}, {0, 1}, '.'));
}

} // namespace
} // namespace cntk
