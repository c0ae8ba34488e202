// Shared options: the rows of help and of the reference page.
#include "Readers/ReaderLib/ReaderOptions.h"

#include <gtest/gtest.h>
#include <string>

namespace cntk
{
namespace
{

struct SomeOptions
{
    size_t dim = 0;
    double ratio = 0.5;
    bool isFull = false;
    std::string file;
    size_t size = 3;

    static OptionTable<SomeOptions> Options()
    {
        using S = SomeOptions;
        return {
            Opt("dim", &S::dim, "Required. Rows", Range{1}, {"rows"}).Required(),
            Opt("ratio", &S::ratio, "Share", Range{.min = 0, .max = 1, .minOpen = true}),
            Choice("mode", &S::isFull, {{"partial", false}, {"full", true}}, "Size"),
            Opt("file", &S::file, "The data"),
            Opt("size", &S::size, "", Range{1}).WithoutEffect(),
        };
    }
};

TEST(ReaderOptionsTests, RowsOfTheDescriptionHaveLimits)
{
    PluginDescription description;
    AddOptions<SomeOptions>(description, "features");
    std::string rows;
    for (const PluginOption& option : description.options)
        rows += option.block + ' ' + option.name + "=" + option.defaultText + ": " + option.doc + '\n';
    EXPECT_EQ(rows, "features dim=: Required. Rows (a whole number >= 1)\n"
                    "features ratio=0.5: Share (a number > 0 and <= 1)\n"
                    "features mode=partial: Size (one of partial|full)\n"
                    "features file=: The data\n"
                    "features size=3: accepted, without effect\n");
    EXPECT_EQ(description.options[0].aliases, std::vector<std::string>{"rows"});
}

} // namespace
} // namespace cntk
