// Escaping, and numbers as text.
#include "Report/Markup.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

namespace cntk
{

TEST(MarkupTest, EscapesMarkupOfUsers)
{
    EXPECT_EQ(EscapeMarkup("<script>alert(\"x\" & 'y')</script>"),
              "&lt;script&gt;alert(&quot;x&quot; &amp; &#39;y&#39;)&lt;/script&gt;");
    EXPECT_EQ(EscapeMarkup("grün – 中 😀"), "grün – 中 😀");
}

TEST(MarkupTest, ReplacesWhatXmlForbids)
{
    EXPECT_EQ(EscapeMarkup(std::string_view("a\0b\x1b[0m\tc\n", 9)), "a\xEF\xBF\xBD"
                                                                     "b\xEF\xBF\xBD[0m\tc");
    EXPECT_EQ(EscapeMarkup("\xE9t\xE9"), "\xEF\xBF\xBDt\xEF\xBF\xBD"); // Latin-1
    EXPECT_EQ(ValidUtf8("\xC0\xAF \xED\xA0\x80 \xF4\x90\x80\x80 \xE4\xB8"),
              "\xEF\xBF\xBD\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
              "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(ValidUtf8("\x1b"), "\x1b");
}

TEST(MarkupTest, QuotesCsvFieldsOnlyWhereNeeded)
{
    EXPECT_EQ(CsvField("setosa"), "setosa");
    EXPECT_EQ(CsvField("a,b"), "\"a,b\"");
    EXPECT_EQ(CsvField("5\" disk"), "\"5\"\" disk\"");
    EXPECT_EQ(CsvField("two\nlines"), "\"two\nlines\"");
}

TEST(MarkupTest, NumbersReadBackExactly)
{
    EXPECT_EQ(ShortestNumber(0.1), "0.1");
    EXPECT_EQ(ShortestNumber(5000000), "5e+06");
    EXPECT_EQ(ShortestNumber(1.0 / 3), "0.3333333333333333");
    for (const double value : {1e-300, 0.074358904, 123456789.123, std::numeric_limits<double>::denorm_min()})
        EXPECT_EQ(std::strtod(ShortestNumber(value).c_str(), nullptr), value);
    EXPECT_EQ(RoundedNumber(0.0743589, 3), "0.0744");
}

} // namespace cntk
