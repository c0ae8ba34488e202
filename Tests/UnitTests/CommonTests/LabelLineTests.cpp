// Lines of label mapping files.
#include "Common/LabelLine.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using Labels = std::vector<std::string>;

TEST(LabelLineTests, Grammar)
{
    EXPECT_EQ(LabelsOfLine(" cat \r"), Labels{"cat"});
    EXPECT_EQ(LabelsOfLine("cat, dog:bird # three"), (Labels{"cat", "dog", "bird"}));
    EXPECT_EQ(LabelsOfLine("x*3"), (Labels{"x", "x"}));
    EXPECT_EQ(LabelsOfLine("\"a:b\""), Labels{"a:b"});
    EXPECT_EQ(LabelsOfLine("# none"), Labels{});
    EXPECT_EQ(LabelsOfLine(":"), Labels{":"});
}

TEST(LabelLineTests, EveryLineIsReadAsItsLabel)
{
    for (const std::string label : {"cat", "a:b", "#1", "x*3", "\"q\"", "{w}", "\"i\":{", ":", "a b"})
    {
        const auto line = LineOfLabel(label);
        ASSERT_TRUE(line) << label;
        EXPECT_EQ(LabelsOfLine(*line), Labels{label});
        EXPECT_EQ(LabelOfWrittenLine(*line), label);
    }
    EXPECT_EQ(LineOfLabel("\"k\":}"), std::nullopt);
}

// Word lists contain quoted words that need no quotes.
TEST(LabelLineTests, OtherQuotesBelongToTheLabel)
{
    for (const std::string line : {"\"word\"", "\"", "\"\"", "{word}", "\"a:b", "a:b", "#1", ""})
        EXPECT_EQ(LabelOfWrittenLine(line), line);
}

} // namespace
} // namespace cntk
