#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "SGD/Files/KeptModels.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

KeptModels Read(const std::string& text)
{
    const auto config = ConfigParameters::Parse("keepModels=" + text, "test.cntk");
    return OptionType<KeptModels>::Read(config->Require("keepModels"), {});
}

std::string MessageFor(const std::string& text)
{
    try
    {
        Read(text);
    }
    catch (const Error& error)
    {
        return error.Message();
    }
    return "no error";
}

TEST(KeptModelsTests, ReadAndPrint)
{
    for (const char* text : {"all", "last", "last:3", "best", "every:10", "last:2:every:5:best"})
        EXPECT_EQ(OptionType<KeptModels>::Print(Read(text)), text);
    EXPECT_EQ(OptionType<KeptModels>::Print(KeptModels{}), "all");
    for (const char* text : {"every", "3", "last:0", "last:x", "every:best", "bets"})
        EXPECT_NE(MessageFor(text).find("expected all, last, best, last:N or every:N"), std::string::npos) << text;
    EXPECT_NE(MessageFor("bets").find("did you mean 'best'?"), std::string::npos);
}

TEST(KeptModelsTests, Keeps)
{
    EXPECT_TRUE(Read("all").Keeps(1, 100));
    EXPECT_TRUE(Read("last:3").Keeps(98, 100));
    EXPECT_FALSE(Read("last:3").Keeps(97, 100));
    EXPECT_TRUE(Read("every:10").Keeps(20, 100));
    EXPECT_FALSE(Read("every:10").Keeps(25, 100));
    EXPECT_FALSE(Read("best").Keeps(99, 100));
}

} // namespace
} // namespace cntk
