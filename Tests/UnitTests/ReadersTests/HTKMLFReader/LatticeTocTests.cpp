#include "HtkTestTools.h"
#include "Readers/HTKMLFReader/LatticeToc.h"

namespace cntk
{
namespace
{

class LatticeTocTests : public HtkTest
{
protected:
    // Utterances a/u1, a/u2, b/u2 and u.3.
    LatticeTocTests()
    {
        for (const char* const key : {"a/u1", "a/u2", "b/u2", "u.3"})
            m_keys.Add(key, m_count++);
    }
    size_t Read(const std::string& text, const std::string& prefix = "")
    {
        return m_toc.Read(Write("x.toc", text), prefix, m_keys, m_log);
    }
    std::string PlaceOf(size_t utterance) const
    {
        return !m_toc.Has(utterance) ? "none"
                                     : WithoutFolder(Concat(m_toc.PathOf(utterance), " ", m_toc.OffsetOf(utterance),
                                                            " ", m_toc.Location(utterance)));
    }
    std::string ErrorOfToc(const std::string& text)
    {
        return WithoutFolder(MessageOf([&] { Read(text); }));
    }
    std::string WithoutFolder(std::string text) const
    {
        for (size_t at; (at = text.find(m_folder + "/")) != std::string::npos;)
            text.erase(at, m_folder.size() + 1);
        return text;
    }

    size_t m_count = 0;
    UtteranceKeys m_keys;
    LatticeToc m_toc{4};
};

TEST_F(LatticeTocTests, Forms)
{
    EXPECT_EQ(Read("a/u1=.../den.1[17]\r\n\n  b\\u2.lat = more dens/den.2[ 18446744073709551615 ] \nother=x[0]\n"
                   "*/a/u2=own.slf\nu.3=...\\den.1[0]"),
              5u);
    EXPECT_EQ(PlaceOf(0), "den.1 17 x.toc:1");
    EXPECT_EQ(PlaceOf(1), "own.slf 0 x.toc:5");
    EXPECT_EQ(PlaceOf(2), "more dens/den.2 18446744073709551615 x.toc:3");
    EXPECT_EQ(m_toc.PathOf(3), m_folder + "\\den.1");
}

TEST_F(LatticeTocTests, Prefix)
{
    Read("a/u1=.../den[1]\na/u2=den[2]\n", "p\\q//");
    EXPECT_EQ(PlaceOf(0), "p/q/.../den 1 x.toc:1");
    EXPECT_EQ(PlaceOf(1), "p/q/den 2 x.toc:2");
    EXPECT_EQ(PlaceOf(2), "none");
}

TEST_F(LatticeTocTests, Keys)
{
    // Found by its last component. The whole key wins, in any order of the lines.
    Read("c/u1.lat=x[1]\na/u1=x[2]\nd/u1=x[3]\nu.3.lat=y\n");
    EXPECT_EQ(PlaceOf(0), "x 2 x.toc:2");
    EXPECT_EQ(PlaceOf(3), "y 0 x.toc:4");
    // Matches several utterances.
    Read("u2=x[1]\nu2.lat=x[2]\n");
    EXPECT_EQ(PlaceOf(1), "none");
    EXPECT_THAT(WithoutFolder(LogText()),
                testing::HasSubstr("x.toc:1: the lattice of 'u2' (and of 1 more) is left out: utterances of several "
                                   "folders have that name; expected the name with its folder, as in the script file"));
}

TEST_F(LatticeTocTests, SeveralLists)
{
    Read("a/u1=x[1]\n");
    Write("y.toc", "a/u2=x[2]\n");
    m_toc.Read(Path("y.toc"), "", m_keys, m_log);
    EXPECT_EQ(PlaceOf(0), "x 1 x.toc:1");
    EXPECT_EQ(PlaceOf(1), "x 2 y.toc:1");
    m_toc.Share(2, 1);
    m_toc.Keep({0, 2});
    EXPECT_EQ(m_toc.Utterances(), 2u);
    EXPECT_EQ(PlaceOf(1), "x 2 y.toc:1");
    Write("z.toc", "\na/u1.lat=x[1]\n");
    EXPECT_EQ(WithoutFolder(MessageOf([&] { m_toc.Read(Path("z.toc"), "", m_keys, m_log); })),
              "data: z.toc:2: the lattice of utterance 'a/u1' is at x.toc:1 already");
}

TEST_F(LatticeTocTests, Errors)
{
    EXPECT_EQ(ErrorOfToc("a/u1=x[1]\n\na/u1=y[1]\n"),
              "data: x.toc:3: the lattice of utterance 'a/u1' is at x.toc:1 already");
    for (const std::string line : {"u1", "=x", "u1=", "u1= [5]", "=[5]"})
        EXPECT_EQ(ErrorOfToc("\n" + line + "\n"),
                  "data: x.toc:2: '" + line +
                      "' is no entry of an utterance and its lattice, expected key=archive[offset] or key=file");
    for (const std::string path : {"x]", "x[]", "x[-1]", "x[1,2]", "x[0x1]", "x[18446744073709551616]"})
        EXPECT_EQ(ErrorOfToc("u1=" + path), "data: x.toc:1: '" + path +
                                                "' does not end with an offset, expected [offset], a number of bytes "
                                                "from the beginning of the archive");
    EXPECT_EQ(ErrorOfToc("\n \n"),
              "data: list of lattices 'x.toc' has no entries, expected lines key=archive[offset] or key=file");
    EXPECT_EQ(ErrorOfToc("\x1F\x8B"),
              "data: list of lattices 'x.toc' is compressed in a way that the program does not read; unpack it");
    EXPECT_EQ(WithoutFolder(MessageOf([&] { m_toc.Read(Path("gone"), "", m_keys, m_log); })),
              "data: list of lattices 'gone' does not exist");
}

} // namespace
} // namespace cntk
