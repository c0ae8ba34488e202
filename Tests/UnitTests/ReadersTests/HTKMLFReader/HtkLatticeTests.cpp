#include "HtkTestTools.h"

#include <set>

namespace cntk
{
namespace
{

class HtkLatticeTests : public HtkTest
{
protected:
    HtkLatticeTests()
    {
        WriteCorpus();
        Write("den.slf", Slf(4) + Slf(3) + Slf(5));
        Write("den.toc", Concat("u0=.../den.slf[0]\nu1=.../den.slf[", Slf(4).size(), "]\nu2=.../den.slf[",
                                Slf(4).size() + Slf(3).size(), "]\n"));
    }

    // Requests an epoch with lattices.
    static EpochRequest RequestOf(size_t epoch, size_t minibatchSize)
    {
        EpochRequest request = MakeRequest(epoch, minibatchSize);
        request.withLattices = true;
        return request;
    }
    // Returns a lattice of one path.
    static std::string Slf(size_t frames)
    {
        return Concat("VERSION=1.0\nN=2 L=1\nI=0 t=0\nI=1 t=", 0.01 * double(frames),
                      "\nJ=0 S=0 E=1 W=a l=-0.5 d=:s1,0.01:s2,", 0.01 * double(frames - 1), ":\n");
    }
    std::string WithoutPaths(std::string text) const
    {
        for (size_t at; (at = text.find(m_folder + "/")) != std::string::npos;)
            text.erase(at, m_folder.size() + 1);
        return text;
    }
    static size_t LatticeFramesOf(IDataReader<float>& reader)
    {
        size_t frames = 0;
        HostMinibatch<float> minibatch;
        reader.StartEpoch(RequestOf(0, 100));
        while (reader.GetMinibatch(minibatch))
            for (const LatticePtr& lattice : minibatch.lattices)
                frames += lattice->frames;
        return frames;
    }
    std::string WithLattices(const std::string& more = "", const std::string& toc = "den.toc") const
    {
        return "frameMode=false" + Blocks() + " lattices=[denLatTocFile=\"" + Path(toc) + "\"" + more + "]";
    }
};

TEST_F(HtkLatticeTests, LatticesOfWholeUtterances)
{
    for (const char* const side : {"1", "2"})
    {
        auto reader = Make("nbruttsineachrecurrentiter=" + std::string(side) + " " + WithLattices());
        std::multiset<std::string> keys;
        for (size_t epoch = 0; epoch < 2; ++epoch)
        {
            HostMinibatch<float> minibatch;
            reader->StartEpoch(RequestOf(epoch, 8));
            while (reader->GetMinibatch(minibatch))
            {
                ASSERT_EQ(minibatch.lattices.size(), minibatch.sequenceKeys.size());
                for (const SequenceInfo& sequence : minibatch.streams[0].layout->Sequences())
                {
                    if (sequence.id == SequenceInfo::c_gap)
                        continue;
                    const LatticePtr& lattice = minibatch.lattices[sequence.id];
                    ASSERT_NE(lattice, nullptr);
                    EXPECT_EQ(lattice->frames, size_t(sequence.end - sequence.begin));
                    EXPECT_EQ(lattice->segments.front().state, 1u);
                    keys.insert(minibatch.sequenceKeys[sequence.id]);
                }
            }
        }
        EXPECT_EQ(keys, (std::multiset<std::string>{"u0", "u0", "u1", "u1", "u2", "u2"}));
    }
}

// Without a request the reader reads no lattice.
TEST_F(HtkLatticeTests, NetworksWithoutLattices)
{
    Write("den.slf", "no lattice");
    auto reader = Make(WithLattices());
    EXPECT_TRUE(reader->HasLattices());
    HostMinibatch<float> minibatch;
    reader->StartEpoch(MakeRequest(0, 8));
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_TRUE(minibatch.lattices.empty());
}

TEST_F(HtkLatticeTests, WithoutLattices)
{
    auto reader = Make("frameMode=false" + Blocks());
    HostMinibatch<float> minibatch;
    reader->StartEpoch(RequestOf(0, 8));
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_TRUE(minibatch.lattices.empty());
    EXPECT_FALSE(reader->HasLattices());
}

TEST_F(HtkLatticeTests, UtterancesWithoutALatticeAreLeftOut)
{
    Write("den.toc", Concat("other=x[0]\nu0=.../den.slf[0]\nu2=.../den.slf[", Slf(4).size() + Slf(3).size(), "]\n"));
    auto reader = Make(WithLattices());
    EXPECT_EQ(reader->TotalSamples(), 9u);
    EXPECT_THAT(
        WithoutPaths(LogText()),
        testing::AllOf(testing::HasSubstr("htkmlfreader: reading list of lattices den.toc ... total 3 entries\n"),
                       testing::HasSubstr("htkmlfreader: skipping utterance 'u1' (a.scp:2): it has no lattice in "
                                          "'den.toc'\n")));
    size_t count = 0;
    HostMinibatch<float> minibatch;
    reader->StartEpoch(RequestOf(0, 1));
    for (; reader->GetMinibatch(minibatch); ++count)
        EXPECT_EQ(minibatch.lattices[0]->frames, minibatch.sequenceKeys[0] == "u0" ? 4u : 5u);
    EXPECT_EQ(count, 2u);
    Write("den.toc", "u0=.../den.slf[0]\n");
    EXPECT_EQ(ErrorOf(WithLattices()), "data: too many utterances have no lattice in 'den.toc': 2 of 3 utterances; the "
                                       "first such utterance: utterance 'u1' (a.scp:2) has no lattice in 'den.toc'");
}

TEST_F(HtkLatticeTests, UtterancesThatAreReadTwice)
{
    Write("a.scp", "u0.f=.../data.htk[0,3]\nu1.f=.../data.htk[4,6]\nu0.f=.../data.htk[0,3]\n");
    auto reader = Make(WithLattices());
    EXPECT_EQ(LatticeFramesOf(*reader), 11u);
}

TEST_F(HtkLatticeTests, SeveralListsAndAPrefix)
{
    std::filesystem::create_directory(Path("d"));
    Write("d/den.0[a].toc", "u0=den.slf[0]\n");
    Write("d/den.1[a].toc", Concat("u1=den.slf[", Slf(4).size(), "]\nu2=own.slf\n"));
    Write("own.slf", Slf(5));
    const std::string prefix = "\nprefixPathInToc=" + m_folder + "/";
    auto reader = Make(WithLattices(prefix, "d/den.?[a].t*"));
    EXPECT_EQ(LatticeFramesOf(*reader), 12u);
    std::vector<std::string> files;
    reader->VisitListedFiles([&](const std::string& path, const std::string& what)
                             { files.push_back(WithoutPaths(path + ": " + what)); });
    EXPECT_EQ(files, (std::vector<std::string>{"data.htk: read as features (a.scp:1)",
                                               "d/den.0[a].toc: read as a list of lattices (d/den.?[a].t*)",
                                               "d/den.1[a].toc: read as a list of lattices (d/den.?[a].t*)",
                                               "den.slf: read as lattices (d/den.0[a].toc:1)",
                                               "den.slf: read as lattices (d/den.1[a].toc:1)",
                                               "own.slf: read as lattices (d/den.1[a].toc:2)"}));
    EXPECT_EQ(ErrorOf(WithLattices(prefix, "*.tic")), "data: no list of lattices matches '*.tic'");
    EXPECT_EQ(ErrorOf(WithLattices(prefix, "den.tic")),
              "data: list of lattices 'den.tic' does not exist; did you mean 'den.toc' in folder '" + m_folder + "'?");
}

TEST_F(HtkLatticeTests, IgnoredParameters)
{
    Make("unigram=x " + WithLattices(" numLatTocFile=num.toc") + " hmms=[phoneFile=x transPFile=y]");
    const std::string log = LogText();
    for (const char* const text :
         {": HTKMLFReader: numLatTocFile is not read, since the labels are the reference\n",
          ": HTKMLFReader: phoneFile is not read, since the lattices contain the states and their times\n",
          "HTKMLFReader: unigram is not used, since the lattices contain the scores of the language model\n"})
        EXPECT_THAT(log, testing::HasSubstr(text));
    EXPECT_THAT(log, testing::Not(testing::HasSubstr("transPFile")));
}

TEST_F(HtkLatticeTests, WritingIgnoresThem)
{
    auto reader = Make(WithLattices(" numLatTocFile=num.toc", "gone.toc") + " hmms=[phoneFile=x]", true);
    HostMinibatch<float> minibatch;
    reader->StartEpoch(RequestOf(0, 1));
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_TRUE(minibatch.lattices.empty());
    EXPECT_FALSE(reader->HasLattices());
    EXPECT_THAT(LogText(), testing::Not(testing::HasSubstr("LatTocFile")));
}

TEST_F(HtkLatticeTests, ErrorsOfTheConfig)
{
    const std::string lattices = "lattices=[denLatTocFile=" + Path("den.toc") + "]";
    const std::string whole = "config: 'lattices' has lattices, which are of whole utterances: sequence training needs "
                              "frameMode=false and truncated=false";
    EXPECT_EQ(ErrorOf(Blocks() + " " + lattices), whole);
    EXPECT_EQ(ErrorOf("frameMode=true" + Blocks() + " " + lattices), whole);
    EXPECT_EQ(ErrorOf("truncated=true " + WithLattices()), whole);
    EXPECT_EQ(ErrorOf("frameMode=false features=[dim=2 scpFile=" + Path("a.scp") + "] " + lattices),
              "config: 'lattices': the states of lattices are those of the label block with a state list "
              "(labelMappingFile), but there is none");
    const std::string more = " more=[mlfFile=" + Path("a.mlf") + " labelDim=3 labelMappingFile=" + Path("states") + "]";
    EXPECT_EQ(ErrorOf(WithLattices() + more),
              "config: 'lattices': the states of lattices are those of the label block with a state list "
              "(labelMappingFile), expected one, not several: labels, more");
    EXPECT_EQ(ErrorOf("frameMode=false" + Blocks("dim=2", " labelToTargetMappingFile=x targetDim=2") + " " + lattices),
              "config: 'labels' has target vectors (labelToTargetMappingFile), but the states of the lattices of "
              "'lattices' are classes");
    EXPECT_EQ(ErrorOf(WithLattices() + " more=[denLatTocFile=x]"),
              "config: 'more' has lattices, and 'lattices' has them, too; expected one such block");
    const std::string apart = ", expected it in a block of its own, such as lattices=[denLatTocFile=den.toc]";
    EXPECT_THAT(ErrorOf("denLatTocFile=x" + Blocks()), testing::EndsWith("' has denLatTocFile" + apart));
    EXPECT_EQ(ErrorOf("frameMode=false" + Blocks("dim=2", " numLatTocFile=x")),
              "config: 'labels' has numLatTocFile" + apart);
    EXPECT_THAT(ErrorOf("frameMode=false" + Blocks() + " lattices=[numLatTocFile=x]"),
                testing::StartsWith("config: required parameter missing: "));
}

TEST_F(HtkLatticeTests, ErrorsOfLattices)
{
    const auto errorOf = [&](const std::string& place, const std::string& text)
    {
        Write("x.slf", text);
        Write("den.toc", "u0=" + place + "\nu1=" + place + "\nu2=" + place + "\n");
        return WithoutPaths(MessageOf([&] { LatticeFramesOf(*Make("readMethod=none " + WithLattices())); }));
    };
    EXPECT_EQ(errorOf(".../x.slf", Slf(5)),
              "data: x.slf:1: utterance 'u0': the lattice has 5 frames, but the utterance has 4");
    EXPECT_EQ(errorOf(".../x.sld[5]", ""), "data: den.toc:1: file of lattices 'x.sld' does not exist; did you mean "
                                           "'x.slf' in folder '" +
                                               m_folder + "'?");
    EXPECT_EQ(errorOf(".../x.slf[5]", "N=1\n"),
              "data: den.toc:1: the lattice of utterance 'u0' begins at byte 5, but 'x.slf' has 4");
    EXPECT_EQ(errorOf(".../x.slf", ""),
              "data: den.toc:1: the lattice of utterance 'u0' begins at byte 0, but 'x.slf' has 0");
    EXPECT_EQ(errorOf(".../x.slf[3]", "\x1F\x8B lattices"),
              "data: file of lattices 'x.slf' is compressed in a way that the program does not read; unpack it");
    EXPECT_EQ(errorOf(".../x.slf", "\xFF\xFEV"), "data: file of lattices 'x.slf' is UTF-16 text, expected UTF-8 or "
                                                 "ASCII");
}

} // namespace
} // namespace cntk
