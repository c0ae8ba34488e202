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

    // A lattice of one path.
    static std::string Slf(size_t frames)
    {
        return Concat("VERSION=1.0\nN=2 L=1\nI=0 t=0\nI=1 t=", 0.01 * double(frames),
                      "\nJ=0 S=0 E=1 W=a l=-0.5 d=:s1,0.01:s2,", 0.01 * double(frames - 1), ":\n");
    }
    std::string WithLattices(const std::string& more = "", const std::string& toc = "den.toc") const
    {
        return "frameMode=false" + Blocks() + " lattices=[denLatTocFile=" + Path(toc) + more + "]";
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
            EpochRequest request = MakeRequest(epoch, 8);
            request.withLattices = true;
            reader->StartEpoch(request);
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

TEST_F(HtkLatticeTests, WithoutLattices)
{
    auto reader = Make("frameMode=false" + Blocks());
    HostMinibatch<float> minibatch;
    EpochRequest request = MakeRequest(0, 8);
    request.withLattices = true;
    reader->StartEpoch(request);
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_TRUE(minibatch.lattices.empty());
}

} // namespace
} // namespace cntk
