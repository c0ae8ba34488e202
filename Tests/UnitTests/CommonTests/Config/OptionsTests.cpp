// Rows of option tables: types, ranges, aliases, defaults.
#include "Common/Config/Options.h"
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

enum class Rule
{
    None,
    AdaGrad
};

struct InnerOptions
{
    double factor = 0.618;
    static OptionTable<InnerOptions> Options() { return {Opt("factor", &InnerOptions::factor, "a factor")}; }
};

struct SampleOptions
{
    std::string path;
    bool keep = false;
    int level = -1;
    size_t count = std::numeric_limits<size_t>::max();
    double clip = std::numeric_limits<double>::infinity();
    float rate = 0.1f;
    Schedule<double> momentum = 0.9;
    Schedule<float> rates;
    Schedule<size_t> sizes = 256;
    std::vector<std::string> names;
    std::vector<size_t> dims{1, 2};
    std::optional<double> maybe;
    Rule rule = Rule::AdaGrad;
    InnerOptions inner;
    size_t local = 7;

    static OptionTable<SampleOptions> Options()
    {
        using S = SampleOptions;
        const double infinity = std::numeric_limits<double>::infinity();
        return {
            Opt("path", &S::path, "where").Required(),
            Opt("keep", &S::keep, "keep it"),
            Opt("level", &S::level, "how much"),
            Opt("count", &S::count, "how many", Range{1, infinity}, {"number", "n"}),
            Opt("clip", &S::clip, "limit", Range{0, infinity, true, false}),
            Opt("rate", &S::rate, "rate"),
            Opt("momentum", &S::momentum, "momentum", Range{0, 1, false, true}),
            Opt("rates", &S::rates, "rates"),
            Opt("sizes", &S::sizes, "sizes", {"minibatchSize"}),
            Opt("names", &S::names, "names"),
            Opt("dims", &S::dims, "dims"),
            Opt("maybe", &S::maybe, "maybe"),
            Choice("rule", &S::rule, {{"none", Rule::None}, {"adagrad", Rule::AdaGrad}, {"ada", Rule::AdaGrad}},
                   "rule"),
            Nested("inner", &S::inner, "more"),
            Opt("local", &S::local, "not looked up outside").Here(),
            Block<S>("reader", "read elsewhere"),
        };
    }
};

SampleOptions Read(const std::string& text)
{
    return ReadOptions<SampleOptions>(ConfigParameters::Parse("s=[path=p\n" + text + "]", "x.cntk")->RequireBlock("s"));
}

std::string ReportOf(const std::string& text)
{
    return cntk::ReportOf(ErrorKind::Config, [&] { Read(text); });
}

TEST(OptionsTests, DefaultsAreTheMembers)
{
    const SampleOptions options = Read("");
    EXPECT_EQ(options.path, "p");
    EXPECT_EQ(options.level, -1);
    EXPECT_EQ(options.momentum[5], 0.9);
    EXPECT_EQ(options.dims, (std::vector<size_t>{1, 2}));
    EXPECT_FALSE(options.maybe);
    EXPECT_EQ(options.rule, Rule::AdaGrad);
}

TEST(OptionsTests, ValuesOfAllTypes)
{
    const SampleOptions options = Read("keep; level=-3; n=5; clip=1#INF; rate=0.01; momentum=0.01:0.5*2; rates=1:2*3\n"
                                       "MinibatchSize=4*2:2; names=a:b; dims=(28:28); maybe=0.25; RULE=NONE\n"
                                       "inner=[factor=2]; local=default; reader=[x=1]");
    EXPECT_TRUE(options.keep);
    EXPECT_EQ(options.level, -3);
    EXPECT_EQ(options.count, 5u);
    EXPECT_EQ(options.rate, 0.01f);
    EXPECT_EQ(options.momentum[0], 0.01);
    EXPECT_EQ(options.momentum[9], 0.5);
    EXPECT_EQ(options.rates.values, (std::vector<float>{1, 2, 2, 2}));
    EXPECT_EQ(options.sizes[2], 2u);
    EXPECT_THAT(options.names, ::testing::ElementsAre("a", "b"));
    EXPECT_EQ(options.dims, (std::vector<size_t>{28, 28}));
    EXPECT_EQ(options.maybe, 0.25);
    EXPECT_EQ(options.rule, Rule::None);
    EXPECT_EQ(options.inner.factor, 2);
    EXPECT_EQ(options.local, 7u);
}

TEST(OptionsTests, InnermostBlockDecidesAmongAliases)
{
    const auto config = ConfigParameters::Parse("count=1\nlocal=9\nfactor=5\npath=p\nt=[n=2\ns=[inner=[]]]\nu=[s=[]]");
    const SampleOptions inner = ReadOptions<SampleOptions>(config->RequireBlock("t").RequireBlock("s"));
    EXPECT_EQ(inner.count, 2u);
    EXPECT_EQ(inner.local, 7u);
    EXPECT_EQ(inner.inner.factor, 5);
    const SampleOptions outer = ReadOptions<SampleOptions>(config->RequireBlock("u").RequireBlock("s"));
    EXPECT_EQ(outer.count, 1u);
    EXPECT_EQ(outer.inner.factor, 0.618);
}

struct BlocksOptions
{
    InnerOptions near;
    InnerOptions far;
    static OptionTable<BlocksOptions> Options()
    {
        using S = BlocksOptions;
        return {Nested("near", &S::near, "of this block").Here(), Nested("far", &S::far, "of any block around")};
    }
};

// A scalar with the name of a block is not a block, and does not hide one.
TEST(OptionsTests, BlocksAreLookedUpLikeValues)
{
    for (const std::string inner : {"", "near=1; far=1"})
    {
        const auto config = ConfigParameters::Parse("near=[factor=2]\nfar=[factor=3]\ns=[t=[" + inner + "]]");
        const auto options = ReadOptions<BlocksOptions>(config->RequireBlock("s").RequireBlock("t"));
        EXPECT_EQ(options.near.factor, 0.618) << inner;
        EXPECT_EQ(options.far.factor, 3) << inner;
    }
    // Missing names are looked up as seen from the block that reads the options.
    const auto config = ConfigParameters::Parse("far=[]\nfactor=2\ns=[t=[factor=4]]");
    EXPECT_EQ(ReadOptions<BlocksOptions>(config->RequireBlock("s").RequireBlock("t")).far.factor, 4);
}

TEST(OptionsTests, Ranges)
{
    EXPECT_EQ(ReportOf("momentum=0.5:1:0.2"),
              "    2 | momentum=0.5:1:0.2]\n      |              ^\n"
              "x.cntk:2:14: error: 's:momentum' is '1', expected a number >= 0 and < 1");
    EXPECT_EQ(ReportOf("count=0"), "    2 | count=0]\n      |       ^\n"
                                   "x.cntk:2:7: error: 's:count' is '0', expected a whole number >= 1");
    EXPECT_EQ(ReportOf("clip=0"), "    2 | clip=0]\n      |      ^\n"
                                  "x.cntk:2:6: error: 's:clip' is '0', expected a number > 0");
    EXPECT_EQ(ReportOf("momentum=nan"), "    2 | momentum=nan]\n      |          ^~~\n"
                                        "x.cntk:2:10: error: 's:momentum' is 'nan', expected a number >= 0 and < 1");
    EXPECT_EQ(ReportOf("rate=nan"), "    2 | rate=nan]\n      |      ^~~\n"
                                    "x.cntk:2:6: error: 's:rate' is 'nan', expected a number, which nan is not");
    EXPECT_EQ(ReportOf("rates=0.1:nan"), "    2 | rates=0.1:nan]\n      |           ^~~\n"
                                         "x.cntk:2:11: error: 's:rates' is 'nan', expected a number, which nan is not");
}

TEST(OptionsTests, WrongValues)
{
    EXPECT_EQ(ReportOf("keep=yes"),
              "    2 | keep=yes]\n      |      ^~~\n"
              "x.cntk:2:6: error: 's:keep' is 'yes', expected a boolean: true, t or 1, false, f or 0, in any case");
    EXPECT_EQ(ReportOf("rates=0.1:x"),
              "    2 | rates=0.1:x]\n      |           ^\n"
              "x.cntk:2:11: error: 's:rates' is 'x', expected a number such as 0.5, 1e-3, inf or 1#INF");
    EXPECT_EQ(ReportOf("rule=adagrd"),
              "    2 | rule=adagrd]\n      |      ^~~~~~\n"
              "x.cntk:2:6: error: 's:rule' is 'adagrd', expected one of none, adagrad, ada; did you mean 'adagrad'?");
    EXPECT_EQ(ReportOf("rates=0.5 0.2"),
              "    2 | rates=0.5 0.2]\n      |       ^~~~~~~\n"
              "x.cntk:2:7: error: 's:rates' is '0.5 0.2', expected a number such as 0.5, 1e-3, inf or 1#INF; elements "
              "of a list are separated by ':'");
    EXPECT_EQ(ReportOf("path=\"\""), "    2 | path=\"\"]\n      |       ^\n"
                                     "x.cntk:2:7: error: required parameter missing: x.cntk:s:path: the value of "
                                     "'s:path' is empty");
}

// An option with a default cannot be set to an empty list.
TEST(OptionsTests, SchedulesWithoutAValue)
{
    EXPECT_EQ(ReportOf("momentum=\"\""), "    2 | momentum=\"\"]\n      |           ^\n"
                                         "x.cntk:2:11: error: 's:momentum' is '', expected at least one value");
    EXPECT_THAT(ReportOf("sizes=()"), ::testing::EndsWith("error: 's:sizes' is '()', expected at least one value"));
    EXPECT_THAT(ReportOf("sizes=4*0"), ::testing::EndsWith("error: 's:sizes' is '4*0', expected at least one value"));
    EXPECT_TRUE(Read("rates={ }").rates.empty());
    EXPECT_TRUE(Read("rates=()").rates.empty());
    // Counts below 1 yield no element.
    EXPECT_EQ(ReportOf("rates=0.1*0:0.2*-1"),
              "    2 | rates=0.1*0:0.2*-1]\n      |       ^~~~~~~~~~~~\n"
              "x.cntk:2:7: error: 's:rates' is '0.1*0:0.2*-1', expected at least one value");
    EXPECT_EQ(Read("rates=0.1*0:0.2").rates[0], 0.2f);
    EXPECT_TRUE(Read("dims=()").dims.empty());
}

TEST(OptionsTests, RequiredIsMissing)
{
    const auto config = ConfigParameters::Parse("s=[pth=1]", "x.cntk");
    try
    {
        ReadOptions<SampleOptions>(config->RequireBlock("s"));
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Report(), "    1 | s=[pth=1]\n      | ^\n"
                                  "x.cntk:1:1: error: required parameter missing: x.cntk:s:path; did you mean 'pth'?");
    }
}

struct AliasedOptions
{
    size_t labelDim = 0;
    size_t local = 0;
    size_t old = 0;
    size_t older = 0;
    static OptionTable<AliasedOptions> Options()
    {
        using S = AliasedOptions;
        return {Opt("labelDim", &S::labelDim, "classes", {"dimension"}).Required(),
                Opt("local", &S::local, "of this block").Here().Required(), Opt("old", &S::old, "").WithoutEffect(),
                Opt("older", &S::older, "see local").WithoutEffect()};
    }
};

TEST(OptionsTests, RequiredHasNoDefault)
{
    const auto config = ConfigParameters::Parse("s=[path=default]", "x.cntk");
    try
    {
        ReadOptions<SampleOptions>(config->RequireBlock("s"));
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Report(), "    1 | s=[path=default]\n      |         ^~~~~~~\n"
                                  "x.cntk:1:9: error: required parameter missing: x.cntk:s:path: the value of 's:path' "
                                  "is 'default', and it has no default");
    }
}

TEST(OptionsTests, RequiredIsMissingUnderAnyName)
{
    const auto reportOf = [](const char* text)
    {
        return cntk::ReportOf(
            ErrorKind::Config,
            [&] { ReadOptions<AliasedOptions>(ConfigParameters::Parse(text, "x.cntk")->RequireBlock("s")); });
    };
    EXPECT_THAT(reportOf("s=[dimensio=1]"), ::testing::EndsWith("x.cntk:1:1: error: required parameter missing: "
                                                                "x.cntk:s:labelDim; did you mean 'dimensio'?"));
    EXPECT_THAT(reportOf("s=[\ndimension=\"\"]"),
                ::testing::EndsWith("x.cntk:2:12: error: required parameter missing: x.cntk:s:dimension: the value of "
                                    "'s:dimension' is empty"));
    EXPECT_THAT(reportOf("locl=1\nlocal=1\ns=[labelDim=1]"),
                ::testing::EndsWith("x.cntk:3:1: error: required parameter missing: x.cntk:s:local"));
}

TEST(OptionsTests, WhatOldConfigsHave)
{
    const std::vector<OptionInfo> rows = DescribeOptions<AliasedOptions>();
    EXPECT_FALSE(rows[1].hasNoEffect);
    EXPECT_TRUE(rows[2].hasNoEffect);
    EXPECT_EQ(rows[2].doc, "accepted, without effect");
    EXPECT_EQ(rows[3].doc, "accepted, without effect: see local");
}

TEST(OptionsTests, Descriptions)
{
    std::vector<std::string> rows;
    for (const OptionInfo& info : DescribeOptions<SampleOptions>())
        rows.push_back(info.name + '|' + info.type + '|' + info.defaultText + '|' + info.range);
    EXPECT_THAT(rows, ::testing::ElementsAre(
                          "path|text||", "keep|bool|false|", "level|whole number|-1|",
                          "count|size|unlimited|a whole number >= 1", "clip|number|inf|a number > 0",
                          "rate|number|0.1|", "momentum|schedule of numbers|0.9|a number >= 0 and < 1",
                          "rates|schedule of numbers||", "sizes|schedule of sizes|256|", "names|list of texts||",
                          "dims|list of sizes|1:2|", "maybe|number||", "rule|one of none|adagrad|ada|adagrad|",
                          "inner|block||", "local|size|7|", "reader|block||"));
}

} // namespace
} // namespace cntk
